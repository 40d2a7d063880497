// Duplicates: whatever is delivered twice has one effect (I6, I7, P3).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import {
  ALPHA,
  claimOf,
  eventText,
  outcomeText,
  outgoing,
  sendItem,
  startItem,
  turnItem,
} from "./fixture.ts";

export const duplicates: ContractSubject = {
  subject: "duplicates",
  cases: [
    {
      title: "an outcome that is reported twice is recorded once (I7)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const task = await setup.leaseOneTask();
        const completion = { kind: "completion", task, outcome: outcomeText(2) } as const;
        expect(await setup.commit(completion)).toEqual({ kind: "done" });
        expect(await setup.commit(completion)).toEqual({ kind: "refused", code: "LEASE_LOST" });
        expect(await setup.inboxKinds(held.key)).toEqual(["activity"]);
      },
    },
    {
      title: "an outcome that is reported twice in one group is recorded once (I7)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const task = await setup.leaseOneTask();
        const completion = { kind: "completion", task, outcome: outcomeText(2) } as const;
        const results = await setup.provider.commit([completion, completion]);
        expect(results.map((result) => result.kind)).toEqual(["done", "refused"]);
        expect(await setup.inboxKinds(held.key)).toEqual(["activity"]);
      },
    },
    {
      title: "an outcome that a turn carried is not reported through the inbox as well (I7)",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
        const task = claimOf(address, 77);
        const outcome = outcomeText(address.sequence);
        await setup.turn(held, { events: [outcome], finished: [task] });
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({
          kind: "refused",
          code: "LEASE_LOST",
        });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "an outcome that went through the inbox is not carried by a turn as well (I7)",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
        const task = claimOf(address, 77);
        const outcome = outcomeText(address.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({ kind: "done" });
        const turn = turnItem(held, { events: [outcome], finished: [task] });
        expect(await setup.commit(turn)).toEqual({ kind: "refused", code: "LEASE_LOST" });
        expect(await setup.events(held)).toHaveLength(2);
        expect(await setup.inboxKinds(held.key)).toEqual(["activity"]);
      },
    },
    {
      title: "a turn that is sent twice in one group is written once",
      async run(setup) {
        const held = await setup.hold("a");
        const receiver = await setup.hold("receiver");
        const turn = turnItem(held, {
          events: [eventText()],
          sends: [outgoing({ id: "receiver" })],
        });
        const results = await setup.provider.commit([turn, turn]);
        expect(results.map((result) => result.kind)).toEqual(["committed", "refused"]);
        expect(await setup.due(receiver)).toHaveLength(1);
      },
    },
    {
      title: "a send that is repeated in one group is stored once",
      async run(setup) {
        const held = await setup.hold("a");
        const item = sendItem({ id: "a", requestId: "once" });
        const results = await setup.provider.commit([item, item, item]);
        expect(results).toEqual([{ kind: "done" }, { kind: "done" }, { kind: "done" }]);
        expect(await setup.due(held)).toHaveLength(1);
      },
    },
    {
      title: "sends of equal content and different request ids are all stored",
      async run(setup) {
        const held = await setup.hold("a");
        for (const requestId of ["1", "2", "01"]) {
          await setup.commit(sendItem({ id: "a", name: "n", data: "1", requestId }));
        }
        expect(await setup.due(held)).toHaveLength(3);
      },
    },
    {
      title:
        "a message is consumed by one turn: a second one from the same history is refused (I6)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.commit(sendItem({ id: "a" }));
        const consumed = (await setup.due(held)).map((message) => message.id);
        const items = [
          turnItem(held, { events: [eventText()], consumed }),
          turnItem(held, { events: [eventText()], consumed }),
        ];
        const results = await setup.provider.commit(items);
        expect(results.map((result) => result.kind)).toEqual(["committed", "refused"]);
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "a child's outcome that is sent twice arrives once (B3)",
      async run(setup) {
        const held = await setup.hold("a");
        const child = await setup.hold("child");
        const to = { id: "a", runId: held.runId };
        const sent = outgoing(to, { kind: "child", execution: 1, sequence: 2, key: "child/1" });
        await setup.turn(child, { events: [eventText()], sends: [sent] });
        await setup.turn(child, { events: [eventText()], sends: [sent] });
        expect(await setup.inboxKinds(held.key)).toEqual(["child"]);
      },
    },
    {
      title: "of two messages with one key the first stays as it is (B3)",
      async run(setup) {
        const sender = await setup.hold("sender");
        const receiver = await setup.hold("receiver");
        for (const data of ['"first"', '"second"']) {
          const sends = [outgoing({ id: "receiver" }, { key: "one", data })];
          await setup.turn(sender, { sends });
        }
        const inbox = await setup.provider.readInbox(receiver.key);
        expect(inbox.map((message) => message.data)).toEqual(['"first"']);
      },
    },
    {
      title: "a start that is repeated without a request id starts one instance",
      async run(setup) {
        const item = startItem({ id: "a" });
        const results = await setup.provider.commit([item, item]);
        expect(results[0]).toMatchObject({ kind: "started" });
        const { key } = await setup.read("a");
        expect(await setup.inboxKinds(key)).toEqual(["start"]);
      },
    },
  ],
};
