// Contract of queues: the numbers of waiting and running tasks by name, tags and priority.

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  BETA,
  CHARGE,
  claimOf,
  outcomeText,
  pauseItem,
  TASK_LEASE,
  terminateItem,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

/** One line per queue. */
async function lines(setup: Setup): Promise<string[]> {
  const queues = await setup.provider.readQueues();
  return queues.map(
    ({ name, tags, priority, waiting, running, delayed }) =>
      `${name}[${tags.join()}]${priority} ${waiting}/${running}/${delayed}`,
  );
}

export const queues: ContractSubject = {
  subject: "queues",
  cases: [
    {
      title: "a store without tasks has no queue",
      async run(setup) {
        await setup.hold("a");
        expect(await setup.provider.readQueues()).toEqual([]);
      },
    },
    {
      title: "tasks are counted by name and priority across all instances",
      async run(setup) {
        const a = await setup.hold("a");
        const b = await setup.hold("b");
        for (const held of [a, b]) {
          await setup.schedule(held);
          await setup.schedule(held, { name: "ship", priority: 1 });
        }
        await setup.schedule(a, { name: "ship", priority: 2 });
        expect((await lines(setup)).toSorted()).toEqual([
          `${CHARGE}[]3 2/0/0`,
          "ship[]1 2/0/0",
          "ship[]2 1/0/0",
        ]);
      },
    },
    {
      title:
        "tags are a set: the same tags in another order belong to the same queue (semantics 15)",
      async run(setup) {
        const { held } = await setup.holdTask("a", { tags: ["gpu", "eu"] });
        await setup.environment.advance(10);
        await setup.schedule(held, { tags: ["eu", "gpu"] });
        await setup.schedule(held, { tags: ["eu"] });
        await setup.schedule(held, { tags: [] });
        await setup.schedule(held, { tags: null });
        const queues = await setup.provider.readQueues();
        const found = queues.map(({ tags, waiting }) => [tags.toSorted().join(), waiting]);
        expect(found.toSorted()).toEqual([
          ["", 2],
          ["eu", 1],
          ["eu,gpu", 2],
        ]);
        const both = queues.find(({ tags }) => tags.length === 2);
        expect(both?.oldestAvailableAt).toBe(setup.environment.now() - 10);
      },
    },
    {
      title:
        "a task is counted as waiting, running, delayed for its next attempt, and not at all after its completion",
      async run(setup) {
        await setup.holdTask("a");
        expect(await lines(setup)).toEqual([`${CHARGE}[]3 1/0/0`]);
        const task = await setup.leaseOneTask();
        expect(await lines(setup)).toEqual([`${CHARGE}[]3 0/1/0`]);
        await setup.commit({ kind: "retry", task, delayMs: 1_000, failure: "{}" });
        expect(await lines(setup)).toEqual([`${CHARGE}[]3 0/0/1`]);
        await setup.environment.advance(1_000);
        expect(await lines(setup)).toEqual([`${CHARGE}[]3 1/0/0`]);
        const again = await setup.leaseOneTask();
        await setup.commit({ kind: "completion", task: again, outcome: outcomeText(2) });
        expect(await lines(setup)).toEqual([]);
      },
    },
    {
      title: "a task that is created leased counts as running until a turn finishes it",
      async run(setup) {
        const { held, task } = await setup.holdTask("a", { lease: TASK_LEASE });
        expect(await lines(setup)).toEqual([`${CHARGE}[]3 0/1/0`]);
        const events = [outcomeText(task.sequence)];
        await setup.turn(held, { events, finished: [claimOf(task)] });
        expect(await lines(setup)).toEqual([]);
      },
    },
    {
      title: "the oldest time is that of the longest waiting task, or null if no task waits",
      async run(setup) {
        const held = await setup.hold("a");
        const since = setup.environment.now();
        await setup.schedule(held);
        await setup.environment.advance(50);
        await setup.schedule(held);
        const oldest = async () => (await setup.provider.readQueues())[0]?.oldestAvailableAt;
        expect(await oldest()).toBe(since);
        const { tasks } = await setup.leaseTasks(BETA, { limit: 1 });
        expect(tasks.map((task) => task.sequence)).toEqual([2]);
        expect(await oldest()).toBe(since + 50);
        const second = await setup.leaseOneTask(BETA);
        expect(await oldest()).toBeNull();
        await setup.commit({ kind: "retry", task: second, delayMs: 5, failure: "{}" });
        expect(await oldest()).toBeNull();
      },
    },
    {
      title: "the tasks of a paused instance are counted, and those of a terminated one are not",
      async run(setup) {
        await setup.holdTask("a");
        await setup.commit(pauseItem("a"));
        expect(await lines(setup)).toEqual([`${CHARGE}[]3 1/0/0`]);
        await setup.commit(terminateItem("a"));
        expect(await lines(setup)).toEqual([]);
      },
    },
    {
      title: "names and tags with special characters are distinguished",
      async run(setup) {
        const held = await setup.hold("a");
        const names = ["a,b", 'a"', "a'", "\u{1f9e1}"];
        for (const name of names) await setup.schedule(held, { name, tags: [name] });
        await setup.schedule(held, { name: "a,b", tags: ["a", "b"] });
        const found = await setup.provider.readQueues();
        expect(found).toHaveLength(names.length + 1);
        for (const name of names) {
          const own = found.filter((queue) => queue.name === name && queue.tags[0] === name);
          expect(own).toMatchObject([{ waiting: 1, tags: [name] }]);
        }
      },
    },
    {
      title: "a task with unreadable tags is counted and does not affect other tasks (provider.3)",
      needs: ["corruptTask"],
      async run(setup) {
        const { held, task: bad } = await setup.holdTask("a", { tags: ["x"] });
        await setup.schedule(held, { name: "ship" });
        await setup.tamper.corruptTask({ ...bad, text: "not json" });
        const found = await setup.provider.readQueues();
        expect(found.reduce((sum, { waiting }) => sum + waiting, 0)).toBe(2);
      },
    },
  ],
};
