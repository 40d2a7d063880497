// Queues: tasks that wait and run, by name, tags and priority.

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import { ALPHA, BETA, CHARGE, claimOf, outcomeText, pauseItem, terminateItem } from "./fixture.ts";
import type { Setup } from "./setup.ts";

/** Every queue as one line. */
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
      title: "without tasks there is no queue",
      async run(setup) {
        await setup.hold("a");
        expect(await setup.provider.readQueues()).toEqual([]);
      },
    },
    {
      title: "tasks are told apart by name and priority, over all instances",
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
      title: "tags are a set: their order makes no queue of its own (semantics 15)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { tags: ["gpu", "eu"] });
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
      title: "a task waits, runs, waits for its next attempt, and is gone when it is over",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
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
      title: "a task that is born leased runs, and goes with the turn that finishes it",
      async run(setup) {
        const held = await setup.hold("a");
        const task = await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
        expect(await lines(setup)).toEqual([`${CHARGE}[]3 0/1/0`]);
        const events = [outcomeText(task.sequence)];
        await setup.turn(held, { events, finished: [claimOf(task, 77)] });
        expect(await lines(setup)).toEqual([]);
      },
    },
    {
      title: "the oldest time is that of the task that has waited longest, or null if none waits",
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
      title: "the tasks of a paused instance are still there, those of a terminated one are not",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        await setup.commit(pauseItem("a"));
        expect(await lines(setup)).toEqual([`${CHARGE}[]3 1/0/0`]);
        await setup.commit(terminateItem("a"));
        expect(await lines(setup)).toEqual([]);
      },
    },
    {
      title: "names and tags of any kind are told apart",
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
      title: "a task whose tags cannot be read is counted and spoils nothing (S4)",
      needs: ["corruptTask"],
      async run(setup) {
        const held = await setup.hold("a");
        const bad = await setup.schedule(held, { tags: ["x"] });
        await setup.schedule(held, { name: "ship" });
        await setup.tamper.corruptTask({ ...bad, text: "not json" });
        const found = await setup.provider.readQueues();
        expect(found.reduce((sum, { waiting }) => sum + waiting, 0)).toBe(2);
      },
    },
  ],
};
