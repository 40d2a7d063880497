// Kept messages: events for an id that does not exist yet (18a, P4).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import { eventText, heldFrom, newInstance, sendItem, startItem, terminateItem } from "./fixture.ts";

const DAY_MS = 86_400_000;
const keep = (data: string, id = "a", requestId = `keep-${id}-${data}`) =>
  sendItem({ id, data, requestId, ifMissing: "keep" });

export const keptMessages: ContractSubject = {
  subject: "kept messages",
  cases: [
    {
      title: "an event that is to be kept waits for the start of its instance, and makes none",
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
      title: "kept events come in the order of sending, before what is sent after the start (P7)",
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
      title: "a kept event that is repeated is kept once, before the start and after it (B3)",
      async run(setup) {
        await setup.commit(keep("1"));
        expect(await setup.commit(keep("1"))).toEqual({ kind: "done" });
        const { key } = await setup.start("a");
        expect(await setup.commit(keep("1"))).toEqual({ kind: "done" });
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title: "what is kept for one id reaches no other",
      async run(setup) {
        await setup.commit(keep("1", "a"));
        const { key } = await setup.start("b");
        expect(await setup.inboxKinds(key)).toEqual(["start"]);
      },
    },
    {
      title: "a child that a turn starts receives what was kept for it",
      async run(setup) {
        await setup.commit(keep("1", "child"));
        const held = await setup.hold("a");
        await setup.turn(held, { events: [eventText()], starts: [newInstance({ id: "child" })] });
        const { key } = await setup.read("child");
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title: "an event for an instance that exists needs no keeping, and one that ended takes none",
      async run(setup) {
        const held = await setup.hold("a");
        expect(await setup.commit(keep("1"))).toEqual({ kind: "done" });
        expect(await setup.due(held)).toHaveLength(1);
        await setup.complete(held);
        expect(await setup.commit(keep("2"))).toEqual({
          kind: "refused",
          code: "INSTANCE_FINISHED",
        });
      },
    },
    {
      title: "a thousand events are kept for an id, and no more (18a)",
      async run(setup) {
        const items = Array.from({ length: 1_001 }, (_, i) => keep(`${i}`));
        const results = await setup.provider.commit(items);
        expect(results.filter(({ kind }) => kind === "done")).toHaveLength(1_000);
        expect(results.at(-1)).toEqual({ kind: "refused", code: "LIMIT_EXCEEDED" });
        expect(await setup.commit(keep("1", "b"))).toEqual({ kind: "done" });
      },
    },
    {
      title: "events are kept for seven days (18a)",
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
      title: "a detached instance that a turn starts receives what was kept, a restarted one none",
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
      title: "what is kept is taken over once: the next instance of that id does not get it again",
      async run(setup) {
        await setup.commit(keep("1"));
        await setup.start("a");
        await setup.provider.deleteInstance({ id: "a", force: true });
        const { key } = await setup.start("a");
        expect(await setup.inboxKinds(key)).toEqual(["start"]);
      },
    },
    {
      title: "a repetition after the message was received is known (18a)",
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
      title: "a repetition that does not ask to be kept is told that its event was",
      async run(setup) {
        await setup.commit(keep("1"));
        const again = sendItem({ id: "a", data: "1", requestId: "keep-a-1" });
        expect(await setup.commit(again)).toEqual({ kind: "done" });
        expect(await setup.commit(sendItem({ id: "a" }))).toMatchObject({ kind: "refused" });
      },
    },
    {
      title: "one request id may be used towards two ids that do not exist",
      async run(setup) {
        for (const id of ["a", "b"]) await setup.commit(keep("1", id, "same"));
        for (const id of ["a", "b"]) {
          const { key } = await setup.start(id);
          expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
        }
      },
    },
    {
      title: "kept events wait for a start that is to begin later, and are not due before it",
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
      title: "a start that is refused takes nothing over, nor does one that meets an instance",
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
      title: "the limit counts what is kept now: a start, or time, makes room again (18a)",
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
      title: "a kept event settles as done before the start and after it (I14)",
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
