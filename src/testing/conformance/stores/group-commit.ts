// Contract of group commits: one transaction writes many items, and each item succeeds or fails separately
// (commit.1, commit.2).

import { expect } from "vitest";
import type { CommitItem } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  cancelItem,
  claimOf,
  eventText,
  LEASE_LOST,
  newInstance,
  newTask,
  outcomeText,
  outgoing,
  refused,
  sendItem,
  startItem,
  TASK_LEASE,
  terminateItem,
  turnItem,
} from "../fixture.ts";

export const groupCommit: ContractSubject = {
  subject: "group commit",
  cases: [
    {
      title: "an empty group has no results",
      async run(setup) {
        expect(await setup.provider.commit([])).toEqual([]);
      },
    },
    {
      title:
        "one group can contain every kind of item, and the results are in the order of the items",
      async run(setup) {
        const held = await setup.hold("a");
        const freed = await setup.hold("freed");
        const stuck = await setup.hold("stuck");
        await setup.hold("ended");
        const lease = TASK_LEASE;
        const done = claimOf(await setup.schedule(held, { lease }));
        const again = claimOf(await setup.schedule(held, { lease }));
        const back = claimOf(await setup.schedule(held, { lease }));
        const items: CommitItem[] = [
          startItem({ id: "new" }),
          turnItem(held, { events: [eventText()] }),
          { kind: "completion", task: done, outcome: outcomeText(done.sequence) },
          { kind: "retry", task: again, delayMs: 5, failure: "{}" },
          { kind: "releaseTask", task: back },
          sendItem({ id: "a" }),
          cancelItem("a"),
          terminateItem("ended"),
          { kind: "block", key: stuck.key, token: stuck.token, reason: "{}", by: ALPHA },
          { kind: "releaseInstance", key: freed.key, token: freed.token },
        ];
        const results = await setup.provider.commit(items);
        expect(results.map((result) => result.kind)).toEqual([
          "started",
          "committed",
          "done",
          "done",
          "done",
          "done",
          "done",
          "done",
          "done",
          "done",
        ]);
        expect(await setup.inboxKinds(held.key)).toEqual(["cancel", "activity", "event"]);
        expect(await setup.read("ended")).toMatchObject({ status: "terminated" });
        expect(await setup.read("stuck")).toMatchObject({ blocked: "{}" });
        expect(await setup.read("freed")).toMatchObject({ owner: null });
      },
    },
    {
      title: "refused items do not affect the other items of a group (commit.1)",
      async run(setup) {
        const held = await setup.hold("a");
        const items = [
          startItem({ id: "before" }),
          startItem({ id: "a" }),
          turnItem(held, { token: held.token + 1, events: [eventText()] }),
          sendItem({ id: "missing" }),
          turnItem(held, { events: [eventText()] }),
          startItem({ id: "after" }),
        ];
        const results = await setup.provider.commit(items);
        expect(results).toMatchObject([
          { kind: "started" },
          refused("INSTANCE_EXISTS"),
          LEASE_LOST,
          refused("INSTANCE_NOT_FOUND"),
          { kind: "committed" },
          { kind: "started" },
        ]);
        expect(await setup.read("before")).toMatchObject({ status: "pending" });
        expect(await setup.read("after")).toMatchObject({ status: "pending" });
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "if the first or the last item of a group is refused, the others are written",
      async run(setup) {
        await setup.start("taken");
        await setup.provider.commit([startItem({ id: "taken" }), startItem({ id: "a" })]);
        await setup.provider.commit([startItem({ id: "b" }), startItem({ id: "taken" })]);
        expect(await setup.read("a")).toMatchObject({ status: "pending" });
        expect(await setup.read("b")).toMatchObject({ status: "pending" });
      },
    },
    {
      title:
        "a turn that is refused for its last part writes nothing, and the rest of the group is written (commit.1, I1)",
      async run(setup) {
        const receiver = await setup.hold("receiver");
        const bad = await setup.hold("bad");
        const good = await setup.hold("good");
        const own = claimOf(await setup.schedule(bad, { lease: TASK_LEASE }));
        await setup.commit(sendItem({ id: "bad" }));
        const [message] = await setup.due(bad);
        const results = await setup.provider.commit([
          turnItem(good, { events: [eventText()], sends: [outgoing({ id: "receiver" })] }),
          turnItem(bad, {
            events: [eventText()],
            consumed: [message?.id ?? -1],
            tasks: [newTask({ sequence: 50 })],
            timers: [{ kind: "timer", sequence: 51, delayMs: 0 }],
            starts: [newInstance({ id: "child" })],
            sends: [outgoing({ id: "receiver" })],
            finished: [own, { ...own, sequence: own.sequence + 1 }],
          }),
          sendItem({ id: "good" }),
        ]);
        expect(results.map((result) => result.kind)).toEqual(["committed", "refused", "done"]);
        expect(await setup.due(receiver)).toHaveLength(1);
        expect(await setup.due(good)).toHaveLength(1);
        expect(await setup.inboxKinds(bad.key)).toEqual(["event"]);
        expect(await setup.provider.readTasks(bad)).toHaveLength(1);
        expect(await setup.provider.readInstance("child")).toBeNull();
        expect(await setup.events(bad)).toHaveLength(2);
      },
    },
    {
      title: "an item sees the effects of the previous items of its group",
      async run(setup) {
        const results = await setup.provider.commit([
          sendItem({ id: "a" }),
          startItem({ id: "a" }),
          sendItem({ id: "a" }),
          terminateItem("a"),
          sendItem({ id: "a" }),
          startItem({ id: "a", onConflict: "restart" }),
        ]);
        expect(results).toMatchObject([
          refused("INSTANCE_NOT_FOUND"),
          { kind: "started", execution: 1 },
          { kind: "done" },
          { kind: "done" },
          refused("INSTANCE_FINISHED"),
          { kind: "started", execution: 2 },
        ]);
      },
    },
    {
      title: "a turn after the termination of its instance in the same group is refused",
      async run(setup) {
        const held = await setup.hold("a");
        const results = await setup.provider.commit([
          terminateItem("a"),
          turnItem(held, { events: [eventText()] }),
        ]);
        expect(results.map((result) => result.kind)).toEqual(["done", "refused"]);
        expect(await setup.events(held)).toHaveLength(2);
      },
    },
    {
      title: "the result of a turn contains a message that an earlier item of its group wrote",
      async run(setup) {
        const held = await setup.hold("a");
        const results = await setup.provider.commit([
          sendItem({ id: "a", data: '"before"' }),
          turnItem(held, { events: [eventText()] }),
        ]);
        expect(results[1]).toMatchObject({ kind: "committed", due: [{ data: '"before"' }] });
      },
    },
    {
      title: "completions and sends of one group are delivered in the order of the group (P7)",
      async run(setup) {
        const held = await setup.hold("a");
        const lease = TASK_LEASE;
        const tasks = [];
        for (let i = 0; i < 3; i++) tasks.push(claimOf(await setup.schedule(held, { lease })));
        const completions = tasks.map((task): CommitItem => {
          return { kind: "completion", task, outcome: outcomeText(task.sequence) };
        });
        const sends = ["z", "a", "m"].map((data) => sendItem({ id: "a", data }));
        await setup.provider.commit([...completions.toReversed(), ...sends]);
        const due = await setup.due(held);
        const sequences = due.flatMap(({ sequence }) => sequence ?? []);
        expect(sequences).toEqual(tasks.map(({ sequence }) => sequence).toReversed());
        const datas = due.filter(({ kind }) => kind === "event").map(({ data }) => data);
        expect(datas).toEqual(["z", "a", "m"]);
      },
    },
    {
      title: "a group of 600 items is written completely",
      async run(setup) {
        const items = Array.from({ length: 600 }, (_, i) => startItem({ id: `n${i % 500}` }));
        const results = await setup.provider.commit(items);
        expect(results.filter((result) => result.kind === "started")).toHaveLength(500);
        expect(results.slice(500).every((result) => result.kind === "refused")).toBe(true);
        expect(await setup.read("n499")).toMatchObject({ status: "pending" });
      },
    },
    {
      title: "concurrent commit calls each return their own results",
      async run(setup) {
        const calls = Array.from({ length: 50 }, (_, i) =>
          setup.provider.commit([
            startItem({ id: `n${i}` }),
            sendItem({ id: `n${i}`, data: `${i}` }),
            sendItem({ id: `missing${i}` }),
          ]),
        );
        for (const [i, results] of (await Promise.all(calls)).entries()) {
          expect(results.map((result) => result.kind)).toEqual(["started", "done", "refused"]);
          const { key } = await setup.read(`n${i}`);
          expect((await setup.provider.readInbox(key))[1]?.data).toBe(`${i}`);
        }
      },
    },
  ],
};
