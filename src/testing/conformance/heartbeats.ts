// Heartbeats: what a running attempt says of itself, details for the next one and progress for watchers
// (semantics 11).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import { ALPHA, BETA, type Held, outcomeText } from "./fixture.ts";
import type { Setup } from "./setup.ts";

async function progressOf(setup: Setup, held: Held): Promise<readonly (string | null)[]> {
  const { key, execution } = held;
  const tasks = await setup.provider.readTasks({ key, execution });
  return tasks.map(({ progress }) => progress);
}

export const heartbeats: ContractSubject = {
  subject: "heartbeats",
  cases: [
    {
      title: "a first attempt is leased without details",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        expect((await setup.leaseOneTask()).heartbeat).toBeNull();
      },
    },
    {
      title: "the last details are handed to the next attempt",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const task = await setup.leaseOneTask();
        for (const details of ['{"row":1}', '{"row":2}']) {
          expect(await setup.provider.heartbeatTasks([{ task, details }])).toEqual([]);
        }
        await setup.commit({ kind: "retry", task, delayMs: 0, failure: "{}" });
        expect((await setup.leaseOneTask()).heartbeat).toBe('{"row":2}');
      },
    },
    {
      title: "details that come with a retry replace those that were written",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const task = await setup.leaseOneTask();
        await setup.provider.heartbeatTasks([{ task, details: "1" }]);
        const retry = { kind: "retry", task, delayMs: 0, failure: "{}", heartbeat: "2" } as const;
        expect(await setup.commit(retry)).toEqual({ kind: "done" });
        expect((await setup.leaseOneTask()).heartbeat).toBe("2");
      },
    },
    {
      title: "an attempt without details leaves those of the attempt before it",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const first = await setup.leaseOneTask();
        const heartbeat = "1";
        await setup.commit({ kind: "retry", task: first, delayMs: 0, failure: "{}", heartbeat });
        const second = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task: second, delayMs: 0, failure: "{}" });
        expect((await setup.leaseOneTask()).heartbeat).toBe("1");
      },
    },
    {
      title: "details outlive a task that is handed back",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const task = await setup.leaseOneTask();
        await setup.provider.heartbeatTasks([{ task, details: "1" }]);
        await setup.commit({ kind: "releaseTask", task });
        expect(await setup.leaseOneTask(ALPHA)).toMatchObject({ heartbeat: "1", attempt: 0 });
      },
    },
    {
      title: "details outlive the death of the runtime that gave them",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const task = await setup.leaseOneTask(BETA);
        await setup.provider.heartbeatTasks([{ task, details: "1" }]);
        await setup.provider.expireRuntime({ id: BETA, staleMs: null });
        const again = await setup.leaseOneTask(ALPHA, { allowSuspect: true });
        expect(again).toMatchObject({ heartbeat: "1", deaths: 1 });
      },
    },
    {
      title: "a claim that does not hold any more is told and changes nothing (K1)",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const old = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task: old, delayMs: 0, failure: "{}" });
        const task = await setup.leaseOneTask();
        const lost = await setup.provider.heartbeatTasks([
          { task: old, details: "late" },
          { task, details: "mine" },
        ]);
        expect(lost.map((claim) => claim.token)).toEqual([old.token]);
        await setup.commit({ kind: "retry", task, delayMs: 0, failure: "{}" });
        expect((await setup.leaseOneTask()).heartbeat).toBe("mine");
      },
    },
    {
      title: "a task that is over is told as lost",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const task = await setup.leaseOneTask();
        const outcome = outcomeText(task.sequence);
        await setup.commit({ kind: "completion", task, outcome });
        const lost = await setup.provider.heartbeatTasks([{ task, details: "1" }]);
        expect(lost).toHaveLength(1);
        expect(await setup.provider.heartbeatTasks([])).toEqual([]);
      },
    },
    {
      title: "progress shows in the task's record, the last one, and in no other's",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held);
        await setup.schedule(held);
        expect(await progressOf(setup, held)).toEqual([null, null]);
        const { tasks } = await setup.leaseTasks();
        const task = tasks.find(({ sequence }) => sequence === address.sequence);
        if (task === undefined) throw new Error("the first task was not leased");
        for (const progress of ["1", '{"done":2}']) {
          expect(await setup.provider.heartbeatTasks([{ task, progress }])).toEqual([]);
        }
        expect(await progressOf(setup, held)).toEqual(['{"done":2}', null]);
      },
    },
    {
      title: "details and progress are told apart: neither takes the other's place",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const task = await setup.leaseOneTask();
        await setup.provider.heartbeatTasks([{ task, details: "1", progress: "2" }]);
        await setup.provider.heartbeatTasks([{ task, progress: "3" }]);
        await setup.provider.heartbeatTasks([{ task, details: "4" }]);
        expect(await progressOf(setup, held)).toEqual(["3"]);
        await setup.commit({ kind: "retry", task, delayMs: 0, failure: "{}" });
        expect((await setup.leaseOneTask()).heartbeat).toBe("4");
      },
    },
    {
      title: "progress outlives a failed attempt, a hand-back and a death",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const first = await setup.leaseOneTask();
        await setup.provider.heartbeatTasks([{ task: first, progress: "1" }]);
        await setup.commit({ kind: "retry", task: first, delayMs: 0, failure: "{}" });
        const second = await setup.leaseOneTask();
        await setup.commit({ kind: "releaseTask", task: second });
        await setup.leaseOneTask(BETA);
        await setup.die(BETA);
        expect(await progressOf(setup, held)).toEqual(["1"]);
      },
    },
    {
      title: "progress of a claim that does not hold any more changes nothing (K1)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const old = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task: old, delayMs: 0, failure: "{}" });
        const lost = await setup.provider.heartbeatTasks([{ task: old, progress: "late" }]);
        expect(lost.map((claim) => claim.token)).toEqual([old.token]);
        expect(await progressOf(setup, held)).toEqual([null]);
      },
    },
    {
      title: "progress is told as news of its instance, once it is written; details are not (W1)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const task = await setup.leaseOneTask();
        const heard: string[] = [];
        const reads: Promise<unknown>[] = [];
        const unsubscribe = setup.provider.subscribe((news) => {
          heard.push(...(news.progressed ?? []), ...news.changed, ...news.due);
          reads.push(progressOf(setup, held));
        });
        await setup.provider.heartbeatTasks([{ task, details: "1" }]);
        await setup.environment.settle();
        expect(heard).toEqual([]);
        await setup.provider.heartbeatTasks([{ task, progress: "2" }]);
        await setup.environment.settle();
        unsubscribe();
        expect(heard).toEqual(["a"]);
        expect(await Promise.all(reads)).toEqual([["2"]]);
      },
    },
  ],
};
