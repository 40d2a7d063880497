// Contract of tasks: each activity call is one row in the queue, and tasks are leased in exact order
// (provider.tasks.1–provider.tasks.3, semantics 14, 16).

import { expect } from "vitest";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  claimOf,
  eventText,
  fresh,
  LEASE_LOST,
  ORDER,
  outcomeText,
  sessionsOf,
  TASK_LEASE,
  VERSION,
} from "../fixture.ts";

const AGEING_MS = 300_000;

export const tasks: ContractSubject = {
  subject: "tasks",
  cases: [
    {
      title: "a queued task is leased with all fields of its schedule",
      async run(setup) {
        const held = await setup.hold("a");
        const options = {
          retry: {
            maxAttempts: 4,
            backoff: { kind: "fixed", baseMs: 7, factor: 1, maxMs: 7, jitter: 0 },
            onTimeout: true,
            nonRetryable: ["NoMoney"],
          },
          timeoutMs: 30_000,
          heartbeatTimeoutMs: 5_000,
          traceParent: "00-trace",
          context: '{"tenant":"acme"}',
        } as const;
        const address = await setup.schedule(held, {
          input: '{"amount":12}',
          options,
          priority: 2,
        });
        const token = fresh();
        const task = await setup.leaseOneTask(BETA, { token });
        expect(task).toEqual({
          ...address,
          token,
          instanceId: "a",
          runId: held.runId,
          orchestration: ORDER,
          orchestrationVersion: VERSION,
          name: CHARGE,
          input: '{"amount":12}',
          options,
          session: null,
          tags: null,
          priority: 2,
          attempt: 0,
          availableAt: expect.any(Number) as number,
          deaths: 0,
          suspect: false,
          heartbeat: null,
        });
      },
    },
    {
      title: "a leased task returns its session unchanged and its tags as a set (tags.1)",
      async run(setup) {
        await setup.holdTask("a", { session: "cart-7", tags: ["gpu", "eu", "gpu"] });
        const task = await setup.leaseOneTask(BETA, { sessions: sessionsOf(BETA) });
        expect(task).toMatchObject({ session: "cart-7", tags: ["eu", "gpu"] });
      },
    },
    {
      title:
        "a leased task is not leased again, to another runtime or to its owner (provider.tasks.1)",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        await setup.leaseOneTask(BETA);
        await setup.leaseNoTask(ALPHA);
        await setup.leaseNoTask(BETA);
        expect(await setup.provider.readTasks(held)).toMatchObject([{ owner: BETA }]);
      },
    },
    {
      title: "two concurrent lease calls return disjoint sets of tasks",
      async run(setup) {
        await setup.holdTasks("a", 20);
        const shares = await Promise.all([
          setup.leaseTasks(ALPHA, { limit: 12 }),
          setup.leaseTasks(BETA, { limit: 12 }),
        ]);
        const sequences = shares.flatMap((share) => share.tasks.map((task) => task.sequence));
        expect(sequences).toHaveLength(20);
        expect(new Set(sequences).size).toBe(20);
      },
    },
    {
      title: "a task that is created leased is not in the queue, and its token completes it",
      async run(setup) {
        const { held, task: address } = await setup.holdTask("a", {
          lease: TASK_LEASE,
        });
        await setup.leaseNoTask(BETA);
        await setup.leaseNoTask(ALPHA);
        expect(await setup.provider.readTasks(held)).toMatchObject([{ owner: ALPHA, attempt: 0 }]);
        const task = claimOf(address);
        const outcome = outcomeText(address.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({ kind: "done" });
      },
    },
    {
      title: "a completion removes the task and leaves its outcome in the inbox",
      async run(setup) {
        const { held, task: address } = await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        const outcome = outcomeText(address.sequence, '{"paid":true}');
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({ kind: "done" });
        expect(await setup.provider.readTasks(held)).toEqual([]);
        expect(await setup.due(held)).toMatchObject([
          { kind: "activity", execution: 1, sequence: address.sequence, data: outcome },
        ]);
      },
    },
    {
      title: "a completion does not end other tasks with the same token (provider.tasks.1)",
      async run(setup) {
        const { held } = await setup.holdTask("a");
        await setup.schedule(held);
        const [first, second] = (await setup.leaseTasks(BETA)).tasks;
        if (first === undefined || second === undefined)
          throw new Error("Two tasks must be leased; got fewer.");
        expect(second.token).toBe(first.token);
        const outcome = outcomeText(first.sequence);
        await setup.commit({ kind: "completion", task: first, outcome });
        expect(await setup.provider.readTasks(held)).toMatchObject([
          { sequence: second.sequence, owner: BETA },
        ]);
        expect(await setup.provider.lostTasks([first, second])).toMatchObject([
          { sequence: first.sequence },
        ]);
      },
    },
    {
      title: "a completion makes an instance without a lease due",
      async run(setup) {
        const { held, task: address } = await setup.holdTask("a");
        await setup.turn(held, { release: true });
        const task = await setup.leaseOneTask();
        await setup.leaseNothing();
        const outcome = outcomeText(address.sequence);
        await setup.commit({ kind: "completion", task, outcome });
        expect((await setup.leaseOnly("a")).messages).toMatchObject([{ kind: "activity" }]);
      },
    },
    {
      title:
        "the completion of a cancelled task is refused and sends no message to the instance (provider.tasks.1)",
      async run(setup) {
        const { held, task: address } = await setup.holdTask("a");
        const task = await setup.leaseOneTask();
        await setup.turn(held, { events: [eventText()], cancelledTasks: [address.sequence] });
        const outcome = outcomeText(address.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual(LEASE_LOST);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
        expect(await setup.commit({ kind: "releaseTask", task })).toEqual(LEASE_LOST);
        await setup.leaseNoTask(ALPHA);
      },
    },
    {
      title: "lostTasks returns exactly the claims that are no longer held",
      async run(setup) {
        const { held, task: cancelled } = await setup.holdTask("a", {
          lease: { owner: ALPHA, token: 71 },
        });
        const finished = await setup.schedule(held, { lease: { owner: ALPHA, token: 72 } });
        const kept = await setup.schedule(held, { lease: { owner: ALPHA, token: 73 } });
        const released = await setup.schedule(held, { lease: { owner: ALPHA, token: 74 } });
        const claims = [
          claimOf(cancelled, 71),
          claimOf(finished, 72),
          claimOf(kept, 73),
          claimOf(released, 74),
          claimOf(kept, 99),
        ];
        expect(await setup.provider.lostTasks(claims.slice(0, 4))).toEqual([]);
        await setup.turn(held, {
          events: [eventText()],
          cancelledTasks: [cancelled.sequence],
          finished: [claimOf(finished, 72)],
        });
        await setup.commit({ kind: "releaseTask", task: claimOf(released, 74) });
        const lost = await setup.provider.lostTasks(claims);
        expect(lost.map((claim) => claim.token).toSorted()).toEqual([71, 72, 74, 99]);
        expect(await setup.provider.lostTasks([])).toEqual([]);
      },
    },
    {
      title: "a released task can be leased at once, with no attempt counted (13)",
      async run(setup) {
        await setup.holdTask("a");
        const task = await setup.leaseOneTask(BETA);
        expect(await setup.commit({ kind: "releaseTask", task })).toEqual({ kind: "done" });
        const again = await setup.leaseOneTask(ALPHA);
        expect(again).toMatchObject({ attempt: 0, deaths: 0, suspect: false });
        expect(again.sequence).toBe(task.sequence);
      },
    },
    {
      title:
        "names are filtered before the limit, so tasks of other names do not starve any task (provider.tasks.3)",
      async run(setup) {
        const nameOf = (index: number): string => (index === 50 ? CHARGE : "unregistered");
        await setup.holdTasks("a", 51, (index) => ({ name: nameOf(index), priority: 1 }));
        const { tasks: taken, more } = await setup.leaseTasks(BETA, { limit: 1 });
        expect(taken.map((task) => task.sequence)).toEqual([52]);
        expect(more).toBe(false);
      },
    },
    {
      title: "a request leases tasks of all its names, and without names leases nothing",
      async run(setup) {
        const held = await setup.hold("a");
        for (const name of ["x", "y", "z"]) await setup.schedule(held, { name });
        await setup.leaseNoTask(BETA, { names: [] });
        const { tasks: taken } = await setup.leaseTasks(BETA, { names: ["z", "x", "unknown"] });
        expect(taken.map((task) => task.name).toSorted()).toEqual(["x", "z"]);
      },
    },
    {
      title:
        "a lease returns at most the requested number of tasks and reports whether more are waiting",
      async run(setup) {
        const held = await setup.hold("a");
        for (let i = 0; i < 5; i++) await setup.schedule(held);
        const first = await setup.leaseTasks(BETA, { limit: 3 });
        expect(first.tasks).toHaveLength(3);
        expect(first.more).toBe(true);
        const second = await setup.leaseTasks(BETA, { limit: 3 });
        expect(second.tasks).toHaveLength(2);
        expect(second.more).toBe(false);
      },
    },
    {
      title: "a lease of an empty queue returns no task and no next time",
      async run(setup) {
        expect(await setup.leaseTasks()).toEqual({ tasks: [], more: false, nextAt: null });
      },
    },
    {
      title:
        "tasks of one priority are leased in the order in which they became available (provider.tasks.2)",
      async run(setup) {
        const held = await setup.hold("a");
        const order: number[] = [];
        for (let i = 0; i < 6; i++) {
          order.push((await setup.schedule(held)).sequence);
          await setup.environment.advance(1);
        }
        const taken: number[] = [];
        for (let i = 0; i < 6; i++) {
          const { tasks: one } = await setup.leaseTasks(BETA, { limit: 1 });
          taken.push(one[0]?.sequence ?? -1);
        }
        expect(taken).toEqual(order);
      },
    },
    {
      title:
        "the longest waiting task is leased before the tasks of an older instance (provider.tasks.2)",
      async run(setup) {
        const older = await setup.hold("older");
        const { held: younger } = await setup.holdTask("younger");
        await setup.environment.advance(10);
        for (let i = 0; i < 3; i++) await setup.schedule(older);
        expect(await setup.leaseOneTask(BETA, { limit: 1 })).toMatchObject({ key: younger.key });
      },
    },
    {
      title: "among tasks that have waited equally long, the highest priority is leased first (16)",
      async run(setup) {
        const held = await setup.hold("a");
        for (const priority of [3, 5, 1, 4, 2]) await setup.schedule(held, { priority });
        const taken: number[] = [];
        for (let i = 0; i < 5; i++) {
          const { tasks: one } = await setup.leaseTasks(BETA, { limit: 1 });
          taken.push(one[0]?.priority ?? -1);
        }
        expect(taken).toEqual([1, 2, 3, 4, 5]);
      },
    },
    {
      title:
        "a task gains exactly one priority level for every five minutes of waiting (provider.tasks.2)",
      async run(setup) {
        for (const [waitMs, first] of [
          [2 * AGEING_MS - 1, "urgent"],
          [2 * AGEING_MS + 1, "patient"],
        ] as const) {
          const held = await setup.hold(`waits-${waitMs}`);
          await setup.schedule(held, { priority: 5, input: "patient" });
          await setup.environment.advance(waitMs);
          await setup.schedule(held, { priority: 3, input: "urgent" });
          const { tasks: one } = await setup.leaseTasks(BETA, { limit: 1 });
          expect(one[0]?.input).toBe(first);
          await setup.leaseTasks(BETA);
        }
      },
    },
    {
      title:
        "a request can set the waiting time that is worth one priority level (provider.tasks.2)",
      async run(setup) {
        const held = await setup.hold("a");
        for (const [ageingMs, first] of [
          [4_999, "patient"],
          [5_001, "urgent"],
        ] as const) {
          await setup.schedule(held, { priority: 5, input: "patient" });
          await setup.environment.advance(10_000);
          await setup.schedule(held, { priority: 3, input: "urgent" });
          const { tasks: one } = await setup.leaseTasks(BETA, { limit: 1, ageingMs });
          expect(one[0]?.input).toBe(first);
          await setup.leaseTasks(BETA);
        }
      },
    },
    {
      title: "tasks of two instances with the same sequence are separate tasks (provider.tasks.1)",
      async run(setup) {
        const a = await setup.hold("a");
        const b = await setup.hold("b");
        const [first, second] = [await setup.schedule(a), await setup.schedule(b)];
        expect(first.sequence).toBe(second.sequence);
        const { tasks: taken } = await setup.leaseTasks();
        expect(taken.map((task) => task.instanceId).toSorted()).toEqual(["a", "b"]);
        const task = taken.find(({ instanceId }) => instanceId === "a");
        if (task === undefined) return;
        const outcome = outcomeText(task.sequence);
        await setup.commit({ kind: "completion", task, outcome });
        expect(await setup.provider.readTasks(a)).toEqual([]);
        expect(await setup.provider.readTasks(b)).toHaveLength(1);
        expect(await setup.provider.readInbox(b.key)).toEqual([]);
      },
    },
    {
      title: "a task record shows the state of the task in the queue",
      async run(setup) {
        const { held, task: address } = await setup.holdTask("a");
        expect(await setup.provider.readTasks(held)).toEqual([
          {
            ...address,
            name: CHARGE,
            attempt: 0,
            availableAt: setup.environment.now(),
            owner: null,
            tags: [],
            session: null,
            progress: null,
            suspect: false,
            lastFailure: null,
          },
        ]);
      },
    },
  ],
};
