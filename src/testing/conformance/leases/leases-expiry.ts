// Contract of expiring leases: a lease with a duration expires by the store's clock unless it is renewed
// (I3, provider.instances.3, provider.1).

import { expect } from "vitest";
import type { LeasedInstance } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  claimOf,
  fresh,
  heldFrom,
  LEASE_LOST,
  outcomeText,
  sendItem,
  TASK_LEASE,
  VERSION,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

const YEAR_MS = 365 * 86_400_000;

/** The lease of instance "a" expires after a second, and not a millisecond earlier. */
async function instanceExpires(setup: Setup): Promise<LeasedInstance> {
  await setup.environment.advance(999);
  await setup.leaseNothing(BETA, { allowSuspect: true });
  await setup.environment.advance(1);
  return setup.leaseSuspect("a");
}

/** The lease of the only task expires after a second, and not a millisecond earlier. */
async function taskExpires(setup: Setup): Promise<void> {
  await setup.environment.advance(999);
  await setup.leaseNoTask(BETA, { allowSuspect: true });
  await setup.environment.advance(1);
  await setup.leaseOneTask(BETA, { allowSuspect: true });
}

export const leasesExpiry: ContractSubject = {
  subject: "lease expiry",
  cases: [
    {
      title: "an instance lease expires exactly at its end, not a millisecond earlier",
      async run(setup) {
        await setup.start("a");
        await setup.leaseOnly("a", ALPHA, { leaseMs: 1_000 });
        const taken = await instanceExpires(setup);
        expect(taken.fresh).toBe(true);
        expect(taken.messages).toHaveLength(1);
      },
    },
    {
      title: "a task lease expires exactly at its end, not a millisecond earlier",
      async run(setup) {
        await setup.holdTask("a");
        await setup.leaseOneTask(ALPHA, { leaseMs: 1_000 });
        await taskExpires(setup);
      },
    },
    {
      title: "the lease of an instance that is created leased expires after its duration",
      async run(setup) {
        const lease = { owner: ALPHA, token: fresh(), leaseMs: 1_000 };
        await setup.start("a", { lease });
        await instanceExpires(setup);
      },
    },
    {
      title:
        "a lease without a duration lasts as long as its owner is registered (provider.runtimes.1)",
      async run(setup) {
        await setup.start("a");
        await setup.leaseOnly("a", ALPHA);
        await setup.environment.advance(YEAR_MS);
        await setup.leaseNothing(BETA, { allowSuspect: true });
      },
    },
    {
      title: "the duration of a renewed lease starts again at the renewal",
      async run(setup) {
        await setup.start("a");
        const { key, token } = await setup.leaseOnly("a", ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(900);
        expect(await setup.provider.renewInstances([{ key, token }], 1_000)).toEqual([]);
        await instanceExpires(setup);
      },
    },
    {
      title: "a renewal returns the lost leases and renews the others",
      async run(setup) {
        const kept = await setup.hold("kept", { leaseMs: 1_000 });
        const lost = await setup.hold("lost", { leaseMs: 1_000 });
        const { key, token } = lost;
        await setup.commit({ kind: "releaseInstance", key, token });
        const result = await setup.provider.renewInstances([kept, lost], 5_000);
        expect(result).toEqual([lost.key]);
        await setup.commit(sendItem({ id: "kept" }));
        await setup.environment.advance(4_000);
        await setup.leaseNothing(BETA, { allowSuspect: true });
      },
    },
    {
      title: "a lease cannot be renewed after another runtime has taken over the instance",
      async run(setup) {
        const old = await setup.hold("a", { leaseMs: 1_000 });
        await setup.commit(sendItem({ id: "a" }));
        await setup.environment.advance(1_001);
        const taken = heldFrom(await setup.leaseOnly("a", BETA, { leaseMs: 1_000 }));
        expect(await setup.provider.renewInstances([old], 60_000)).toEqual([old.key]);
        await setup.environment.advance(1_001);
        const again = await setup.leaseSuspect("a", ALPHA);
        expect(again.token).not.toBe(taken.token);
      },
    },
    {
      title: "a renewal does not add a duration to a lease without one",
      async run(setup) {
        const held = await setup.hold("a");
        expect(await setup.provider.renewInstances([held], 1_000)).toEqual([]);
        await setup.commit(sendItem({ id: "a" }));
        await setup.environment.advance(10_000);
        await setup.leaseNothing(BETA, { allowSuspect: true });
      },
    },
    {
      title: "a renewal of an empty list returns no lost lease",
      async run(setup) {
        expect(await setup.provider.renewInstances([], 1_000)).toEqual([]);
        expect(await setup.provider.renewTasks([], 1_000)).toEqual([]);
      },
    },
    {
      title: "other runtimes can lease a task that was created leased after its lease has expired",
      async run(setup) {
        await setup.holdTask("a", { lease: { owner: ALPHA, token: 77, leaseMs: 1_000 } });
        await taskExpires(setup);
      },
    },
    {
      title: "a task lease without a duration does not expire",
      async run(setup) {
        await setup.holdTask("a");
        await setup.leaseOneTask(ALPHA);
        await setup.environment.advance(YEAR_MS);
        await setup.leaseNoTask(BETA, { allowSuspect: true });
      },
    },
    {
      title: "the duration of a renewed task lease starts again at the renewal",
      async run(setup) {
        await setup.holdTask("a");
        const task = await setup.leaseOneTask(ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(900);
        const claim = claimOf(task, task.token);
        expect(await setup.provider.renewTasks([claim], 1_000)).toEqual([]);
        await taskExpires(setup);
      },
    },
    {
      title: "a renewal returns the lost tasks: cancelled, finished or leased again",
      async run(setup) {
        const { held, task: kept } = await setup.holdTask("a", {
          lease: { owner: ALPHA, token: 71, leaseMs: 1_000 },
        });
        const cancelled = await setup.schedule(held, { lease: { owner: ALPHA, token: 72 } });
        const done = await setup.schedule(held, { lease: { owner: ALPHA, token: 73 } });
        await setup.turn(held, { cancelledTasks: [cancelled.sequence] });
        const outcome = outcomeText(done.sequence);
        await setup.commit({ kind: "completion", task: claimOf(done, 73), outcome });
        const lost = await setup.provider.renewTasks(
          [claimOf(kept, 71), claimOf(cancelled, 72), claimOf(done, 73), claimOf(kept, 79)],
          5_000,
        );
        expect(lost.map((claim) => claim.token).toSorted()).toEqual([72, 73, 79]);
      },
    },
    {
      title: "after a takeover, only the new owner can complete the task (I7)",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        const old = await setup.leaseOneTask(ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(1_001);
        const task = await setup.leaseOneTask(BETA, { allowSuspect: true });
        expect(task.token).not.toBe(old.token);
        const outcome = outcomeText(task.sequence);
        expect(await setup.commit({ kind: "completion", task: old, outcome })).toEqual(LEASE_LOST);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({ kind: "done" });
        expect(await setup.provider.readInbox(held.key)).toHaveLength(1);
      },
    },
    {
      title:
        "a task with an expired lease can be completed until another runtime takes it over (I2)",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        const task = await setup.leaseOneTask(ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(60_000);
        const outcome = outcomeText(task.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({ kind: "done" });
        expect(await setup.provider.readInbox(held.key)).toHaveLength(1);
      },
    },
    {
      title: "a request for other tasks does not take over a task with an expired lease (I2)",
      async run(setup) {
        await setup.holdTask("a");
        const task = await setup.leaseOneTask(ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(60_000);
        await setup.leaseNoTask(BETA, { names: ["another"] });
        expect(await setup.provider.lostTasks([task])).toEqual([]);
        const outcome = outcomeText(task.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({ kind: "done" });
      },
    },
    {
      title:
        "a request for other targets does not take over an instance with an expired lease (I2)",
      async run(setup) {
        const held = await setup.hold("a", { leaseMs: 1_000 });
        await setup.commit(sendItem({ id: "a" }));
        await setup.environment.advance(60_000);
        await setup.leaseNothing(BETA, { targets: ["another"] });
        expect(await setup.provider.renewInstances([held], 1_000)).toEqual([]);
        await setup.turn(held);
      },
    },
    {
      title:
        "the owner of an expired lease receives new messages under its old token, alongside other instances",
      async run(setup) {
        const held = await setup.hold("a", { leaseMs: 1_000 });
        await setup.commit(sendItem({ id: "a" }));
        await setup.start("b", { version: VERSION });
        await setup.environment.advance(60_000);
        const { instances } = await setup.lease(ALPHA, { limit: 2 });
        const [first, second] = instances.toSorted((a, b) => (a.id < b.id ? -1 : 1));
        expect(first).toMatchObject({ id: "a", fresh: false, token: held.token });
        expect(second).toMatchObject({ id: "b", fresh: true });
        await setup.turn(held);
      },
    },
    {
      title: "a renewal does not add a duration to a task lease without one",
      async run(setup) {
        const { task } = await setup.holdTask("a", { lease: TASK_LEASE });
        expect(await setup.provider.renewTasks([claimOf(task)], 1_000)).toEqual([]);
        await setup.environment.advance(10_000);
        await setup.leaseNoTask(BETA, { allowSuspect: true });
      },
    },
  ],
};
