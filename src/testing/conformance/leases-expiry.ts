// Leases with a time: they end by themselves unless renewed, by the store's clock (I3, N3, S1).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import {
  ALPHA,
  BETA,
  claimOf,
  fresh,
  heldFrom,
  outcomeText,
  sendItem,
  VERSION,
} from "./fixture.ts";

const YEAR_MS = 365 * 86_400_000;
const REFUSED = { kind: "refused", code: "LEASE_LOST" };

export const leasesExpiry: ContractSubject = {
  subject: "lease expiry",
  cases: [
    {
      title: "a lease with a time keeps others out until it is over, and no longer",
      async run(setup) {
        await setup.start("a");
        await setup.leaseOnly("a", ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(999);
        await setup.leaseNothing(BETA, { allowSuspect: true });
        await setup.environment.advance(2);
        const taken = await setup.leaseOnly("a", BETA, { allowSuspect: true });
        expect(taken.fresh).toBe(true);
        expect(taken.messages).toHaveLength(1);
      },
    },
    {
      title: "a lease that is born with a time ends by itself",
      async run(setup) {
        const lease = { owner: ALPHA, token: fresh(), leaseMs: 1_000 };
        await setup.start("a", { lease });
        await setup.environment.advance(999);
        await setup.leaseNothing(BETA, { allowSuspect: true });
        await setup.environment.advance(2);
        await setup.leaseOnly("a", BETA, { allowSuspect: true });
      },
    },
    {
      title: "a lease without a time lasts as long as its owner's row (V1)",
      async run(setup) {
        await setup.start("a");
        await setup.leaseOnly("a", ALPHA);
        await setup.environment.advance(YEAR_MS);
        await setup.leaseNothing(BETA, { allowSuspect: true });
      },
    },
    {
      title: "a renewed lease lasts its time from the renewal on",
      async run(setup) {
        await setup.start("a");
        const { key, token } = await setup.leaseOnly("a", ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(900);
        expect(await setup.provider.renewInstances([{ key, token }], 1_000)).toEqual([]);
        await setup.environment.advance(999);
        await setup.leaseNothing(BETA, { allowSuspect: true });
        await setup.environment.advance(2);
        await setup.leaseOnly("a", BETA, { allowSuspect: true });
      },
    },
    {
      title: "a renewal names the leases that were lost, and renews the others",
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
      title: "a lease that another runtime has taken cannot be renewed",
      async run(setup) {
        const old = await setup.hold("a", { leaseMs: 1_000 });
        await setup.commit(sendItem({ id: "a" }));
        await setup.environment.advance(1_001);
        const taken = heldFrom(await setup.leaseOnly("a", BETA, { leaseMs: 1_000 }));
        expect(await setup.provider.renewInstances([old], 60_000)).toEqual([old.key]);
        await setup.environment.advance(1_001);
        const again = await setup.leaseOnly("a", ALPHA, { allowSuspect: true });
        expect(again.token).not.toBe(taken.token);
      },
    },
    {
      title: "a renewal gives no time to a lease that has none",
      async run(setup) {
        const held = await setup.hold("a");
        expect(await setup.provider.renewInstances([held], 1_000)).toEqual([]);
        await setup.commit(sendItem({ id: "a" }));
        await setup.environment.advance(10_000);
        await setup.leaseNothing(BETA, { allowSuspect: true });
      },
    },
    {
      title: "renewing nothing loses nothing",
      async run(setup) {
        expect(await setup.provider.renewInstances([], 1_000)).toEqual([]);
        expect(await setup.provider.renewTasks([], 1_000)).toEqual([]);
      },
    },
    {
      title: "a task's lease with a time keeps others out until it is over, and no longer",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        await setup.leaseOneTask(ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(999);
        expect((await setup.leaseTasks(BETA, { allowSuspect: true })).tasks).toEqual([]);
        await setup.environment.advance(2);
        expect((await setup.leaseTasks(BETA, { allowSuspect: true })).tasks).toHaveLength(1);
      },
    },
    {
      title: "a task that is born leased with a time is there for others when it is over",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { lease: { owner: ALPHA, token: 77, leaseMs: 1_000 } });
        await setup.environment.advance(999);
        expect((await setup.leaseTasks(BETA, { allowSuspect: true })).tasks).toEqual([]);
        await setup.environment.advance(2);
        expect((await setup.leaseTasks(BETA, { allowSuspect: true })).tasks).toHaveLength(1);
      },
    },
    {
      title: "a task's lease without a time does not run out",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        await setup.leaseOneTask(ALPHA);
        await setup.environment.advance(YEAR_MS);
        expect((await setup.leaseTasks(BETA, { allowSuspect: true })).tasks).toEqual([]);
      },
    },
    {
      title: "a task's renewed lease lasts its time from the renewal on",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const task = await setup.leaseOneTask(ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(900);
        const claim = claimOf(task, task.token);
        expect(await setup.provider.renewTasks([claim], 1_000)).toEqual([]);
        await setup.environment.advance(999);
        expect((await setup.leaseTasks(BETA, { allowSuspect: true })).tasks).toEqual([]);
        await setup.environment.advance(2);
        expect((await setup.leaseTasks(BETA, { allowSuspect: true })).tasks).toHaveLength(1);
      },
    },
    {
      title: "a renewal names the tasks that were lost: cancelled, finished or taken over",
      async run(setup) {
        const held = await setup.hold("a");
        const kept = await setup.schedule(held, {
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
      title: "a task that was taken over is completed by its new owner alone (I7)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const old = await setup.leaseOneTask(ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(1_001);
        const task = await setup.leaseOneTask(BETA, { allowSuspect: true });
        expect(task.token).not.toBe(old.token);
        const outcome = outcomeText(task.sequence);
        expect(await setup.commit({ kind: "completion", task: old, outcome })).toEqual(REFUSED);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({ kind: "done" });
        expect(await setup.provider.readInbox(held.key)).toHaveLength(1);
      },
    },
    {
      title: "a task whose lease ran out and that nobody took still completes (I2)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const task = await setup.leaseOneTask(ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(60_000);
        const outcome = outcomeText(task.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({ kind: "done" });
        expect(await setup.provider.readInbox(held.key)).toHaveLength(1);
      },
    },
    {
      title: "a task whose lease ran out is lost to whoever takes it, not to those who ask (I2)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const task = await setup.leaseOneTask(ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(60_000);
        expect((await setup.leaseTasks(BETA, { names: ["another"] })).tasks).toEqual([]);
        expect(await setup.provider.lostTasks([task])).toEqual([]);
        const outcome = outcomeText(task.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({ kind: "done" });
      },
    },
    {
      title:
        "an instance whose lease ran out is lost to whoever takes it, not to those who ask (I2)",
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
        "a lease of the caller's own that ran out is news under its old token, and hides nobody",
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
      title: "a renewal gives no time to a task's lease that has none",
      async run(setup) {
        const held = await setup.hold("a");
        const task = await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
        expect(await setup.provider.renewTasks([claimOf(task, 77)], 1_000)).toEqual([]);
        await setup.environment.advance(10_000);
        expect((await setup.leaseTasks(BETA, { allowSuspect: true })).tasks).toEqual([]);
      },
    },
  ],
};
