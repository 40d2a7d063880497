// Contract of the slots of queues: concurrency and limits per key.

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, BETA, CHARGE, claimOf, fresh, sessionsOf, TASK_LEASE } from "../fixture.ts";
import {
  BOTH,
  completeAll,
  one,
  queueKeys,
  retry,
  rule,
  SHIP,
  take,
  takeKeys,
  times,
} from "./queue-steps.ts";

export const queueConcurrency: ContractSubject = {
  subject: "concurrency of queues",
  cases: [
    {
      title: "a task is leased with its key (provider.queues.2)",
      async run(setup) {
        await setup.holdTask("a", { queueKey: "tenant" });
        await setup.holdTask("b");
        const [keyed, plain] = await take(setup, 2);
        expect(keyed?.queueKey).toBe("tenant");
        expect(plain).not.toHaveProperty("queueKey");
        expect(keyed).not.toHaveProperty("admittedUntil");
      },
    },
    {
      title:
        "at most `concurrency` tasks are leased at a time, over all owners (provider.queues.2)",
      async run(setup) {
        await rule(setup, { concurrency: 3 });
        await setup.holdTasks("a", 10);
        const at = setup.environment.now();
        const first = await setup.leaseTasks(ALPHA, { limit: 2 });
        expect(first.tasks).toHaveLength(2);
        expect(first.more).toBe(true);
        const second = await setup.leaseTasks(BETA, { limit: 10 });
        expect(second.tasks).toHaveLength(1);
        expect(second).toMatchObject({ more: false, nextAt: at + 50 });
        await setup.leaseNoTask(ALPHA);
        await completeAll(setup, first.tasks);
        expect(await take(setup, 10)).toHaveLength(2);
      },
    },
    {
      title: "concurrent requests of several owners do not exceed the limit (provider.queues.2)",
      needs: ["reopen"],
      async run(setup) {
        await rule(setup, { concurrency: 5 });
        await setup.holdTasks("a", 40);
        const other = await setup.another();
        const request = { limit: 2, names: [CHARGE], tags: "any", sessions: null } as const;
        const results = await setup.drive(
          Promise.all(
            times(5, [setup.provider, other])
              .flat()
              .map((provider, index) =>
                provider.leaseTasks({
                  ...request,
                  owner: index % 2 === 0 ? ALPHA : BETA,
                  token: fresh(),
                  allowSuspect: false,
                }),
              ),
          ),
        );
        expect(results.flatMap(({ tasks }) => tasks)).toHaveLength(5);
      },
    },
    {
      title:
        "a retry, a release and the death of a worker free their slots, and a retry that waits holds none (provider.queues.2)",
      async run(setup) {
        await rule(setup, { concurrency: 1 });
        await setup.holdTasks("a", 3);
        const task = await one(setup);
        await setup.leaseNoTask();
        await retry(setup, task, 60_000);
        const next = await one(setup);
        await setup.leaseNoTask();
        expect(await setup.commit({ kind: "releaseTask", task: next })).toEqual({ kind: "done" });
        expect(await one(setup)).toMatchObject({ sequence: next.sequence });
        await setup.leaseNoTask(ALPHA);
        await setup.die(BETA);
        expect((await setup.leaseTasks(ALPHA)).tasks).toHaveLength(1);
        await setup.leaseNoTask(ALPHA);
      },
    },
    {
      title:
        "a deferred task holds its slot, and its timeout needs no further one (provider.queues.2)",
      async run(setup) {
        await rule(setup, { concurrency: 1, rate: { count: 100, perMs: 1_000 } });
        await setup.holdTasks("a", 2);
        const task = await one(setup);
        expect(await setup.commit({ kind: "defer", task, timeoutMs: 5_000 })).toEqual({
          kind: "done",
        });
        await setup.leaseNoTask();
        await setup.environment.advance(5_000);
        const [late, ...none] = await take(setup, 10);
        expect(none).toEqual([]);
        expect(late).toMatchObject({ sequence: task.sequence, deferred: "timeout" });
        expect(late).not.toHaveProperty("admittedUntil");
        if (late === undefined) return;
        await setup.commit({ kind: "releaseTask", task: late });
        expect((await one(setup)).sequence).toBe(task.sequence);
      },
    },
    {
      title: "a task that was leased before the rule counts (provider.queues.2)",
      async run(setup) {
        const { task } = await setup.holdTask("a", { lease: TASK_LEASE });
        await setup.holdTasks("b", 3);
        await one(setup);
        await rule(setup, { concurrency: 3 });
        expect(await take(setup, 10)).toHaveLength(1);
        await setup.commit({ kind: "releaseTask", task: claimOf(task) });
        expect(await take(setup, 10)).toHaveLength(1);
      },
    },
    {
      title: "a task that a turn inserts with a lease counts (provider.queues.7)",
      async run(setup) {
        await rule(setup, { concurrency: 2 });
        await setup.holdTask("a", { lease: TASK_LEASE });
        await setup.holdTasks("b", 3);
        expect(await take(setup, 10)).toHaveLength(1);
      },
    },
    {
      title: "a new rule counts from the next request on (provider.queues.1)",
      async run(setup) {
        await rule(setup, { concurrency: 1 });
        await setup.holdTasks("a", 10);
        await one(setup);
        await setup.leaseNoTask();
        await rule(setup, { concurrency: 4 });
        expect(await take(setup, 10)).toHaveLength(3);
        await rule(setup, null);
        expect(await take(setup, 10)).toHaveLength(6);
      },
    },
    {
      title: "tasks that a limit holds back do not hold back other names (provider.queues.5)",
      async run(setup) {
        await rule(setup, { concurrency: 1 });
        await setup.holdTasks("a", 20);
        await setup.holdTasks("b", 3, () => ({ name: SHIP }));
        const { tasks } = await setup.leaseTasks(BETA, { names: BOTH, limit: 10 });
        expect(tasks.map(({ name }) => name)).toEqual([CHARGE, SHIP, SHIP, SHIP]);
      },
    },
    {
      title: "tasks with and without rules are leased in one order (provider.tasks.2)",
      async run(setup) {
        await rule(setup, { concurrency: 10 });
        const held = await setup.hold("a");
        for (const name of [SHIP, CHARGE, SHIP, CHARGE]) {
          await setup.schedule(held, { name });
          await setup.environment.advance(1);
        }
        await setup.schedule(held, { name: CHARGE, priority: 1 });
        const { tasks, more } = await setup.leaseTasks(BETA, { names: BOTH, limit: 4 });
        expect(tasks.map(({ sequence }) => sequence)).toEqual([6, 2, 3, 4]);
        expect(more).toBe(true);
      },
    },
    {
      title: "tasks with a session and tasks with tags are limited too (provider.queues.2)",
      async run(setup) {
        await rule(setup, { concurrency: 2 });
        await setup.holdTasks("a", 2, () => ({ session: "s" }));
        await setup.holdTasks("b", 2, () => ({ tags: ["gpu"] }));
        await setup.leaseNoTask(BETA, { tags: "untagged" });
        const fields = { tags: { tags: ["gpu"], untagged: true }, sessions: sessionsOf(BETA) };
        const { tasks } = await setup.leaseTasks(BETA, fields);
        expect(tasks.map(({ session, tags }) => [session, tags])).toEqual([
          ["s", null],
          ["s", null],
        ]);
        await completeAll(setup, tasks.slice(0, 1));
        expect((await setup.leaseTasks(BETA, fields)).tasks[0]?.tags).toEqual(["gpu"]);
      },
    },
    {
      title:
        "a task with an expired lease keeps its slot when another worker takes it over (provider.queues.2)",
      async run(setup) {
        await rule(setup, { concurrency: 1 });
        await setup.holdTasks("a", 2);
        const { tasks } = await setup.leaseTasks(ALPHA, { leaseMs: 1_000 });
        expect(tasks).toHaveLength(1);
        await setup.environment.advance(1_000);
        const taken = await setup.leaseTasks(BETA, { allowSuspect: true });
        expect(taken.tasks.map(({ sequence }) => sequence)).toEqual([tasks[0]?.sequence]);
        await setup.leaseNoTask();
      },
    },
  ],
};

export const queueKeyLimits: ContractSubject = {
  subject: "limits per key of queues",
  cases: [
    {
      title: "at most `perKey` tasks of one key are leased at a time (provider.queues.2)",
      async run(setup) {
        await rule(setup, { perKey: 2 });
        await queueKeys(setup, "a", ["x", "x", "x", "y", "x", "y", "y"]);
        const tasks = await take(setup, 10);
        expect(tasks.map(({ queueKey }) => queueKey)).toEqual(["x", "x", "y", "y"]);
        const { nextAt, more } = await setup.leaseTasks();
        expect({ nextAt, more }).toEqual({ nextAt: setup.environment.now() + 50, more: false });
        await completeAll(setup, tasks.slice(0, 1));
        expect(await takeKeys(setup, 10)).toEqual(["x"]);
      },
    },
    {
      title: "tasks without a key share the empty key (provider.queues.2)",
      async run(setup) {
        await rule(setup, { perKey: 1 });
        await setup.holdTasks("a", 3);
        await queueKeys(setup, "b", ["", "x"]);
        expect(await takeKeys(setup, 10)).toEqual(["", "x"]);
      },
    },
    {
      title: "a limit per key and `concurrency` both hold (provider.queues.2)",
      async run(setup) {
        await rule(setup, { perKey: 2, concurrency: 3 });
        await queueKeys(setup, "a", ["x", "x", "x", "y", "y", "z"]);
        expect(await takeKeys(setup, 10)).toEqual(["x", "x", "y"]);
      },
    },
    {
      title:
        "many tasks of a key that is full do not hold back tasks of other keys (provider.queues.5)",
      async run(setup) {
        await rule(setup, { perKey: 1 });
        await queueKeys(setup, "a", times(600, "x"));
        await setup.environment.advance(1);
        await queueKeys(setup, "b", ["y", "z", "y"]);
        expect(await takeKeys(setup, 10)).toEqual(["x", "y", "z"]);
        expect(await takeKeys(setup, 10)).toEqual([]);
      },
    },
    {
      title: "many keys behind a full key are served in the end (provider.queues.5)",
      async run(setup) {
        await rule(setup, { perKey: 1 });
        await queueKeys(setup, "a", times(260, "x"));
        const keys = Array.from({ length: 530 }, (_, index) => `k${index}`);
        await setup.environment.advance(1);
        await queueKeys(setup, "b", keys);
        const served = new Set<string>();
        for (let request = 0; request < 12; request += 1) {
          for (const key of await takeKeys(setup, 100)) served.add(key);
        }
        expect(served).toEqual(new Set(["x", ...keys]));
      },
    },
  ],
};
