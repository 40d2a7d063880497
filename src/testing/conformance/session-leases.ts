// Session leases: prolonged while in use, lapsing when idle, given up by who leaves (SE1–SE4).

import { expect } from "vitest";
import type { LeasedTask } from "../../core/provider/index.ts";
import type { ContractSubject } from "./contract-case.ts";
import { ALPHA, BETA, GAMMA, outcomeText, registration, sessionsOf } from "./fixture.ts";
import { LEASE_MS, take, takeOne } from "./sessions.ts";
import type { Setup } from "./setup.ts";

function complete(setup: Setup, task: LeasedTask) {
  return setup.commit({ kind: "completion", task, outcome: outcomeText(task.sequence) });
}

export const sessionLeases: ContractSubject = {
  subject: "session leases",
  cases: [
    {
      title: "a session that lapsed is claimed by whoever asks (SE2)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s" });
        await takeOne(setup, BETA);
        await setup.schedule(held, { session: "s", input: "2" });
        await setup.environment.advance(LEASE_MS - 1);
        const waits = await setup.leaseTasks(ALPHA, { sessions: sessionsOf(ALPHA) });
        expect(waits).toEqual({ tasks: [], more: false, nextAt: setup.environment.now() + 1 });
        await setup.environment.advance(1);
        expect(await take(setup, ALPHA)).toEqual(["2"]);
        expect(await setup.provider.listSessions()).toMatchObject([{ owner: ALPHA }]);
      },
    },
    {
      title: "a lapsed session does not take its running task's result (SE3)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s" });
        const task = await takeOne(setup, BETA);
        await setup.environment.advance(LEASE_MS);
        await setup.schedule(held, { session: "s" });
        await takeOne(setup, ALPHA);
        expect(await complete(setup, task)).toEqual({ kind: "done" });
      },
    },
    {
      title: "renewal prolongs what was used within the idle time (SE2)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s" });
        await takeOne(setup, BETA);
        await setup.environment.advance(1_000);
        const renew = { owner: BETA, leaseMs: LEASE_MS, idleMs: 10_000 };
        expect(await setup.provider.renewSessions(renew)).toBe(1);
        const until = setup.environment.now() + LEASE_MS;
        expect(await setup.provider.listSessions()).toMatchObject([{ until }]);
        await setup.environment.advance(9_000);
        expect(await setup.provider.renewSessions(renew)).toBe(0);
        expect(await setup.provider.listSessions()).toMatchObject([{ until }]);
      },
    },
    {
      title: "renewal does not count as activity",
      async run(setup) {
        await setup.schedule(await setup.hold("a"), { session: "s" });
        await takeOne(setup, BETA);
        const lastActivityAt = setup.environment.now();
        await setup.environment.advance(1_000);
        await setup.provider.renewSessions({ owner: BETA, leaseMs: LEASE_MS, idleMs: 10_000 });
        expect(await setup.provider.listSessions()).toMatchObject([{ lastActivityAt }]);
      },
    },
    {
      title: "renewal revives no lapsed session and touches nobody else's (SE2)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s" });
        await takeOne(setup, BETA);
        const renew = { leaseMs: LEASE_MS, idleMs: 10 * LEASE_MS };
        expect(await setup.provider.renewSessions({ ...renew, owner: ALPHA })).toBe(0);
        await setup.environment.advance(LEASE_MS);
        expect(await setup.provider.renewSessions({ ...renew, owner: BETA })).toBe(0);
      },
    },
    {
      title: "how long a wait is worth a priority goes for a session's tasks, too (K2)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s" });
        await takeOne(setup, BETA);
        // The session is served already, and no further one may be.
        const sessions = { ...sessionsOf(BETA), inFlight: ["s"], newMax: 0 };
        for (const [ageingMs, first] of [
          [4_999, "patient"],
          [5_001, "urgent"],
        ] as const) {
          await setup.schedule(held, { session: "s", priority: 5, input: "patient" });
          await setup.environment.advance(10_000);
          await setup.schedule(held, { session: "s", priority: 3, input: "urgent" });
          const request = { sessions, limit: 1, ageingMs };
          expect((await setup.leaseOneTask(BETA, request)).input).toBe(first);
          await setup.leaseOneTask(BETA, request);
        }
      },
    },
    {
      title: "finishing, retrying and renewing a task are activity of its session (SE4)",
      async run(setup) {
        const held = await setup.hold("a");
        for (let i = 0; i < 4; i++) await setup.schedule(held, { session: "s" });
        const { tasks } = await setup.leaseTasks(BETA, { sessions: sessionsOf(BETA) });
        const [first, second, third, fourth] = tasks as [LeasedTask, ...LeasedTask[]] &
          Record<1 | 2 | 3, LeasedTask>;
        const steps = [
          () => complete(setup, first),
          () => setup.commit({ kind: "retry", task: second, delayMs: 9_999, failure: "{}" }),
          () => setup.provider.renewTasks([third], 1_000),
          () => setup.turn(held, { finished: [fourth] }),
        ];
        for (const step of steps) {
          await setup.environment.advance(100);
          await step();
          const lastActivityAt = setup.environment.now();
          expect(await setup.provider.listSessions()).toMatchObject([{ lastActivityAt }]);
        }
      },
    },
    {
      title: "the end of a task revives no lapsed session (SE4)",
      async run(setup) {
        await setup.schedule(await setup.hold("a"), { session: "s" });
        const task = await takeOne(setup, BETA);
        const before = await setup.provider.listSessions();
        await setup.environment.advance(LEASE_MS);
        await complete(setup, task);
        expect(await setup.provider.listSessions()).toEqual(before);
      },
    },
    {
      title: "the end of an old task is no activity of a session that has moved (SE4)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s" });
        const old = await takeOne(setup, BETA);
        await setup.environment.advance(LEASE_MS);
        await setup.schedule(held, { session: "s" });
        await takeOne(setup, ALPHA);
        const before = await setup.provider.listSessions();
        await setup.environment.advance(1);
        await complete(setup, old);
        expect(await setup.provider.listSessions()).toEqual(before);
      },
    },
    {
      title: "a session that is claimed again after a lapse has a new token (SE1)",
      async run(setup) {
        const held = await setup.hold("a");
        const claim = async () => {
          await setup.schedule(held, { session: "s" });
          return (await takeOne(setup, BETA)).sessionClaim?.token;
        };
        const first = await claim();
        expect(await claim()).toBe(first);
        await setup.environment.advance(LEASE_MS);
        expect(await claim()).not.toBe(first);
      },
    },
    {
      title: "a retried task stays with its session's owner (10)",
      async run(setup) {
        await setup.schedule(await setup.hold("a"), { session: "s", input: "x" });
        const task = await takeOne(setup, BETA);
        await setup.commit({ kind: "retry", task, delayMs: 0, failure: "{}" });
        expect(await take(setup, ALPHA)).toEqual([]);
        expect(await take(setup, BETA)).toEqual(["x"]);
      },
    },
    {
      title: "a task whose own lease ended is taken again by its session's owner only",
      async run(setup) {
        await setup.schedule(await setup.hold("a"), { session: "s" });
        const ask = (owner: string) =>
          setup.leaseTasks(owner, {
            sessions: sessionsOf(owner),
            allowSuspect: true,
            leaseMs: 100,
          });
        expect((await ask(BETA)).tasks).toHaveLength(1);
        await setup.environment.advance(100);
        expect((await ask(ALPHA)).tasks).toEqual([]);
        const without = await setup.leaseTasks(ALPHA, { sessions: null, allowSuspect: true });
        expect(without.tasks).toEqual([]);
        expect((await ask(BETA)).tasks).toMatchObject([{ attempt: 1, suspect: false }]);
      },
    },
    {
      title: "what an owner releases is free at once, and others keep theirs",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s" });
        await take(setup, BETA);
        await setup.schedule(held, { session: "t" });
        await take(setup, ALPHA);
        await setup.provider.releaseSessions(BETA);
        expect(await setup.provider.listSessions()).toMatchObject([{ id: "t", owner: ALPHA }]);
        await setup.schedule(held, { session: "s", input: "moved" });
        expect(await take(setup, ALPHA)).toEqual(["moved"]);
      },
    },
    {
      title: "a release tells that tasks may be waiting for it",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s" });
        await take(setup, BETA);
        let told = 0;
        const unsubscribe = setup.provider.subscribe((news) => (told += news.tasks ? 1 : 0));
        await setup.provider.releaseSessions("nobody");
        expect(told).toBe(0);
        await setup.provider.releaseSessions(BETA);
        expect(told).toBe(1);
        unsubscribe();
      },
    },
    {
      title: "a runtime that leaves or dies leaves its sessions to others at once",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.provider.registerRuntime(registration({ id: GAMMA }));
        await setup.schedule(held, { session: "s" });
        await setup.schedule(held, { session: "t" });
        await take(setup, GAMMA, { newMax: 1 });
        await take(setup, BETA);
        await setup.provider.removeRuntime(GAMMA);
        await setup.provider.expireRuntime({ id: BETA, staleMs: null });
        expect(await setup.provider.listSessions()).toEqual([]);
        expect(await take(setup, ALPHA)).toHaveLength(2);
      },
    },
    {
      title: "the end of a runtime leaves its node's sessions to those that share them",
      async run(setup) {
        await setup.schedule(await setup.hold("a"), { session: "s" });
        await take(setup, BETA, { owner: "node" });
        await setup.provider.removeRuntime(BETA);
        expect(await setup.provider.listSessions()).toMatchObject([{ owner: "node" }]);
      },
    },
    {
      title: "cleaning removes lapsed sessions that no task waits for",
      async run(setup) {
        const held = await setup.hold("a");
        for (const session of ["waits", "over"]) await setup.schedule(held, { session });
        await take(setup, BETA);
        await setup.schedule(held, { session: "waits" });
        expect(await setup.provider.cleanSessions()).toBe(0);
        await setup.environment.advance(LEASE_MS);
        expect(await setup.provider.cleanSessions()).toBe(1);
        expect(await setup.provider.listSessions()).toMatchObject([{ id: "waits" }]);
      },
    },
  ],
};
