// Tasks: activity executions in the queue; one row each, taken in exact order (K1–K3, semantics 14, 16).

import { expect } from "vitest";
import type { ContractSubject } from "./contract-case.ts";
import {
  ALPHA,
  BETA,
  CHARGE,
  claimOf,
  eventText,
  fresh,
  newTask,
  ORDER,
  outcomeText,
  scheduledText,
  sessionsOf,
  VERSION,
} from "./fixture.ts";

const AGEING_MS = 300_000;
const REFUSED = { kind: "refused", code: "LEASE_LOST" };

export const tasks: ContractSubject = {
  subject: "tasks",
  cases: [
    {
      title: "a queued task is leased with everything it was scheduled with",
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
          deaths: 0,
          suspect: false,
          heartbeat: null,
        });
      },
    },
    {
      title: "a session comes back as it was given, tags as a set (TG1)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "cart-7", tags: ["gpu", "eu", "gpu"] });
        const task = await setup.leaseOneTask(BETA, { sessions: sessionsOf(BETA) });
        expect(task).toMatchObject({ session: "cart-7", tags: ["eu", "gpu"] });
      },
    },
    {
      title: "a leased task is leased to nobody else, and not twice to its owner (K1)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        await setup.leaseOneTask(BETA);
        expect((await setup.leaseTasks(ALPHA)).tasks).toEqual([]);
        expect((await setup.leaseTasks(BETA)).tasks).toEqual([]);
        expect(await setup.provider.readTasks(held)).toMatchObject([{ owner: BETA }]);
      },
    },
    {
      title: "two runtimes that ask at once share the queue without overlap",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: Array.from({ length: 20 }, () => scheduledText()),
          tasks: Array.from({ length: 20 }, (_, i) => newTask({ sequence: i + 2 })),
        });
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
      title: "a task that is born leased is not in the queue, and its token completes it",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held, { lease: { owner: ALPHA, token: 77 } });
        expect((await setup.leaseTasks(BETA)).tasks).toEqual([]);
        expect((await setup.leaseTasks(ALPHA)).tasks).toEqual([]);
        expect(await setup.provider.readTasks(held)).toMatchObject([{ owner: ALPHA, attempt: 0 }]);
        const task = claimOf(address, 77);
        const outcome = outcomeText(address.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual({ kind: "done" });
      },
    },
    {
      title: "a completion leaves an outcome in the inbox and no task",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held);
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
      title: "a completion ends no other task that was leased under its token (K1)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        await setup.schedule(held);
        const [first, second] = (await setup.leaseTasks(BETA)).tasks;
        if (first === undefined || second === undefined) throw new Error("two tasks were queued");
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
      title: "a completion wakes an instance that nobody holds",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held);
        await setup.turn(held, { release: true });
        const task = await setup.leaseOneTask();
        await setup.leaseNothing();
        const outcome = outcomeText(address.sequence);
        await setup.commit({ kind: "completion", task, outcome });
        expect((await setup.leaseOnly("a")).messages).toMatchObject([{ kind: "activity" }]);
      },
    },
    {
      title: "the completion of a cancelled task is refused and tells the instance nothing (K1)",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held);
        const task = await setup.leaseOneTask();
        await setup.turn(held, { events: [eventText()], cancelledTasks: [address.sequence] });
        const outcome = outcomeText(address.sequence);
        expect(await setup.commit({ kind: "completion", task, outcome })).toEqual(REFUSED);
        expect(await setup.provider.readInbox(held.key)).toEqual([]);
        expect(await setup.commit({ kind: "releaseTask", task })).toEqual(REFUSED);
        expect((await setup.leaseTasks(ALPHA)).tasks).toEqual([]);
      },
    },
    {
      title: "the claims that are no longer held are told apart from those that are",
      async run(setup) {
        const held = await setup.hold("a");
        const cancelled = await setup.schedule(held, { lease: { owner: ALPHA, token: 71 } });
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
      title: "a task that is handed back can be taken at once, with no attempt counted (13)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held);
        const task = await setup.leaseOneTask(BETA);
        expect(await setup.commit({ kind: "releaseTask", task })).toEqual({ kind: "done" });
        const again = await setup.leaseOneTask(ALPHA);
        expect(again).toMatchObject({ attempt: 0, deaths: 0, suspect: false });
        expect(again.sequence).toBe(task.sequence);
      },
    },
    {
      title: "names are filtered before the limit, so that a foreign task starves no other (K3)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.turn(held, {
          events: Array.from({ length: 51 }, () => scheduledText()),
          tasks: Array.from({ length: 51 }, (_, i) =>
            newTask({ sequence: i + 2, name: i === 50 ? CHARGE : "nobody-knows", priority: 1 }),
          ),
        });
        const { tasks: taken, more } = await setup.leaseTasks(BETA, { limit: 1 });
        expect(taken.map((task) => task.sequence)).toEqual([52]);
        expect(more).toBe(false);
      },
    },
    {
      title: "several names are served, and none where none are asked for",
      async run(setup) {
        const held = await setup.hold("a");
        for (const name of ["x", "y", "z"]) await setup.schedule(held, { name });
        expect((await setup.leaseTasks(BETA, { names: [] })).tasks).toEqual([]);
        const { tasks: taken } = await setup.leaseTasks(BETA, { names: ["z", "x", "unknown"] });
        expect(taken.map((task) => task.name).toSorted()).toEqual(["x", "z"]);
      },
    },
    {
      title: "no more tasks are leased than asked for, and the answer says that there are more",
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
      title: "an empty queue gives nothing, now or later",
      async run(setup) {
        expect(await setup.leaseTasks()).toEqual({ tasks: [], more: false, nextAt: null });
      },
    },
    {
      title: "tasks of one priority are taken in the order in which they became available (K2)",
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
      title: "the task that waits longest is taken before many of an older instance (K2)",
      async run(setup) {
        const older = await setup.hold("older");
        const younger = await setup.hold("younger");
        await setup.schedule(younger);
        await setup.environment.advance(10);
        for (let i = 0; i < 3; i++) await setup.schedule(older);
        expect(await setup.leaseOneTask(BETA, { limit: 1 })).toMatchObject({ key: younger.key });
      },
    },
    {
      title: "a task of a higher priority is taken before those that wait equally long (16)",
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
      title: "waiting raises a task's rank by one priority every five minutes, exactly (K2)",
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
      title: "a request may say how long a wait is worth a priority (K2)",
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
      title: "tasks of two instances with one sequence are two tasks (K1)",
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
      title: "a task reads back as it stands in the queue",
      async run(setup) {
        const held = await setup.hold("a");
        const address = await setup.schedule(held);
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
