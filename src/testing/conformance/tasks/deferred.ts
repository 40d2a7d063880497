// Contract of deferred tasks: activities that wait for their completion from outside (provider.callbacks.3,
// provider.callbacks.4).

import { expect } from "vitest";
import { retryPolicy } from "../../../core/define/retry-policy.ts";
import { NEVER, type TaskCall, type TaskCallItem } from "../../../core/provider/callbacks.ts";
import type { LeasedTask, TaskAddress } from "../../../core/provider/tasks.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  claimOf,
  GAMMA,
  LEASE_LOST,
  refused,
  registration,
  terminateItem,
  type Held,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

const CLOSED = refused("CALLBACK_CLOSED");
const DONE = { kind: "done" } as const;
const FAILURE = '{"category":"application","name":"Error","message":"no","retryable":true}';

function callOf(held: Held, { sequence }: TaskAddress, call: TaskCall): TaskCallItem {
  const { id, runId, execution } = held;
  return { kind: "callTask", id, runId, execution, sequence, call };
}

function complete(held: Held, task: TaskAddress, output = '"done"'): TaskCallItem {
  return callOf(held, task, { kind: "complete", output });
}

function fail(held: Held, task: TaskAddress, attempt: number): TaskCallItem {
  const call = { kind: "fail", attempt, failure: FAILURE, retryAfterMs: null, random: 0 } as const;
  return callOf(held, task, call);
}

function heartbeat(held: Held, task: TaskAddress, attempt = 1): TaskCallItem {
  return callOf(held, task, { kind: "heartbeat", attempt });
}

const RETRYING = { options: { retry: retryPolicy({ attempts: 2 }) ?? fresh() } };

function fresh(): never {
  throw new Error("retryPolicy must return a policy for attempts.");
}

const ONE_DEATH = { attempt: 1, deaths: 1, suspect: false, deferred: "timeout" };

/**
 * All tasks lose a runtime. Then GAMMA leases them and defers the first one, whose time is over at the end. Returns
 * the tasks that still run.
 */
async function deferAfterDeath(setup: Setup, leaseMs?: number): Promise<readonly LeasedTask[]> {
  await setup.leaseTasks(ALPHA);
  await setup.die(ALPHA);
  await setup.provider.registerRuntime(registration({ id: GAMMA }));
  const { tasks } = await setup.leaseTasks(GAMMA, leaseMs === undefined ? {} : { leaseMs });
  const [task, ...running] = tasks;
  if (task === undefined) throw new Error("A task must be leased; got none.");
  await setup.commit({ kind: "defer", task, timeoutMs: 1_000 });
  await setup.environment.advance(1_000);
  return running;
}

export const deferred: ContractSubject = {
  subject: "deferred tasks",
  cases: [
    {
      title: "a deferred task has no owner, keeps its attempt and is leased when its time is over",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        expect(await setup.commit({ kind: "defer", task, timeoutMs: 2_000 })).toEqual(DONE);
        expect(await setup.provider.readTasks(held)).toMatchObject([
          {
            attempt: 0,
            owner: null,
            isDeferred: true,
            availableAt: setup.environment.now() + 2_000,
          },
        ]);
        await setup.environment.advance(1_999);
        await setup.leaseNoTask();
        await setup.environment.advance(1);
        const leased = await setup.leaseOneTask();
        expect(leased).toMatchObject({ attempt: 0, deaths: 0, deferred: "timeout" });
      },
    },
    {
      title: "a deferred task without a timeout is never leased",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        await setup.commit({ kind: "defer", task });
        const [record] = await setup.provider.readTasks(held);
        expect(record).toMatchObject({ isDeferred: true, availableAt: NEVER });
        const { nextAt } = await setup.provider.leaseTasks({
          ...{ owner: BETA, token: 5, limit: 1, names: [task.name] },
          ...({ tags: "any", sessions: null, allowSuspect: true } as const),
        });
        expect(nextAt).toBeNull();
      },
    },
    {
      title: "the earlier one of timeout and heartbeat ends the wait",
      async run(setup) {
        await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        await setup.commit({ kind: "defer", task, timeoutMs: 5_000, heartbeatMs: 1_000 });
        await setup.environment.advance(1_000);
        expect(await setup.leaseOneTask()).toMatchObject({ deferred: "heartbeat" });
      },
    },
    {
      title: "a lease that was lost cannot be deferred",
      async run(setup) {
        const { held, task } = await setup.holdTask("a");
        await setup.leaseOneTask();
        const stale = { kind: "defer", task: claimOf(task, 1) } as const;
        expect(await setup.commit(stale)).toEqual(LEASE_LOST);
        expect((await setup.provider.readTasks(held))[0]?.isDeferred).toBeUndefined();
      },
    },
    {
      title: "the death of a runtime does not touch a deferred task",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        const task = await setup.leaseOneTask(ALPHA);
        await setup.commit({ kind: "defer", task, timeoutMs: 1_000 });
        await setup.die(ALPHA);
        expect(await setup.provider.readTasks(held)).toMatchObject([
          { attempt: 0, isDeferred: true },
        ]);
      },
    },
    {
      title: "a runtime that dies while it records the timeout counts no attempt",
      async run(setup) {
        await setup.holdTask("a");
        const task = await setup.leaseOneTask(ALPHA);
        await setup.commit({ kind: "defer", task, timeoutMs: 1_000 });
        await setup.environment.advance(1_000);
        await setup.leaseOneTask(ALPHA);
        await setup.die(ALPHA);
        const again = await setup.leaseOneTask(BETA);
        expect(again).toMatchObject({ attempt: 0, deaths: 0, deferred: "timeout" });
      },
    },
    {
      title:
        "a runtime that dies while it records the timeout does not make the task a suspect (13)",
      async run(setup) {
        await setup.holdTask("a");
        await deferAfterDeath(setup);
        await setup.leaseOneTask(GAMMA);
        await setup.die(GAMMA);
        expect(await setup.leaseOneTask(BETA)).toMatchObject(ONE_DEATH);
      },
    },
    {
      title:
        "a runtime that loses its lease while it records the timeout does not make the task a suspect (13)",
      async run(setup) {
        await setup.holdTask("a");
        await deferAfterDeath(setup);
        await setup.leaseOneTask(GAMMA, { leaseMs: 500 });
        await setup.environment.advance(500);
        const again = await setup.leaseOneTask(BETA, { allowSuspect: true });
        expect(again).toMatchObject(ONE_DEATH);
      },
    },
    {
      title: "the death of a runtime counts for its task, although it also recorded a timeout (13)",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        await setup.schedule(held);
        const running = await deferAfterDeath(setup);
        await setup.leaseOneTask(GAMMA);
        await setup.die(GAMMA);
        const { tasks } = await setup.leaseTasks(BETA, { allowSuspect: true });
        const again = tasks.find(({ sequence }) => sequence === running[0]?.sequence);
        expect(again).toMatchObject({ attempt: 2, deaths: 2, suspect: true });
      },
    },
    {
      title: "an expired lease counts for its task, although its owner also records a timeout (13)",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        await setup.schedule(held);
        await deferAfterDeath(setup, 1_500);
        await setup.leaseOneTask(GAMMA);
        await setup.environment.advance(500);
        const again = await setup.leaseOneTask(BETA, { allowSuspect: true });
        expect(again).toMatchObject({ attempt: 2, deaths: 2, suspect: true });
      },
    },
    {
      title: "a retry makes a deferred task a plain one",
      async run(setup) {
        await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        await setup.commit({ kind: "defer", task, timeoutMs: 1_000 });
        await setup.environment.advance(1_000);
        const over = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task: over, delayMs: 0, failure: FAILURE });
        const next = await setup.leaseOneTask();
        expect(next.attempt).toBe(1);
        expect(next.deferred).toBeUndefined();
      },
    },
    {
      title: "a call from outside completes a deferred task, once",
      async run(setup) {
        const { held, task } = await setup.holdTask("a");
        const leased = await setup.leaseOneTask();
        await setup.commit({ kind: "defer", task: leased });
        expect(await setup.commit(complete(held, task))).toEqual(DONE);
        expect(await setup.commit(complete(held, task, '"other"'))).toEqual(DONE);
        expect(await setup.provider.readTasks(held)).toEqual([]);
        const due = await setup.due(held);
        expect(due).toMatchObject([{ kind: "activity", sequence: task.sequence }]);
        expect(JSON.parse(due[0]?.data ?? "")).toEqual({
          kind: "ActivityCompleted",
          scheduled: task.sequence,
          output: '"done"',
          attempts: 1,
        });
        await setup.complete(held);
        expect(await setup.commit(complete(held, task))).toEqual(DONE);
      },
    },
    {
      title: "a call from outside completes a task that a runtime holds; the runtime loses it",
      async run(setup) {
        const { held, task } = await setup.holdTask("a");
        const leased = await setup.leaseOneTask();
        expect(await setup.commit(complete(held, task))).toEqual(DONE);
        expect(await setup.provider.lostTasks([leased])).toHaveLength(1);
        expect(await setup.commit({ kind: "defer", task: leased })).toEqual(LEASE_LOST);
        expect(await setup.due(held)).toHaveLength(1);
      },
    },
    {
      title: "a failure from outside follows the retry policy of the call",
      async run(setup) {
        const { held, task } = await setup.holdTask("a", RETRYING);
        const leased = await setup.leaseOneTask();
        await setup.commit({ kind: "defer", task: leased });
        expect(await setup.commit(fail(held, task, 1))).toEqual(DONE);
        const [record] = await setup.provider.readTasks(held);
        expect(record).toMatchObject({ attempt: 1, lastFailure: FAILURE, owner: null });
        expect(record?.isDeferred).toBeUndefined();
        expect(await setup.commit(fail(held, task, 1))).toEqual(DONE); // a repetition
        expect((await setup.provider.readTasks(held))[0]?.attempt).toBe(1);
        expect(await setup.commit(fail(held, task, 2))).toEqual(DONE);
        expect(await setup.provider.readTasks(held)).toEqual([]);
        const due = await setup.due(held);
        expect(JSON.parse(due[0]?.data ?? "")).toMatchObject({
          kind: "ActivityFailed",
          attempts: 2,
          failure: { message: "no" },
        });
        expect(await setup.commit(fail(held, task, 2))).toEqual(DONE); // a repetition
        expect(await setup.commit(fail(held, task, 1))).toEqual(CLOSED);
        expect(await setup.commit(complete(held, task))).toEqual(CLOSED);
        expect(await setup.due(held)).toHaveLength(1);
      },
    },
    {
      title: "a heartbeat from outside moves the end of the wait, at most to the timeout",
      async run(setup) {
        const options = { timeoutMs: 3_000, heartbeatTimeoutMs: 2_000 };
        const { held, task } = await setup.holdTask("a", { options });
        const leased = await setup.leaseOneTask();
        const left = { timeoutMs: 3_000, heartbeatMs: 2_000 };
        await setup.commit({ kind: "defer", task: leased, ...left });
        const availableAt = async () => (await setup.provider.readTasks(held))[0]?.availableAt;
        const begun = setup.environment.now();
        await setup.environment.advance(500);
        expect(await setup.commit(heartbeat(held, task))).toEqual(DONE);
        expect(await availableAt()).toBe(begun + 2_500);
        await setup.environment.advance(1_500);
        await setup.commit(heartbeat(held, task));
        expect(await availableAt()).toBe(begun + 3_000);
        await setup.environment.advance(1_000);
        expect(await setup.leaseOneTask()).toMatchObject({ deferred: "timeout" });
      },
    },
    {
      title: "a heartbeat of an earlier attempt changes nothing",
      async run(setup) {
        const options = { heartbeatTimeoutMs: 2_000 };
        const { held, task } = await setup.holdTask("a", { options });
        const leased = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task: leased, delayMs: 0, failure: FAILURE });
        const second = await setup.leaseOneTask();
        await setup.commit({ kind: "defer", task: second, heartbeatMs: 1_000 });
        const [before] = await setup.provider.readTasks(held);
        await setup.environment.advance(500);
        expect(await setup.commit(heartbeat(held, task, 1))).toEqual(DONE);
        expect((await setup.provider.readTasks(held))[0]).toEqual(before);
      },
    },
    {
      title:
        "a call for a cancelled task, another run, another execution or an ended instance is refused",
      async run(setup) {
        const { held, task } = await setup.holdTask("a");
        const leased = await setup.leaseOneTask();
        await setup.commit({ kind: "defer", task: leased });
        expect(await setup.commit({ ...complete(held, task), runId: "other" })).toEqual(CLOSED);
        expect(await setup.commit({ ...complete(held, task), execution: 2 })).toEqual(CLOSED);
        expect(await setup.commit({ ...complete(held, task), id: "missing" })).toEqual(CLOSED);
        await setup.turn(held, { cancelledTasks: [task.sequence] });
        expect(await setup.commit(complete(held, task))).toEqual(CLOSED);
        const other = await setup.holdTask("b");
        await setup.commit(terminateItem("b"));
        expect(await setup.commit(complete(other.held, other.task))).toEqual(CLOSED);
        expect(await setup.commit(heartbeat(other.held, other.task))).toEqual(CLOSED);
        expect(await setup.commit(fail(other.held, other.task, 1))).toEqual(CLOSED);
      },
    },
    {
      title: "settle finds a completion and a final failure that were written",
      async run(setup) {
        const { held, task } = await setup.holdTask("a");
        const leased = await setup.leaseOneTask();
        const defer = { kind: "defer", task: leased } as const;
        expect(await setup.provider.settle(defer)).toBeNull();
        await setup.commit(defer);
        expect(await setup.provider.settle(defer)).toEqual(DONE);
        expect(await setup.provider.settle(complete(held, task))).toBeNull();
        await setup.commit(complete(held, task));
        expect(await setup.provider.settle(complete(held, task))).toEqual(DONE);
        const other = await setup.holdTask("b");
        await setup.commit(fail(other.held, other.task, 1));
        expect(await setup.provider.settle(fail(other.held, other.task, 1))).toEqual(DONE);
        expect(await setup.provider.settle(complete(other.held, other.task))).toBeNull();
      },
    },
  ],
};
