// Contract of starts with events: the events are in the inbox when the instance is created (semantics 18a,
// StartItem.events).

import { expect } from "vitest";
import type { KeptMessage } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, fresh, keepItem, sendItem, startItem, startedText } from "../fixture.ts";

function seeds(...datas: string[]): KeptMessage[] {
  return datas.map((data) => ({ name: "seed", data, key: null }));
}

export const startWithEvents: ContractSubject = {
  subject: "start with events",
  cases: [
    {
      title: "the events of a start are in the inbox at once, in order",
      async run(setup) {
        const events = ["1", "2", "3"].map((data) => ({ name: "seed", data, key: `seed-${data}` }));
        const { key } = await setup.start("a", { events });
        await setup.commit(sendItem({ id: "a", name: "seed", data: "4" }));
        const inbox = await setup.provider.readInbox(key);
        expect(inbox.map(({ kind }) => kind)).toEqual([
          "start",
          "event",
          "event",
          "event",
          "event",
        ]);
        expect(inbox.slice(1).map(({ data }) => data)).toEqual(["1", "2", "3", "4"]);
        expect(inbox[1]).toMatchObject({ name: "seed", execution: null });
      },
    },
    {
      title: "the events of a start that meets an existing instance are not delivered",
      async run(setup) {
        const held = await setup.hold("a");
        const events = [{ name: "seed", data: "1", key: null }];
        for (const onConflict of ["fail", "useExisting", "restart"] as const) {
          await setup.commit(startItem({ id: "a", onConflict, events }));
        }
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "a lease returns the events together with the start",
      async run(setup) {
        await setup.start("a", { events: seeds("1", "2") });
        const { messages } = await setup.leaseOnly("a");
        expect(messages.map(({ kind }) => kind)).toEqual(["start", "event", "event"]);
        expect(messages.slice(1).map(({ data }) => data)).toEqual(["1", "2"]);
      },
    },
    {
      title: "if the instance is created leased, the commit of its first turn returns the events",
      async run(setup) {
        const lease = { owner: ALPHA, token: fresh() };
        const item = startItem({ id: "a", lease, events: seeds("1", "2") });
        const result = await setup.commit(item);
        if (result.kind !== "started")
          throw new Error(`The start must succeed; got ${result.kind}.`);
        expect(result.leased).toMatchObject({ kind: "start" });
        const { key, execution } = result;
        const { id, runId } = item;
        const held = { id, runId, key, execution, token: lease.token, lastEvent: 0 };
        const { due } = await setup.turn(held, {
          events: [item.started],
          consumed: [result.leased?.id ?? -1],
        });
        expect(due.map(({ data }) => data)).toEqual(["1", "2"]);
      },
    },
    {
      title: "events of different names are delivered in one common order",
      async run(setup) {
        const names = ["b", "a", "c", "a", "b"];
        const events = names.map((name, i) => ({ name, data: `${i}`, key: null }));
        const { key } = await setup.start("a", { events });
        const inbox = await setup.provider.readInbox(key);
        expect(inbox.slice(1).map(({ name, data }) => [name, data])).toEqual(
          names.map((name, i) => [name, `${i}`]),
        );
      },
    },
    {
      title:
        "events without a key are never treated as repetitions, and events with the same key are stored once",
      async run(setup) {
        const keyed = { name: "seed", data: "3", key: "once" };
        const { key } = await setup.start("a", { events: [...seeds("1", "1"), keyed, keyed] });
        const inbox = await setup.provider.readInbox(key);
        expect(inbox.slice(1).map(({ data }) => data)).toEqual(["1", "1", "3"]);
      },
    },
    {
      title: "the events of a delayed start wait for it",
      async run(setup) {
        const { key } = await setup.start("a", { delayMs: 1_000, events: seeds("1") });
        await setup.commit(sendItem({ id: "a", name: "seed", data: "2" }));
        await setup.leaseNothing();
        expect(await setup.inboxKinds(key)).toEqual(["start", "event", "event"]);
        await setup.environment.advance(1_000);
        const { messages } = await setup.leaseOnly("a");
        expect(messages.slice(1).map(({ data }) => data)).toEqual(["1", "2"]);
      },
    },
    {
      title:
        "a restart has the events of its start, and no unread events of the previous execution (I11)",
      async run(setup) {
        const held = await setup.hold("a", { events: seeds("old") });
        await setup.complete(held);
        const item = startItem({ id: "a", onConflict: "restart", events: seeds("1", "2") });
        expect(await setup.commit(item)).toMatchObject({ kind: "started", execution: 2 });
        const { messages } = await setup.leaseOnly("a");
        expect(messages.map(({ data }) => data)).toEqual([item.started, "1", "2"]);
      },
    },
    {
      title: "a start that terminates the existing instance delivers its events",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a", data: "old" }));
        const started = startedText({ input: "2" });
        await setup.commit(
          startItem({ id: "a", started, onConflict: "terminateExisting", events: seeds("1") }),
        );
        const inbox = await setup.provider.readInbox(held.key);
        expect(inbox.map(({ data }) => data)).toEqual([started, "1"]);
      },
    },
    {
      title: "a start that is repeated with its request id delivers its events once",
      async run(setup) {
        const item = startItem({ id: "a", requestId: "r", events: seeds("1") });
        const [first, second] = await setup.provider.commit([item, item]);
        expect(second).toEqual(first);
        await setup.commit(item);
        const { key } = await setup.read("a");
        expect(await setup.inboxKinds(key)).toEqual(["start", "event"]);
      },
    },
    {
      title:
        "early events come before the events of the start, because they were sent earlier (P7)",
      async run(setup) {
        for (const data of ["1", "2"])
          await setup.commit(keepItem({ id: "a", name: "seed", data }));
        const { key } = await setup.start("a", { events: seeds("3", "4") });
        const inbox = await setup.provider.readInbox(key);
        expect(inbox.slice(1).map(({ data }) => data)).toEqual(["1", "2", "3", "4"]);
      },
    },
  ],
};
