// Suspects: tasks whose owners died twice while they held them (semantics 13, K4).

import { expect } from "vitest";
import type { LeasedTask, RetryItem } from "../../core/provider/index.ts";
import type { ContractSubject } from "./contract-case.ts";
import { ALPHA, BETA, eventText, GAMMA, outcomeText, registration } from "./fixture.ts";
import type { Setup } from "./setup.ts";

/** Tasks of an instance of BETA's that ALPHA and then another hold and die with. */
async function suspects(setup: Setup, count: number): Promise<number[]> {
  const held = await setup.hold("a", { owner: BETA });
  const sequences: number[] = [];
  for (let i = 0; i < count; i++) sequences.push((await setup.schedule(held)).sequence);
  expect((await setup.leaseTasks(ALPHA)).tasks).toHaveLength(count);
  await setup.die(ALPHA);
  const heir = `${ALPHA}-heir`;
  await setup.provider.registerRuntime(registration({ id: heir }));
  expect((await setup.leaseTasks(heir)).tasks).toHaveLength(count);
  await setup.die(heir);
  return sequences;
}

/** An attempt whose thread died. */
function death(task: LeasedTask): RetryItem {
  return { kind: "retry", task, delayMs: 0, failure: "{}", died: true };
}

export const taskSuspects: ContractSubject = {
  subject: "task suspects",
  cases: [
    {
      title:
        "the death of its owner counts once for every task it held and makes none suspect yet (K4)",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
        await setup.leaseOneTask(ALPHA);
        const result = await setup.provider.expireRuntime({ id: ALPHA, staleMs: null });
        expect(result).toMatchObject({ expired: true, tasks: 2 });
        expect(await setup.provider.readTasks(held)).toMatchObject([
          { attempt: 1, suspect: false, owner: null },
          { attempt: 1, suspect: false, owner: null },
        ]);
      },
    },
    {
      title:
        "the second death makes every task that was held suspect, and counts for none of several (K4)",
      async run(setup) {
        await suspects(setup, 2);
        const record = await setup.provider.readInstance("a");
        const address = { key: record?.key ?? 0, execution: 1 };
        expect(await setup.provider.readTasks(address)).toMatchObject([
          { attempt: 1, suspect: true, owner: null },
          { attempt: 1, suspect: true, owner: null },
        ]);
      },
    },
    {
      title:
        "a death while an instance of the same owner has an open step counts for no suspect (13)",
      async run(setup) {
        await suspects(setup, 1);
        await setup.provider.registerRuntime(registration({ id: GAMMA }));
        const other = await setup.hold("b", { owner: GAMMA });
        await setup.turn(other, { events: [eventText()], stepsOpen: true });
        await setup.leaseOneTask(GAMMA, { allowSuspect: true });
        await setup.die(GAMMA);
        expect(await setup.leaseOneTask(BETA, { allowSuspect: true })).toMatchObject({
          suspect: true,
          deaths: 2,
          attempt: 2,
        });
      },
    },
    {
      title:
        "a death while a suspect instance is with the same owner counts for no suspect task (13)",
      async run(setup) {
        await suspects(setup, 1);
        await setup.start("b");
        for (const owner of ["one", GAMMA]) {
          await setup.provider.registerRuntime(registration({ id: owner }));
          await setup.leaseOnly("b", owner, { allowSuspect: true });
          if (owner === GAMMA) await setup.leaseOneTask(GAMMA, { allowSuspect: true });
          await setup.die(owner);
        }
        expect(await setup.leaseOneTask(BETA, { allowSuspect: true })).toMatchObject({ deaths: 2 });
        expect(await setup.leaseOnly("b", BETA, { allowSuspect: true })).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title: "a lease that runs out is a death, and the second one makes a suspect (K4)",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        await setup.leaseOneTask(ALPHA, { leaseMs: 1_000 });
        await setup.environment.advance(1_001);
        const again = await setup.leaseOneTask(BETA, { leaseMs: 1_000, allowSuspect: true });
        expect(again).toMatchObject({ deaths: 1, suspect: false });
        await setup.environment.advance(1_001);
        const third = await setup.leaseOneTask(ALPHA, { allowSuspect: true });
        expect(third).toMatchObject({ deaths: 2, suspect: true });
      },
    },
    {
      title: "a suspect is not handed out unless one is asked for",
      async run(setup) {
        await suspects(setup, 1);
        expect((await setup.leaseTasks(BETA, { allowSuspect: false })).tasks).toEqual([]);
        const task = await setup.leaseOneTask(BETA, { allowSuspect: true });
        expect(task).toMatchObject({ suspect: true, deaths: 2, attempt: 2 });
      },
    },
    {
      title: "suspects are leased one at a time, however many are asked for (13)",
      async run(setup) {
        const sequences = await suspects(setup, 3);
        const taken: number[] = [];
        for (let i = 0; i < 3; i++) {
          const task = await setup.leaseOneTask(BETA, { allowSuspect: true, limit: 10 });
          taken.push(task.sequence);
        }
        expect(taken.toSorted()).toEqual(sequences);
      },
    },
    {
      title: "among other tasks there is at most one suspect",
      async run(setup) {
        await suspects(setup, 2);
        const other = await setup.hold("b", { owner: BETA });
        for (let i = 0; i < 3; i++) await setup.schedule(other);
        const { tasks } = await setup.leaseTasks(BETA, { allowSuspect: true });
        expect(tasks.filter((task) => task.suspect)).toHaveLength(1);
        expect(tasks.filter((task) => !task.suspect)).toHaveLength(3);
      },
    },
    {
      title: "suspects that may not be taken starve no other task (K3)",
      async run(setup) {
        await suspects(setup, 5);
        await setup.environment.advance(1);
        const other = await setup.hold("b", { owner: BETA });
        await setup.schedule(other);
        const { tasks, more } = await setup.leaseTasks(BETA, { limit: 1 });
        expect(tasks.map((task) => task.instanceId)).toEqual(["b"]);
        expect(more).toBe(false);
      },
    },
    {
      title: "a further death while a suspect runs counts further (13)",
      async run(setup) {
        await suspects(setup, 1);
        for (const deaths of [2, 3, 4]) {
          const owner = `${GAMMA}-${deaths}`;
          await setup.provider.registerRuntime(registration({ id: owner }));
          const task = await setup.leaseOneTask(owner, { allowSuspect: true });
          expect(task).toMatchObject({ suspect: true, deaths, attempt: deaths });
          await setup.die(owner);
        }
      },
    },
    {
      title: "an attempt that died with what ran it counts a death of this task alone (K4)",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        await setup.schedule(held);
        const { tasks } = await setup.leaseTasks(ALPHA);
        const [task, other] = tasks;
        if (task === undefined || other === undefined) throw new Error("two tasks were expected");
        expect(await setup.commit(death(task))).toEqual({ kind: "done" });
        expect(await setup.provider.readTasks(held)).toMatchObject([
          { attempt: 1, suspect: false, owner: null, lastFailure: "{}" },
          { attempt: 0, suspect: false, owner: ALPHA },
        ]);
        const again = await setup.leaseOneTask(BETA);
        expect(again).toMatchObject({ deaths: 1, attempt: 1, suspect: false });
      },
    },
    {
      title: "the second such death makes the task suspect, whoever counted the first",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        await setup.leaseOneTask(ALPHA);
        await setup.die(ALPHA);
        const task = await setup.leaseOneTask(BETA);
        await setup.commit(death(task));
        expect((await setup.leaseTasks(BETA, { allowSuspect: false })).tasks).toEqual([]);
        const suspect = await setup.leaseOneTask(BETA, { allowSuspect: true });
        expect(suspect).toMatchObject({ suspect: true, deaths: 2, attempt: 2 });
      },
    },
    {
      title: "a death that comes after its claim was lost is refused, and counts nothing (K1)",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        const old = await setup.leaseOneTask(ALPHA);
        await setup.commit({ kind: "releaseTask", task: old });
        expect(await setup.commit(death(old))).toMatchObject({ kind: "refused" });
        const task = await setup.leaseOneTask(BETA);
        expect(task).toMatchObject({ deaths: 0, attempt: 0, suspect: false });
      },
    },
    {
      title: "a death waits its time and keeps the details that came with it",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        const task = await setup.leaseOneTask(BETA);
        await setup.commit({ ...death(task), delayMs: 500, heartbeat: '"row 7"' });
        expect((await setup.leaseTasks(BETA)).tasks).toEqual([]);
        await setup.environment.advance(500);
        expect(await setup.leaseOneTask(BETA)).toMatchObject({ heartbeat: '"row 7"', deaths: 1 });
      },
    },
    {
      title: "a death counts for nothing that waited in the queue",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        await setup.die(ALPHA);
        expect(await setup.leaseOneTask(BETA)).toMatchObject({ attempt: 0, suspect: false });
      },
    },
    {
      title: "a death counts for nothing that another runtime holds",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        const task = await setup.leaseOneTask(BETA);
        await setup.die(ALPHA);
        expect(await setup.provider.lostTasks([task])).toEqual([]);
        expect(await setup.provider.readTasks(held)).toMatchObject([{ attempt: 0, owner: BETA }]);
      },
    },
    {
      title: "an orderly goodbye makes nothing suspect and counts nothing",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        await setup.leaseOneTask(ALPHA);
        await setup.provider.removeRuntime(ALPHA);
        const task = await setup.leaseOneTask(BETA);
        expect(task).toMatchObject({ attempt: 0, deaths: 0, suspect: false });
      },
    },
    {
      title: "a dead owner's claim is void: its late outcome is refused",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        const task = await setup.leaseOneTask(ALPHA);
        await setup.die(ALPHA);
        const outcome = outcomeText(task.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toMatchObject({
          kind: "refused",
        });
        expect(await setup.provider.lostTasks([task])).toHaveLength(1);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "a suspect stays one through a failed attempt and through being handed back",
      async run(setup) {
        await suspects(setup, 1);
        const first = await setup.leaseOneTask(BETA, { allowSuspect: true });
        await setup.commit({ kind: "releaseTask", task: first });
        const second = await setup.leaseOneTask(BETA, { allowSuspect: true });
        expect(second).toMatchObject({ suspect: true, deaths: 2, attempt: 2 });
        await setup.commit({ kind: "retry", task: second, delayMs: 0, failure: "{}" });
        const third = await setup.leaseOneTask(BETA, { allowSuspect: true });
        expect(third).toMatchObject({ suspect: true, deaths: 2, attempt: 3 });
      },
    },
    {
      title: "a suspect completes like any other task",
      async run(setup) {
        await suspects(setup, 1);
        const task = await setup.leaseOneTask(BETA, { allowSuspect: true });
        const outcome = outcomeText(task.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({ kind: "done" });
        expect(await setup.provider.readTasks(task)).toEqual([]);
      },
    },
  ],
};
