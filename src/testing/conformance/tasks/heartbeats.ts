// Contract of heartbeats: a running attempt stores details for the next attempt and progress for clients
// (semantics 11).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, BETA, type Held, outcomeText } from "../fixture.ts";
import type { Setup } from "../setup.ts";

async function progressOf(setup: Setup, held: Held): Promise<readonly (string | null)[]> {
  const { key, execution } = held;
  const tasks = await setup.provider.readTasks({ key, execution });
  return tasks.map(({ progress }) => progress);
}

export const heartbeats: ContractSubject = {
  subject: "heartbeats",
  cases: [
    {
      title: "the first attempt of a task is leased without details",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        expect((await setup.leaseOneTask()).heartbeat).toBeNull();
      },
    },
    {
      title: "the next attempt receives the last details",
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
      title: "details in a retry replace the stored details",
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
      title: "an attempt without details keeps the details of the previous attempt",
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
      title: "details are kept when a task is released",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        const task = await setup.leaseOneTask();
        await setup.provider.heartbeatTasks([{ task, details: "1" }]);
        await setup.commit({ kind: "releaseTask", task });
        expect(await setup.leaseOneTask(ALPHA)).toMatchObject({ heartbeat: "1", attempt: 0 });
      },
    },
    {
      title: "details are kept when their runtime is declared dead",
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
      title:
        "a heartbeat with a lost claim is returned as lost and changes nothing (provider.tasks.1)",
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
      title: "a heartbeat of a completed task is returned as lost",
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
      title: "a task record shows the last progress of that task only",
      async run(setup) {
        const { held, task: address } = await setup.holdTask("a");
        await setup.schedule(held);
        expect(await progressOf(setup, held)).toEqual([null, null]);
        const { tasks } = await setup.leaseTasks();
        const task = tasks.find(({ sequence }) => sequence === address.sequence);
        if (task === undefined) throw new Error("The first task must be leased; got none.");
        for (const progress of ["1", '{"done":2}']) {
          expect(await setup.provider.heartbeatTasks([{ task, progress }])).toEqual([]);
        }
        expect(await progressOf(setup, held)).toEqual(['{"done":2}', null]);
      },
    },
    {
      title: "details and progress are stored separately",
      async run(setup) {
        const { held } = await setup.holdTask("a");
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
      title: "progress is kept after a failed attempt, a release and a death",
      async run(setup) {
        const { held } = await setup.holdTask("a");
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
      title: "progress with a lost claim changes nothing (provider.tasks.1)",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        const old = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task: old, delayMs: 0, failure: "{}" });
        const lost = await setup.provider.heartbeatTasks([{ task: old, progress: "late" }]);
        expect(lost.map((claim) => claim.token)).toEqual([old.token]);
        expect(await progressOf(setup, held)).toEqual([null]);
      },
    },
    {
      title:
        "progress sends a notification for its instance after it is written, and details send none (notifications.1)",
      async run(setup) {
        const { held } = await setup.holdTask("a");
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
