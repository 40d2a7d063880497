// Retries: a failed attempt puts its task back into the queue for later (semantics 10, K4).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import { ALPHA, BETA, CHARGE, claimOf, outcomeText, sessionsOf } from "./fixture.ts";

const REFUSED = { kind: "refused", code: "LEASE_LOST" };

export const taskRetry: ContractSubject = {
  subject: "task retry",
  cases: [
    {
      title: "a failed attempt waits for its delay, not a millisecond less",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const task = await setup.leaseOneTask();
        const retry = { kind: "retry", task, delayMs: 2_000, failure: "{}" } as const;
        expect(await setup.commit(retry)).toEqual({ kind: "done" });
        await setup.environment.advance(1_999);
        expect((await setup.leaseTasks(ALPHA)).tasks).toEqual([]);
        await setup.environment.advance(1);
        expect(await setup.leaseOneTask(ALPHA)).toMatchObject({ attempt: 1, deaths: 0 });
      },
    },
    {
      title: "a failed attempt with no delay can be taken at once",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const task = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task, delayMs: 0, failure: "{}" });
        expect(await setup.leaseOneTask()).toMatchObject({ attempt: 1 });
      },
    },
    {
      title: "every failed attempt is counted, and the last failure is shown",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
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
      title: "a failed attempt is left to others for as long as the request says (10)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
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
        expect((await setup.leaseTasks(ALPHA, { avoidMs: 1_000 })).tasks).toEqual([]);
        await setup.environment.advance(1);
        expect((await setup.leaseTasks(ALPHA, { avoidMs: 1_000 })).tasks).toHaveLength(1);
      },
    },
    {
      title:
        "another owner takes a failed attempt at once, and so does the same one that avoids nothing",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const first = await setup.leaseOneTask(ALPHA);
        await setup.commit({ kind: "retry", task: first, delayMs: 0, failure: "{}" });
        const { tasks } = await setup.leaseTasks(BETA, { avoidMs: 1_000 });
        expect(tasks).toHaveLength(1);
        const [second] = tasks;
        if (second === undefined) return;
        await setup.commit({ kind: "retry", task: second, delayMs: 0, failure: "{}" });
        expect((await setup.leaseTasks(BETA, { avoidMs: 1_000 })).tasks).toEqual([]);
        expect((await setup.leaseTasks(BETA)).tasks).toHaveLength(1);
      },
    },
    {
      title: "a task that is avoided hides none behind it, and a session's task stays where it was",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { name: "ship", session: "s" });
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
      title: "a failed attempt tells the instance nothing (10)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const task = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task, delayMs: 10, failure: "{}" });
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
      },
    },
    {
      title: "the claim of a failed attempt is void: its late outcome is refused",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const task = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task, delayMs: 10, failure: "{}" });
        const outcome = outcomeText(task.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual(REFUSED);
        const again = { kind: "retry", task, delayMs: 10, failure: "{}" } as const;
        expect(await setup.commit(again)).toEqual(REFUSED);
        expect(await setup.provider.readTasks(held)).toMatchObject([{ attempt: 1 }]);
        expect(await setup.provider.lostTasks([task])).toHaveLength(1);
      },
    },
    {
      title: "a retry under another token is refused and counts nothing",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
        const task = claimOf(address, 78);
        const retry = { kind: "retry", task, delayMs: 10, failure: "{}" } as const;
        expect(await setup.commit(retry)).toEqual(REFUSED);
        expect(await setup.provider.readTasks(held)).toMatchObject([
          { attempt: 0, owner: ALPHA, lastFailure: null },
        ]);
      },
    },
    {
      title: "handing back a task keeps the attempts it has",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const first = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task: first, delayMs: 0, failure: "{}" });
        const second = await setup.leaseOneTask();
        await setup.commit({ kind: "releaseTask", task: second });
        expect(await setup.leaseOneTask()).toMatchObject({ attempt: 1 });
      },
    },
    {
      title: "a lease of tasks tells when the next one it could take comes due",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { name: "foreign" });
        await setup.schedule(held);
        const [foreign] = (await setup.leaseTasks(BETA, { names: ["foreign"] })).tasks;
        const own = await setup.leaseOneTask();
        if (foreign === undefined) throw new Error("the foreign task was not leased");
        const now = setup.environment.now();
        await setup.commit({ kind: "retry", task: foreign, delayMs: 1_000, failure: "{}" });
        await setup.commit({ kind: "retry", task: own, delayMs: 5_000, failure: "{}" });
        const waiting = await setup.leaseTasks();
        expect(waiting).toEqual({ tasks: [], more: false, nextAt: now + 5_000 });
      },
    },
    {
      title: "a retried task ranks by when it became available again (K2)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { input: "retried" });
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
      title: "a task that waits for its next attempt can be cancelled",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held);
        const task = await setup.leaseOneTask();
        await setup.commit({ kind: "retry", task, delayMs: 10, failure: "{}" });
        await setup.turn(held, { cancelledTasks: [address.sequence] });
        await setup.environment.advance(100);
        expect(await setup.leaseTasks()).toEqual({ tasks: [], more: false, nextAt: null });
      },
    },
  ],
};
