// Contract of early messages: the store keeps events for an instance that does not exist yet (semantics
// 18a, P4).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  eventText,
  heldFrom,
  newInstance,
  refused,
  sendItem,
  startItem,
  terminateItem,
} from "../fixture.ts";

const DAY_MS = 86_400_000;
const keep = (data: string, id = "a", requestId = `keep-${id}-${data}`) =>
  sendItem({ id, data, requestId, ifMissing: "keep" });

export const earlyMessages: ContractSubject = {
  subject: "early messages",
  cases: [
    {
      title: "an early event waits for the start of its instance and does not create the instance",
      async run(setup) {
        expect(await setup.commit(keep("1"))).toEqual({ kind: "done" });
        expect(await setup.provider.readInstance("a")).toBeNull();
        await setup.leaseNothing();
        await setup.start("a");
        const leased = await setup.leaseOnly("a");
        expect(leased.messages.map(({ kind }) => kind)).toEqual(["start", "event"]);
        expect(leased.messages[1]).toMatchObject({ name: "news", data: "1", execution: null });
      },
    },
    {
      title:
        "early events are delivered in the order of sending, before events sent after the start (P7)",
      async run(setup) {
        for (const data of ["1", "2", "3"]) await setup.commit(keep(data));
        await setup.environment.advance(10);
        const { key } = await setup.start("a");
        await setup.commit(sendItem({ id: "a", data: "4" }));
        const inbox = await setup.provider.readInbox(key);
        expect(inbox.slice(1).map(({ data }) => data)).toEqual(["1", "2", "3", "4"]);
      },
    },
    {
      title: "a repeated early event is stored once, before and after the start (messages.3)",
      async run(setup) {
        await setup.commit(keep("1"));
        expect(await setup.commit(keep("1"))).toEqual({ kind: "done" });
        const { key } = await setup.start("a");
        expect(await setup.commit(keep("1"))).toEqual({ kind: "done" });
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title: "an early event reaches only the instance with its id",
      async run(setup) {
        await setup.commit(keep("1", "a"));
        const { key } = await setup.start("b");
        expect(await setup.inboxKinds(key)).toEqual(["start"]);
      },
    },
    {
      title: "a child that a turn starts receives the early events for its id",
      async run(setup) {
        await setup.commit(keep("1", "child"));
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()], starts: [newInstance({ id: "child" })] });
        const { key } = await setup.read("child");
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title:
        'ifMissing "keep" has no effect if the instance exists, and an ended instance refuses the event',
      async run(setup) {
        const held = await setup.hold("a");
        expect(await setup.commit(keep("1"))).toEqual({ kind: "done" });
        expect(await setup.due(held)).toHaveLength(1);
        await setup.complete(held);
        expect(await setup.commit(keep("2"))).toEqual(refused("INSTANCE_FINISHED"));
      },
    },
    {
      title: "the store keeps at most a thousand early events per id (18a)",
      async run(setup) {
        const items = Array.from({ length: 1_001 }, (_, i) => keep(`${i}`));
        const results = await setup.provider.commit(items);
        expect(results.filter(({ kind }) => kind === "done")).toHaveLength(1_000);
        expect(results.at(-1)).toEqual(refused("LIMIT_EXCEEDED"));
        expect(await setup.commit(keep("1", "b"))).toEqual({ kind: "done" });
      },
    },
    {
      title: "early events are kept for seven days (18a)",
      async run(setup) {
        await setup.commit(keep("1", "in time"));
        await setup.commit(keep("1", "too late"));
        await setup.environment.advance(7 * DAY_MS - 1);
        const { key } = await setup.start("in time");
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
        await setup.environment.advance(2);
        const late = await setup.start("too late");
        expect(await setup.inboxKinds(late.key)).toEqual(["start"]);
      },
    },
    {
      title:
        "a detached instance receives the early events for its id, and a restarted one receives none",
      async run(setup) {
        await setup.commit(keep("1", "detached"));
        const held = await setup.hold("a");
        const starts = [newInstance({ id: "detached", parent: null })];
        await setup.turn(held, { events: [eventText()], starts });
        const leased = await setup.leaseOnly("detached");
        expect(leased.messages.map(({ kind }) => kind)).toEqual(["start", "event"]);
        await setup.commit(terminateItem("detached"));
        await setup.commit(startItem({ id: "detached", onConflict: "restart" }));
        expect(await setup.inboxKinds(leased.key)).toEqual(["start"]);
      },
    },
    {
      title:
        "early events are delivered once: the next instance of that id does not receive them again",
      async run(setup) {
        await setup.commit(keep("1"));
        await setup.start("a");
        await setup.provider.deleteInstance({ id: "a", force: true });
        const { key } = await setup.start("a");
        expect(await setup.inboxKinds(key)).toEqual(["start"]);
      },
    },
    {
      title: "a repetition of an early event is recognized after the event was received (18a)",
      async run(setup) {
        await setup.commit(keep("1"));
        await setup.start("a");
        const leased = await setup.leaseOnly("a");
        const consumed = leased.messages.map(({ id }) => id);
        await setup.turn(heldFrom(leased), { events: [eventText(), eventText()], consumed });
        expect(await setup.commit(keep("1"))).toEqual({ kind: "done" });
        expect(await setup.provider.readInbox(leased.key)).toEqual([]);
      },
    },
    {
      title: 'a repetition without ifMissing "keep" returns the result of the early event',
      async run(setup) {
        await setup.commit(keep("1"));
        const again = sendItem({ id: "a", data: "1", requestId: "keep-a-1" });
        expect(await setup.commit(again)).toEqual({ kind: "done" });
        expect(await setup.commit(sendItem({ id: "a" }))).toMatchObject({ kind: "refused" });
      },
    },
    {
      title: "the same request id can be used for two ids that do not exist",
      async run(setup) {
        for (const id of ["a", "b"]) await setup.commit(keep("1", id, "same"));
        for (const id of ["a", "b"]) {
          const { key } = await setup.start(id);
          expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
        }
      },
    },
    {
      title: "early events for a delayed start are not due before the start",
      async run(setup) {
        await setup.commit(keep("1"));
        await setup.start("a", { delayMs: 1_000 });
        await setup.leaseNothing();
        await setup.environment.advance(1_000);
        const { messages } = await setup.leaseOnly("a");
        expect(messages.map(({ kind }) => kind)).toEqual(["start", "event"]);
      },
    },
    {
      title: "a start that is refused or meets an existing instance takes over no early events",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(keep("1", "b"));
        await setup.commit(startItem({ id: "a", onConflict: "fail" }));
        await setup.commit(startItem({ id: "a", onConflict: "useExisting" }));
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
        const { key } = await setup.start("b");
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title:
        "the limit counts only the early events that are stored now: a start or expiry frees capacity (18a)",
      async run(setup) {
        const items = (from: number) =>
          Array.from({ length: 1_000 }, (_, i) => keep(`${from + i}`));
        await setup.provider.commit(items(0));
        expect(await setup.commit(keep("1000"))).toMatchObject({ code: "LIMIT_EXCEEDED" });
        expect(await setup.commit(keep("999"))).toEqual({ kind: "done" });
        await setup.environment.advance(7 * DAY_MS + 1);
        const results = await setup.provider.commit(items(1_000));
        expect(results.every(({ kind }) => kind === "done")).toBe(true);
        const { key } = await setup.start("a");
        const inbox = await setup.provider.readInbox(key);
        expect(inbox).toHaveLength(1_001);
        expect(inbox[1]).toMatchObject({ data: "1000" });
      },
    },
    {
      title: "an early event settles as done before and after the start (I14)",
      async run(setup) {
        expect(await setup.provider.settle(keep("1"))).toBeNull();
        await setup.commit(keep("1"));
        expect(await setup.provider.settle(keep("1"))).toEqual({ kind: "done" });
        await setup.start("a");
        expect(await setup.provider.settle(keep("1"))).toEqual({ kind: "done" });
        expect(await setup.provider.settle(keep("2"))).toBeNull();
      },
    },
  ],
};
