// Contract of session leases: they are renewed while in use, expire when idle, and are released at shutdown
// (sessions.1–sessions.4).

import { expect } from "vitest";
import type { LeasedTask } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, BETA, GAMMA, outcomeText, registration, sessionsOf } from "../fixture.ts";
import { LEASE_MS, take, takeOne } from "./sessions.ts";
import type { Setup } from "../setup.ts";

function complete(setup: Setup, task: LeasedTask) {
  return setup.commit({ kind: "completion", task, outcome: outcomeText(task.sequence) });
}

export const sessionLeases: ContractSubject = {
  subject: "session leases",
  cases: [
    {
      title: "any runtime can claim an expired session (sessions.2)",
      async run(setup) {
        const { held } = await setup.holdTask("a", { session: "s" });
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
      title: "a task that started in an expired session can still be completed (sessions.3)",
      async run(setup) {
        const { held } = await setup.holdTask("a", { session: "s" });
        const task = await takeOne(setup, BETA);
        await setup.environment.advance(LEASE_MS);
        await setup.schedule(held, { session: "s" });
        await takeOne(setup, ALPHA);
        expect(await complete(setup, task)).toEqual({ kind: "done" });
      },
    },
    {
      title: "a renewal extends sessions that were active within the idle time (sessions.2)",
      async run(setup) {
        await setup.holdTask("a", { session: "s" });
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
      title: "a renewal does not count as activity",
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
      title:
        "a renewal does not extend an expired session or a session of another owner (sessions.2)",
      async run(setup) {
        await setup.holdTask("a", { session: "s" });
        await takeOne(setup, BETA);
        const renew = { leaseMs: LEASE_MS, idleMs: 10 * LEASE_MS };
        expect(await setup.provider.renewSessions({ ...renew, owner: ALPHA })).toBe(0);
        await setup.environment.advance(LEASE_MS);
        expect(await setup.provider.renewSessions({ ...renew, owner: BETA })).toBe(0);
      },
    },
    {
      title:
        "the waiting time that is worth one priority level also applies to tasks of sessions (provider.tasks.2)",
      async run(setup) {
        const { held } = await setup.holdTask("a", { session: "s" });
        await takeOne(setup, BETA);
        // The runtime already owns this session, and it may not claim another one.
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
      title:
        "completing, retrying, renewing and finishing a task count as activity of its session (sessions.4)",
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
      title: "completing a task does not renew an expired session (sessions.4)",
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
      title:
        "completing an old task does not count as activity after the session has moved to another owner (sessions.4)",
      async run(setup) {
        const { held } = await setup.holdTask("a", { session: "s" });
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
      title: "a session that is claimed again after it expired has a new token (sessions.1)",
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
      title: "only the owner of a session can take its task again after the task lease expired",
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
      title: "released sessions are free at once, and other owners keep their sessions",
      async run(setup) {
        const { held } = await setup.holdTask("a", { session: "s" });
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
      title: "releasing a session sends a notification about waiting tasks",
      async run(setup) {
        await setup.holdTask("a", { session: "s" });
        await take(setup, BETA);
        let notified = 0;
        const unsubscribe = setup.provider.subscribe((news) => (notified += news.tasks ? 1 : 0));
        await setup.provider.releaseSessions("missing");
        expect(notified).toBe(0);
        await setup.provider.releaseSessions(BETA);
        expect(notified).toBe(1);
        unsubscribe();
      },
    },
    {
      title: "the sessions of a runtime that deregisters or dies are free at once",
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
      title: "the sessions of a node stay claimed when one of its runtimes deregisters",
      async run(setup) {
        await setup.schedule(await setup.hold("a"), { session: "s" });
        await take(setup, BETA, { owner: "node" });
        await setup.provider.removeRuntime(BETA);
        expect(await setup.provider.listSessions()).toMatchObject([{ owner: "node" }]);
      },
    },
    {
      title: "a cleanup removes expired sessions without waiting tasks",
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
