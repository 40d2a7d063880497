// Contract of retries: a failed attempt returns its task to the queue with a delay (semantics 10,
// provider.tasks.4).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  claimOf,
  LEASE_LOST,
  outcomeText,
  sessionsOf,
  TASK_LEASE,
} from "../fixture.ts";

export const taskRetry: ContractSubject = {
  subject: "task retry",
  cases: [
    {
      title: "a failed attempt is not leased again before its delay has passed",
      async run(setup) {
        await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        const retry = { kind: "retry", task, delayMs: 2_000, failure: "{}" } as const;
        expect(await setup.commit(retry)).toEqual({ kind: "done" });
        await setup.environment.advance(1_999);
        await setup.leaseNoTask(ALPHA);
        await setup.environment.advance(1);
        expect(await setup.leaseOneTask(ALPHA)).toMatchObject({ attempt: 1, deaths: 0 });
      },
    },
    {
      title: "a failed attempt without a delay can be leased again at once",
      async run(setup) {
        await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task, delayMs: 0, failure: "{}" });
        expect(await setup.leaseOneTask()).toMatchObject({ attempt: 1 });
      },
    },
    {
      title: "every failed attempt is counted, and the task shows the last failure",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        for (let attempt = 0; attempt < 4; attempt++) {
          const task = await setup.leaseOneTask();
          expect(task.attempt).toBe(attempt);
          const failure = `{"message":"failure ${attempt}"}`;
          await setup.commit({ kind: "retry", task, delayMs: 100, failure });
          expect(await setup.provider.readTasks(held)).toMatchObject([
            {
              attempt: attempt + 1,
              lastFailure: failure,
              owner: null,
              suspect: false,
              availableAt: setup.environment.now() + 100,
            },
          ]);
          await setup.environment.advance(100);
        }
      },
    },
    {
      title: "the owner of a failed attempt does not lease the task again for avoidMs (10)",
      async run(setup) {
        await setup.holdTask("a");
        const task = await setup.leaseOneTask(ALPHA);
        await setup.commit({ kind: "retry", task, delayMs: 500, failure: "{}" });
        await setup.environment.advance(500);
        const now = setup.environment.now();
        expect(await setup.leaseTasks(ALPHA, { avoidMs: 1_000 })).toEqual({
          tasks: [],
          more: false,
          nextAt: now + 1_000,
        });
        await setup.environment.advance(999);
        await setup.leaseNoTask(ALPHA, { avoidMs: 1_000 });
        await setup.environment.advance(1);
        expect((await setup.leaseTasks(ALPHA, { avoidMs: 1_000 })).tasks).toHaveLength(1);
      },
    },
    {
      title:
        "another owner can lease a failed attempt at once, and so can the same owner without avoidMs",
      async run(setup) {
        await setup.holdTask("a");
        const first = await setup.leaseOneTask(ALPHA);
        await setup.commit({ kind: "retry", task: first, delayMs: 0, failure: "{}" });
        const { tasks } = await setup.leaseTasks(BETA, { avoidMs: 1_000 });
        expect(tasks).toHaveLength(1);
        const [second] = tasks;
        if (second === undefined) return;
        await setup.commit({ kind: "retry", task: second, delayMs: 0, failure: "{}" });
        await setup.leaseNoTask(BETA, { avoidMs: 1_000 });
        expect((await setup.leaseTasks(BETA)).tasks).toHaveLength(1);
      },
    },
    {
      title: "an avoided task does not hide other tasks, and a task of a session is not avoided",
      async run(setup) {
        const { held } = await setup.holdTask("a", { name: "ship", session: "s" });
        const request = { names: [CHARGE, "ship"], avoidMs: 1_000, sessions: sessionsOf(ALPHA) };
        const [bound] = (await setup.leaseTasks(ALPHA, request)).tasks;
        await setup.schedule(held);
        const plain = await setup.leaseOneTask(ALPHA);
        expect(bound).toMatchObject({ name: "ship" });
        if (bound === undefined) return;
        for (const task of [bound, plain]) {
          await setup.commit({ kind: "retry", task, delayMs: 0, failure: "{}" });
        }
        await setup.schedule(held);
        const { tasks } = await setup.leaseTasks(ALPHA, { ...request, limit: 2 });
        expect(tasks.map(({ name, attempt }) => `${name} ${attempt}`).toSorted()).toEqual([
          `${CHARGE} 0`,
          "ship 1",
        ]);
      },
    },
    {
      title: "a failed attempt sends no message to the instance (10)",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task, delayMs: 10, failure: "{}" });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "the claim of a failed attempt is lost, and its late outcome is refused",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task, delayMs: 10, failure: "{}" });
        const outcome = outcomeText(task.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual(LEASE_LOST);
        const again = { kind: "retry", task, delayMs: 10, failure: "{}" } as const;
        expect(await setup.commit(again)).toEqual(LEASE_LOST);
        expect(await setup.provider.readTasks(held)).toMatchObject([{ attempt: 1 }]);
        expect(await setup.provider.lostTasks([task])).toHaveLength(1);
      },
    },
    {
      title: "a retry with a wrong token is refused and not counted",
      async run(setup) {
        const { held, task: address } = await setup.holdTask("a", {
          lease: TASK_LEASE,
        });
        const task = claimOf(address, 78);
        const retry = { kind: "retry", task, delayMs: 10, failure: "{}" } as const;
        expect(await setup.commit(retry)).toEqual(LEASE_LOST);
        expect(await setup.provider.readTasks(held)).toMatchObject([
          { attempt: 0, owner: ALPHA, lastFailure: null },
        ]);
      },
    },
    {
      title: "a release keeps the number of attempts",
      async run(setup) {
        await setup.holdTask("a");
        const first = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task: first, delayMs: 0, failure: "{}" });
        const second = await setup.leaseOneTask();
        await setup.commit({ kind: "releaseTask", task: second });
        expect(await setup.leaseOneTask()).toMatchObject({ attempt: 1 });
      },
    },
    {
      title: "a lease call returns the time at which the next matching task becomes available",
      async run(setup) {
        const { held } = await setup.holdTask("a", { name: "foreign" });
        await setup.schedule(held);
        const [foreign] = (await setup.leaseTasks(BETA, { names: ["foreign"] })).tasks;
        const own = await setup.leaseOneTask();
        if (foreign === undefined)
          throw new Error("The task of the other runtime must be leased; got none.");
        const now = setup.environment.now();
        await setup.commit({ kind: "retry", task: foreign, delayMs: 1_000, failure: "{}" });
        await setup.commit({ kind: "retry", task: own, delayMs: 5_000, failure: "{}" });
        const waiting = await setup.leaseTasks();
        expect(waiting).toEqual({ tasks: [], more: false, nextAt: now + 5_000 });
      },
    },
    {
      title:
        "a retried task is ordered by the time at which it becomes available again (provider.tasks.2)",
      async run(setup) {
        const { held } = await setup.holdTask("a", { input: "retried" });
        const task = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task, delayMs: 1_000, failure: "{}" });
        await setup.environment.advance(500);
        await setup.schedule(held, { input: "later, available earlier" });
        await setup.environment.advance(600);
        const { tasks } = await setup.leaseTasks(BETA, { limit: 1 });
        expect(tasks[0]?.input).toBe("later, available earlier");
      },
    },
    {
      title: "a task can be cancelled while it waits for its next attempt",
      async run(setup) {
        const { held, task: address } = await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task, delayMs: 10, failure: "{}" });
        await setup.turn(held, { cancelledTasks: [address.sequence] });
        await setup.environment.advance(100);
        expect(await setup.leaseTasks()).toEqual({ tasks: [], more: false, nextAt: null });
      },
    },
  ],
};
