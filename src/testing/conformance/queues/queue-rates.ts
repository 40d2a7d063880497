// Contract of the rates and pauses of queues.

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, BETA, CHARGE, fresh, sessionsOf } from "../fixture.ts";
import { BOTH, completeAll, one, queueKeys, retry, rule, SHIP, take } from "./queue-steps.ts";

export const queueRates: ContractSubject = {
  subject: "rates of queues",
  cases: [
    {
      title: "at most `count` tasks are admitted per window, over all owners (provider.queues.3)",
      async run(setup) {
        const { environment } = setup;
        await rule(setup, { rate: { count: 3, perMs: 10_000 } });
        await setup.holdTasks("a", 10);
        const begin = environment.now();
        const enterWithinMs = 100;
        const first = await setup.leaseTasks(ALPHA, { limit: 2, enterWithinMs });
        const until = begin + enterWithinMs;
        expect(first.tasks.map(({ admittedUntil }) => admittedUntil)).toEqual([until, until]);
        await environment.advance(1_000);
        const second = await setup.leaseTasks(BETA, { limit: 10, enterWithinMs });
        expect(second.tasks).toHaveLength(1);
        expect(second).toMatchObject({ more: false, nextAt: begin + 10_100 });
        await completeAll(setup, [...first.tasks, ...second.tasks]);
        await setup.leaseNoTask();
        await environment.advance(9_099);
        await setup.leaseNoTask();
        await environment.advance(1);
        const third = await setup.leaseTasks(BETA, { limit: 10, enterWithinMs });
        expect(third.tasks).toHaveLength(2);
        expect(third.nextAt).toBe(begin + 11_100);
      },
    },
    {
      title: "a retry needs a new admission (provider.queues.3)",
      async run(setup) {
        await rule(setup, { rate: { count: 1, perMs: 1_000 } });
        await setup.holdTask("a");
        const at = setup.environment.now();
        await retry(setup, await one(setup), 0);
        const refused = await setup.leaseTasks();
        expect(refused.tasks).toEqual([]);
        expect(refused.nextAt).toBe(at + 2_000); // one second to enter, and the window
        await setup.environment.advance(2_000);
        expect((await one(setup)).admittedUntil).toBe(at + 3_000);
      },
    },
    {
      title: "the window is counted from the time by which a worker says it entered its tasks",
      async run(setup) {
        const { environment, provider } = setup;
        await rule(setup, { rate: { count: 3, perMs: 10_000 } });
        await setup.holdTasks("a", 10);
        const begin = environment.now();
        expect(await take(setup, 2, { enterWithinMs: 500 })).toHaveLength(2);
        expect(await take(setup, 2, { enterWithinMs: 500 })).toHaveLength(1);
        const entered = { name: CHARGE, until: begin + 500, enteredBy: begin + 20 };
        let notified = 0;
        const stop = provider.subscribe((news) => (notified += Number(news.tasks)));
        await provider.adjustAdmissions([{ ...entered, number: 2 }]);
        await expect.poll(() => notified).toBe(1);
        stop();
        await provider.adjustAdmissions([
          { ...entered, number: 2 }, // only one is left
          { ...entered, name: SHIP, number: 1 },
        ]);
        expect((await setup.leaseTasks()).nextAt).toBe(begin + 10_020);
        await environment.advance(10_020);
        expect(await take(setup, 10)).toHaveLength(2);
      },
    },
    {
      title: "the window is counted longer if a worker says that it entered its tasks late",
      async run(setup) {
        const { environment, provider } = setup;
        await rule(setup, { rate: { count: 1, perMs: 1_000 } });
        await setup.holdTasks("a", 3);
        const until = environment.now() + 10;
        expect(await take(setup, 1, { enterWithinMs: 10 })).toHaveLength(1);
        await provider.adjustAdmissions([
          { name: CHARGE, until, number: 1, enteredBy: until + 50 },
        ]);
        await environment.advance(1_059);
        expect(await take(setup, 1)).toEqual([]);
        await environment.advance(1);
        await one(setup);
      },
    },
    {
      title:
        "a request that is repeated releases the tasks that it took under a rate (provider.queues.3)",
      async run(setup) {
        await rule(setup, { rate: { count: 3, perMs: 1_000 } });
        await setup.holdTasks("a", 2);
        await setup.holdTask("b", { name: SHIP });
        const token = fresh();
        const fields = { names: BOTH, token };
        expect((await setup.leaseTasks(BETA, fields)).tasks).toHaveLength(3);
        const { tasks } = await setup.leaseTasks(BETA, { ...fields, again: true });
        expect(tasks.map(({ name }) => name)).toEqual([SHIP]);
        expect(await take(setup, 10)).toHaveLength(1); // of three admissions, two are used
      },
    },
    {
      title:
        "a rate does not hold back other names, nor tasks that wait for later (provider.queues.5)",
      async run(setup) {
        await rule(setup, { rate: { count: 1, perMs: 60_000 } });
        await setup.holdTasks("a", 5);
        await setup.holdTasks("b", 2, () => ({ name: SHIP }));
        await one(setup);
        const { tasks } = await setup.leaseTasks(BETA, { names: BOTH });
        expect(tasks.map(({ name }) => name)).toEqual([SHIP, SHIP]);
      },
    },
    {
      title: "a large rate is never exceeded (provider.queues.3)",
      async run(setup) {
        const { environment } = setup;
        const count = 1_001; // of a larger rate than 1,000, the store may round the ends of admissions
        await rule(setup, { rate: { count, perMs: 30_000 } });
        await setup.holdTasks("a", 2_050);
        const begun: number[] = [];
        const begin = environment.now();
        for (let step = 0; step < 25; step += 1) {
          const tasks = await take(setup, 180, { enterWithinMs: 0 });
          begun.push(...tasks.map(() => environment.now()));
          await environment.advance(2_501);
        }
        const most = Math.max(
          ...begun.map((from) => begun.filter((at) => at >= from && at < from + 30_000).length),
        );
        expect(most).toBeLessThanOrEqual(count);
        expect(begun.filter((at) => at < begin + 60_000).length).toBeGreaterThan(1.8 * count);
      },
    },
  ],
};

export const queuePauses: ContractSubject = {
  subject: "pauses of queues",
  cases: [
    {
      title: "no task of a paused queue is leased, and running attempts go on (provider.queues.6)",
      async run(setup) {
        const { provider } = setup;
        await setup.holdTasks("a", 3);
        await setup.holdTasks("b", 1, () => ({ session: "s" }));
        await setup.holdTask("c", { name: SHIP });
        const task = await one(setup);
        await provider.pauseQueue(CHARGE, '{"at":1}');
        const fields = { names: BOTH, sessions: sessionsOf(BETA) };
        const { tasks, more, nextAt } = await setup.leaseTasks(BETA, fields);
        expect(tasks.map(({ name }) => name)).toEqual([SHIP]);
        expect({ more, nextAt }).toEqual({ more: false, nextAt: null });
        await completeAll(setup, [task]);
        await provider.resumeQueue(CHARGE);
        expect((await setup.leaseTasks(BETA, fields)).tasks).toHaveLength(3);
      },
    },
    {
      title: "a resume notifies workers that tasks wait (provider.queues.6)",
      async run(setup) {
        const { provider } = setup;
        await provider.pauseQueue(CHARGE, '{"at":1}');
        let notified = 0;
        const stop = provider.subscribe((news) => (notified += Number(news.tasks)));
        await provider.resumeQueue(CHARGE);
        await provider.resumeQueue(CHARGE);
        await expect.poll(() => notified).toBe(1);
        stop();
      },
    },
    {
      title: "a pause holds for a queue with a rule (provider.queues.6)",
      async run(setup) {
        await rule(setup, { concurrency: 5, perKey: 5, fair: true });
        await queueKeys(setup, "a", ["x", "y"]);
        await setup.provider.pauseQueue(CHARGE, '{"at":1}');
        await setup.leaseNoTask();
        await setup.provider.resumeQueue(CHARGE);
        expect(await take(setup, 10)).toHaveLength(2);
      },
    },
  ],
};
