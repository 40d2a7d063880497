// Contract of duplicates: a message or result that arrives twice has one effect (I6, I7, P3).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  claimOf,
  eventText,
  LEASE_LOST,
  outcomeText,
  outgoing,
  sendItem,
  startItem,
  TASK_LEASE,
  turnItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

/** An instance with a leased task, and the outcome of the task. */
async function leasedTask(setup: Setup) {
  const { held, task } = await setup.holdTask("a", { lease: TASK_LEASE });
  return { held, task: claimOf(task), outcome: outcomeText(task.sequence) };
}

export const duplicates: ContractSubject = {
  subject: "duplicates",
  cases: [
    {
      title: "an outcome that is reported twice is recorded once (I7)",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        const completion = { kind: "completion", task, outcome: outcomeText(2) } as const;
        expect(await setup.commit(completion)).toEqual({ kind: "done" });
        expect(await setup.commit(completion)).toEqual(LEASE_LOST);
        expect(await setup.inboxKinds(held.key)).toEqual(["activity"]);
      },
    },
    {
      title: "an outcome that is reported twice in one group is recorded once (I7)",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        const completion = { kind: "completion", task, outcome: outcomeText(2) } as const;
        const results = await setup.provider.commit([completion, completion]);
        expect(results.map((result) => result.kind)).toEqual(["done", "refused"]);
        expect(await setup.inboxKinds(held.key)).toEqual(["activity"]);
      },
    },
    {
      title: "an outcome that a turn has recorded is not accepted into the inbox (I7)",
      async run(setup) {
        const { held, task, outcome } = await leasedTask(setup);
        await setup.turn(held, { events: [outcome], finished: [task] });
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual(LEASE_LOST);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "a turn is refused if it records an outcome that is already in the inbox (I7)",
      async run(setup) {
        const { held, task, outcome } = await leasedTask(setup);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({ kind: "done" });
        const turn = turnItem(held, { events: [outcome], finished: [task] });
        expect(await setup.commit(turn)).toEqual(LEASE_LOST);
        expect(await setup.events(held)).toHaveLength(2);
        expect(await setup.inboxKinds(held.key)).toEqual(["activity"]);
      },
    },
    {
      title: "a turn that is repeated in one group is written once",
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
      title: "sends with equal content and different request ids are all stored",
      async run(setup) {
        const held = await setup.hold("a");
        for (const requestId of ["1", "2", "01"]) {
          await setup.commit(sendItem({ id: "a", name: "n", data: "1", requestId }));
        }
        expect(await setup.due(held)).toHaveLength(3);
      },
    },
    {
      title: "a message is consumed once: a second turn from the same last event is refused (I6)",
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
      title: "a child's outcome that is sent twice arrives once (messages.3)",
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
      title: "if two messages have the same key, the first is kept unchanged (messages.3)",
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
      title: "a start that is repeated without a request id creates one instance",
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
