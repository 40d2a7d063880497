// Contract of suspect tasks: tasks whose owners were declared dead twice (semantics 13, provider.tasks.4).

import { expect } from "vitest";
import type { LeasedTask, RetryItem } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  eventText,
  GAMMA,
  outcomeText,
  registration,
  TASK_LEASE,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";

/**
 * Creates tasks of an instance of BETA. ALPHA and then another runtime lease the tasks and are declared
 * dead.
 */
async function suspects(setup: Setup, count: number): Promise<number[]> {
  const held = await setup.hold("a", { owner: BETA });
  const sequences: number[] = [];
  for (let i = 0; i < count; i++) sequences.push((await setup.schedule(held)).sequence);
  expect((await setup.leaseTasks(ALPHA)).tasks).toHaveLength(count);
  await setup.die(ALPHA);
  const second = `${ALPHA}-second`;
  await setup.provider.registerRuntime(registration({ id: second }));
  expect((await setup.leaseTasks(second)).tasks).toHaveLength(count);
  await setup.die(second);
  return sequences;
}

/** A runtime leases several suspects of instance "a" and is declared dead. */
async function dieTogether(setup: Setup): Promise<void> {
  const owner = "tries together";
  await setup.provider.registerRuntime(registration({ id: owner }));
  const { tasks } = await setup.leaseTasks(owner, { allowSuspect: true });
  expect(tasks.length).toBeGreaterThan(1);
  await setup.die(owner);
}

/** An attempt whose thread crashed. */
function death(task: LeasedTask): RetryItem {
  return { kind: "retry", task, delayMs: 0, failure: "{}", died: true };
}

export const taskSuspects: ContractSubject = {
  subject: "task suspects",
  cases: [
    {
      title:
        "the first death of an owner is counted for every task it held and makes none of them a suspect (provider.tasks.4)",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        await setup.schedule(held, { lease: TASK_LEASE });
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
        "the second death makes every held task a suspect, and is not counted as an attempt if the owner held several (provider.tasks.4)",
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
        "a death is not counted for a suspect that ran alone if its owner had started a step again (13)",
      async run(setup) {
        await suspects(setup, 1);
        await setup.provider.registerRuntime(registration({ id: "one" }));
        const first = await setup.hold("b", { owner: "one" });
        await setup.turn(first, { events: [eventText()], stepsOpen: true });
        await setup.die("one");
        await setup.provider.registerRuntime(registration({ id: GAMMA }));
        await setup.leaseOnly("b", GAMMA);
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
        "a death is counted for a suspect that ran alone if all open steps of its owner ran for the first time (13)",
      async run(setup) {
        await suspects(setup, 1);
        await setup.provider.registerRuntime(registration({ id: GAMMA }));
        const other = await setup.hold("b", { owner: GAMMA });
        await setup.turn(other, { events: [eventText()], stepsOpen: true });
        await setup.leaseOneTask(GAMMA, { allowSuspect: true });
        await setup.die(GAMMA);
        expect(await setup.leaseOneTask(BETA, { allowSuspect: true })).toMatchObject({ deaths: 3 });
      },
    },
    {
      title:
        "a death is not counted for a suspect task if its owner also held a suspect instance (13)",
      async run(setup) {
        await suspects(setup, 1);
        await setup.start("b");
        for (const owner of ["one", GAMMA]) {
          await setup.provider.registerRuntime(registration({ id: owner }));
          await setup.leaseSuspect("b", owner);
          if (owner === GAMMA) await setup.leaseOneTask(GAMMA, { allowSuspect: true });
          await setup.die(owner);
        }
        expect(await setup.leaseOneTask(BETA, { allowSuspect: true })).toMatchObject({ deaths: 2 });
        expect(await setup.leaseSuspect("b")).toMatchObject({
          suspicion: 1,
        });
      },
    },
    {
      title:
        "an expired lease counts as a death, and the second one makes the task a suspect (provider.tasks.4)",
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
      title: "a suspect is leased only if the request allows suspects",
      async run(setup) {
        await suspects(setup, 1);
        await setup.leaseNoTask(BETA, { allowSuspect: false });
        const task = await setup.leaseOneTask(BETA, { allowSuspect: true });
        expect(task).toMatchObject({ suspect: true, deaths: 2, attempt: 2 });
      },
    },
    {
      title: "a lease returns up to 16 suspects with one counted death, among other tasks (13)",
      async run(setup) {
        const sequences = await suspects(setup, 20);
        const other = await setup.hold("b", { owner: BETA });
        for (let i = 0; i < 3; i++) await setup.schedule(other);
        const { tasks } = await setup.leaseTasks(BETA, { allowSuspect: true });
        expect(tasks.filter((task) => !task.suspect)).toHaveLength(3);
        const tried = tasks.filter((task) => task.suspect).map(({ sequence }) => sequence);
        expect(tried).toEqual(sequences.slice(0, 16));
      },
    },
    {
      title: "suspects that the owner tries already leave fewer slots for others (13)",
      async run(setup) {
        await suspects(setup, 4);
        const { tasks } = await setup.leaseTasks(BETA, { allowSuspect: true, suspectsHeld: 14 });
        expect(tasks).toHaveLength(2);
        await setup.leaseNoTask(BETA, { allowSuspect: true, suspectsHeld: 16 });
      },
    },
    {
      title: "a death is counted for all suspects that were tried together (13)",
      async run(setup) {
        await suspects(setup, 2);
        await dieTogether(setup);
        const { key } = await setup.read("a");
        expect(await setup.provider.readTasks({ key, execution: 1 })).toMatchObject([
          { attempt: 2, suspect: true, owner: null },
          { attempt: 2, suspect: true, owner: null },
        ]);
      },
    },
    {
      title: "a suspect with two counted deaths is leased alone, whatever the limit (13)",
      async run(setup) {
        const sequences = await suspects(setup, 3);
        await dieTogether(setup);
        const taken: number[] = [];
        for (let i = 0; i < 3; i++) {
          await setup.leaseNoTask(BETA, { allowSuspect: true, suspectsHeld: 1 });
          const task = await setup.leaseOneTask(BETA, { allowSuspect: true, limit: 10 });
          taken.push(task.sequence);
        }
        expect(taken.toSorted()).toEqual(sequences);
      },
    },
    {
      title: "a suspect that must run alone is not overtaken by suspects behind it (13)",
      async run(setup) {
        await suspects(setup, 1);
        const owner = "first";
        await setup.provider.registerRuntime(registration({ id: owner }));
        await setup.leaseOneTask(owner, { allowSuspect: true });
        await setup.die(owner); // its second death: it runs alone
        const alone = await setup.leaseOneTask(BETA, { allowSuspect: true });
        await setup.commit({ kind: "releaseTask", task: alone });
        await setup.environment.advance(1);
        const behind = await setup.hold("b", { owner: BETA });
        await setup.schedule(behind);
        for (const killer of ["second", "third"]) {
          await setup.provider.registerRuntime(registration({ id: killer }));
          await setup.leaseOneTask(killer, { allowSuspect: false });
          await setup.die(killer);
        }
        await setup.leaseNoTask(BETA, { allowSuspect: true, suspectsHeld: 1 });
        const next = await setup.leaseOneTask(BETA, { allowSuspect: true });
        expect(next).toMatchObject({ instanceId: alone.instanceId, suspect: true });
      },
    },
    {
      title: "suspects that a request does not allow do not starve other tasks (provider.tasks.3)",
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
      title: "every further death of a runtime that runs a suspect is counted (13)",
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
      title: "a crashed attempt counts as a death of that task only (provider.tasks.4)",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        await setup.schedule(held);
        const { tasks } = await setup.leaseTasks(ALPHA);
        const [task, other] = tasks;
        if (task === undefined || other === undefined)
          throw new Error("Two tasks must be leased; got fewer.");
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
      title:
        "the second death makes the task a suspect, whether a crashed attempt or a dead runtime was the first",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        await setup.leaseOneTask(ALPHA);
        await setup.die(ALPHA);
        const task = await setup.leaseOneTask(BETA);
        await setup.commit(death(task));
        await setup.leaseNoTask(BETA, { allowSuspect: false });
        const suspect = await setup.leaseOneTask(BETA, { allowSuspect: true });
        expect(suspect).toMatchObject({ suspect: true, deaths: 2, attempt: 2 });
      },
    },
    {
      title:
        "a crash that is reported after the claim was lost is refused and not counted (provider.tasks.1)",
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
      title: "a crashed attempt waits for its delay and keeps the details of its report",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        const task = await setup.leaseOneTask(BETA);
        await setup.commit({ ...death(task), delayMs: 500, heartbeat: '"row 7"' });
        await setup.leaseNoTask(BETA);
        await setup.environment.advance(500);
        expect(await setup.leaseOneTask(BETA)).toMatchObject({ heartbeat: '"row 7"', deaths: 1 });
      },
    },
    {
      title: "the death of a runtime does not count for queued tasks",
      async run(setup) {
        const held = await setup.hold("a", { owner: BETA });
        await setup.schedule(held);
        await setup.die(ALPHA);
        expect(await setup.leaseOneTask(BETA)).toMatchObject({ attempt: 0, suspect: false });
      },
    },
    {
      title: "the death of a runtime does not count for tasks of other runtimes",
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
      title: "a deregistration makes no task a suspect and counts no attempt",
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
      title: "the claim of a dead owner is lost, and its late outcome is refused",
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
      title: "a suspect remains a suspect after a failed attempt and after a release",
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
      title: "a suspect can be completed like any other task",
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
