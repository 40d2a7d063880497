// Contract of sends: events from clients, and messages between instances (P4, messages.3, semantics 18).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  cancelItem,
  childOutcomeText,
  claimOf,
  eventText,
  heldFrom,
  outcomeText,
  outgoing,
  refused,
  sendItem,
  startItem,
  TASK_LEASE,
} from "../fixture.ts";

export const sends: ContractSubject = {
  subject: "sends",
  cases: [
    {
      title: "events of an inbox are read in pages that are limited by number and bytes",
      async run(setup) {
        const { key } = await setup.hold("a");
        const names = Array.from({ length: 7 }, (_, i) => `e${i}`);
        for (const name of names)
          await setup.commit(sendItem({ id: "a", name, data: '"0123456789"' }));
        const page = (after: number | null, limit: number, bytesMax = 1_000_000) =>
          setup.provider.readEvents({ key, after, limit, bytesMax });
        const first = await page(null, 3);
        expect(first.messages.map(({ name }) => name)).toEqual(["e0", "e1", "e2"]);
        expect(first.more).toBe(true);
        const second = await page(first.messages.at(-1)?.id ?? null, 3, 24); // two of 12 bytes
        expect(second.messages.map(({ name }) => name)).toEqual(["e3", "e4"]);
        expect(second.more).toBe(true);
        const third = await page(second.messages.at(-1)?.id ?? null, 1, 1); // the first message always fits
        expect(third).toMatchObject({ messages: [{ name: "e5" }], more: true });
        const last = await page(third.messages.at(-1)?.id ?? null, 3);
        expect(last).toMatchObject({ messages: [{ name: "e6" }], more: false });
        expect(await page(last.messages.at(-1)?.id ?? null, 3)).toEqual({
          messages: [],
          more: false,
        });
        expect(first.messages[0]).toEqual((await setup.provider.readInbox(key))[0]);
      },
    },
    {
      title: "a sent event waits in the inbox with its name and payload",
      async run(setup) {
        const held = await setup.hold("a");
        const item = sendItem({ id: "a", name: "approval", data: '{"by":"ada"}' });
        expect(await setup.commit(item)).toEqual({ kind: "done" });
        expect(await setup.due(held)).toMatchObject([
          { kind: "event", name: "approval", data: '{"by":"ada"}', execution: null },
        ]);
      },
    },
    {
      title: "an event for an instance that does not exist is refused (P4)",
      async run(setup) {
        expect(await setup.commit(sendItem({ id: "missing" }))).toEqual(
          refused("INSTANCE_NOT_FOUND"),
        );
        const { key } = await setup.start("missing");
        expect(await setup.inboxKinds(key)).toEqual(["start"]);
      },
    },
    {
      title: "an event for an ended instance is refused (P4)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.complete(held);
        expect(await setup.commit(sendItem({ id: "a" }))).toEqual(refused("INSTANCE_FINISHED"));
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "an event for a pending instance is delivered after its start",
      async run(setup) {
        const { key } = await setup.start("a");
        await setup.commit(sendItem({ id: "a" }));
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
        const leased = await setup.leaseOnly("a");
        expect(leased.messages.map((message) => message.kind)).toEqual(["start", "event"]);
      },
    },
    {
      title: "an event makes an instance without a lease due",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, { release: true });
        await setup.leaseNothing();
        await setup.commit(sendItem({ id: "a" }));
        expect((await setup.leaseOnly("a")).messages).toMatchObject([{ kind: "event" }]);
      },
    },
    {
      title: "an event that no turn consumed stays readable after the end (18a)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a", data: '"parked"' }));
        await setup.turn(held, { waitingEvents: "park" });
        const other = await setup.hold("b");
        await setup.commit(sendItem({ id: "b", data: '"ready"' }));
        for (const one of [held, other]) await setup.complete(one);
        const left = [held, other].map(({ key }) => setup.provider.readInbox(key));
        expect(await Promise.all(left)).toMatchObject([
          [{ kind: "event", data: '"parked"' }],
          [{ kind: "event", data: '"ready"' }],
        ]);
      },
    },
    {
      title:
        "a send that is repeated with its request id is stored once and returns done twice (messages.3)",
      async run(setup) {
        const held = await setup.hold("a");
        const item = sendItem({ id: "a", requestId: "once" });
        expect(await setup.commit(item)).toEqual({ kind: "done" });
        expect(await setup.commit(item)).toEqual({ kind: "done" });
        expect(await setup.due(held)).toHaveLength(1);
      },
    },
    {
      title: "a repeated send is not stored again after the first message was received (18a)",
      async run(setup) {
        const held = await setup.hold("a");
        const item = sendItem({ id: "a", requestId: "once" });
        await setup.commit(item);
        const consumed = (await setup.due(held)).map((message) => message.id);
        await setup.turn(held, { events: [eventText()], consumed });
        expect(await setup.commit(item)).toEqual({ kind: "done" });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "the same request id can be used for two instances",
      async run(setup) {
        const a = await setup.hold("a");
        const b = await setup.hold("b");
        await setup.commit(sendItem({ id: "a", requestId: "once" }));
        await setup.commit(sendItem({ id: "b", requestId: "once" }));
        expect(await setup.due(a)).toHaveLength(1);
        expect(await setup.due(b)).toHaveLength(1);
      },
    },
    {
      title: "a turn's send reaches another instance and makes it due",
      async run(setup) {
        const receiver = await setup.hold("receiver");
        await setup.turn(receiver, { release: true });
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: [eventText()],
          sends: [outgoing({ id: "receiver" }, { name: "hello", data: "1" })],
        });
        const leased = await setup.leaseOnly("receiver", BETA);
        expect(leased.messages).toMatchObject([{ kind: "event", name: "hello", data: "1" }]);
      },
    },
    {
      title: "a turn's sends arrive in the order of the turn",
      async run(setup) {
        const receiver = await setup.hold("receiver");
        const held = await setup.hold("a");
        const datas = Array.from({ length: 20 }, (_, i) => `${i}`);
        await setup.turn(held, {
          events: [eventText()],
          sends: datas.map((data) => outgoing({ id: "receiver" }, { data })),
        });
        expect((await setup.due(receiver)).map((message) => message.data)).toEqual(datas);
      },
    },
    {
      title: "an instance can send to itself, and the result of the same turn contains the message",
      async run(setup) {
        const held = await setup.hold("a");
        const { due } = await setup.turn(held, {
          events: [eventText()],
          sends: [outgoing({ id: "a" }, { data: '"to myself"' })],
        });
        expect(due.map((message) => message.data)).toEqual(['"to myself"']);
      },
    },
    {
      title:
        "a message is not stored if the receiver already has one with the same key (messages.3)",
      async run(setup) {
        const receiver = await setup.hold("receiver");
        const other = await setup.hold("other");
        const held = await setup.hold("a");
        const sent = outgoing({ id: "receiver" }, { key: "a/1/2" });
        await setup.turn(held, { events: [eventText()], sends: [sent] });
        await setup.turn(held, {
          events: [eventText()],
          sends: [sent, sent, outgoing({ id: "other" }, { key: "a/1/2" })],
        });
        expect(await setup.due(receiver)).toHaveLength(1);
        expect(await setup.due(other)).toHaveLength(1);
      },
    },
    {
      title: "messages without a key are never treated as repetitions",
      async run(setup) {
        const receiver = await setup.hold("receiver");
        const held = await setup.hold("a");
        const sent = outgoing({ id: "receiver" }, { key: null });
        await setup.turn(held, { events: [eventText()], sends: [sent, sent] });
        expect(await setup.due(receiver)).toHaveLength(2);
      },
    },
    {
      title:
        "a message for an earlier run does not reach the new run with the same id (provider.instances.1)",
      async run(setup) {
        const first = await setup.hold("receiver");
        const held = await setup.hold("a");
        await setup.complete(first);
        await setup.commit(startItem({ id: "receiver", onConflict: "restart" }));
        const data = childOutcomeText(2);
        await setup.turn(held, {
          events: [eventText()],
          sends: [
            outgoing({ id: "receiver", runId: first.runId }, { kind: "child", execution: 1, data }),
          ],
        });
        expect(await setup.inboxKinds(first.key)).toEqual(["start"]);
      },
    },
    {
      title: "a turn is committed even if it sends to an instance that does not exist or has ended",
      async run(setup) {
        const ended = await setup.hold("ended");
        await setup.complete(ended);
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: [eventText()],
          sends: [outgoing({ id: "missing" }), outgoing({ id: "ended" })],
        });
        expect(await setup.provider.readInstance("missing")).toBeNull();
        expect(await setup.provider.readInbox(ended.key)).toEqual([]);
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "an event that is sent between a lease and its turn is delivered after the turn",
      async run(setup) {
        await setup.start("a");
        const leased = await setup.leaseOnly("a");
        const held = heldFrom(leased);
        await setup.commit(sendItem({ id: "a", data: '"meanwhile"' }));
        const consumed = leased.messages.map((message) => message.id);
        const { due } = await setup.turn(held, { events: [eventText()], consumed });
        expect(due.map((message) => message.data)).toEqual(['"meanwhile"']);
      },
    },
    {
      title:
        "a request id chosen by a sender never suppresses another kind of message (P4, messages.3)",
      async run(setup) {
        const held = await setup.hold("a");
        const child = await setup.hold("child");
        const address = await setup.schedule(held, { lease: TASK_LEASE });
        await setup.turn(held, { events: [eventText()], stepsOpen: true });
        const { execution, sequence } = address;
        const places = [":", "/", "-", "."].map((mark) => `${execution}${mark}${sequence}`);
        const prefixes = ["", "a:", "activity:", "task:", "c:", "child:", "completion:"];
        const requestIds = [
          "cancel",
          "wake",
          "start",
          "child/1",
          ...prefixes.flatMap((prefix) => places.map((place) => `${prefix}${place}`)),
        ];
        for (const requestId of requestIds) await setup.commit(sendItem({ id: "a", requestId }));
        const outcome = outcomeText(sequence);
        await setup.commit({ kind: "completion", task: claimOf(address), outcome });
        await setup.commit(cancelItem("a"));
        const to = { id: "a", runId: held.runId };
        await setup.turn(child, {
          events: [eventText()],
          sends: [outgoing(to, { kind: "child", execution: 1, sequence: 9, key: "child/1" })],
        });
        await setup.die(ALPHA);
        const kinds = await setup.inboxKinds(held.key);
        expect(kinds.filter((kind) => kind === "event")).toHaveLength(requestIds.length);
        expect(kinds.filter((kind) => kind !== "event").toSorted()).toEqual([
          "activity",
          "cancel",
          "child",
          "wake",
        ]);
      },
    },
  ],
};
