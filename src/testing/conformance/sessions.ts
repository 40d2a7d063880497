// Sessions: one owner at a time, claimed with the first task and let go when idle or lost (SE1–SE4).

import { expect } from "vitest";
import type { LeasedTask, SessionRequest } from "../../core/provider/index.ts";
import type { ContractSubject } from "./contract-case.ts";
import { ALPHA, BETA, fresh, GAMMA, outcomeText, registration, sessionsOf } from "./fixture.ts";
import type { Setup } from "./setup.ts";

const LEASE_MS = 60_000;

/** The inputs of what a runtime takes, as far as its sessions allow. */
async function take(
  setup: Setup,
  owner: string,
  fields: Partial<SessionRequest> & { limit?: number } = {},
): Promise<string[]> {
  const { limit = 100, ...rest } = fields;
  const sessions = { ...sessionsOf(owner), ...rest };
  const { tasks } = await setup.leaseTasks(owner, { limit, sessions });
  return tasks.map((task) => task.input);
}

async function takeOne(setup: Setup, owner: string): Promise<LeasedTask> {
  return setup.leaseOneTask(owner, { sessions: sessionsOf(owner) });
}

function complete(setup: Setup, task: LeasedTask) {
  return setup.commit({ kind: "completion", task, outcome: outcomeText(task.sequence) });
}

export const sessions: ContractSubject = {
  subject: "sessions",
  cases: [
    {
      title: "taking a session's task claims the session (SE1)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "cart" });
        expect(await setup.provider.listSessions()).toEqual([]);
        const task = await takeOne(setup, BETA);
        expect(task).toMatchObject({ session: "cart", sessionClaim: { id: "cart" } });
        const now = setup.environment.now();
        expect(await setup.provider.listSessions()).toEqual([
          { id: "cart", owner: BETA, until: now + LEASE_MS, lastActivityAt: now },
        ]);
      },
    },
    {
      title: "a task without a session claims none",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        expect((await takeOne(setup, BETA)).sessionClaim).toBeUndefined();
        expect(await setup.provider.listSessions()).toEqual([]);
      },
    },
    {
      title: "a session's tasks go to its owner and to nobody else (SE1)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "cart", input: "1" });
        expect(await take(setup, BETA)).toEqual(["1"]);
        await setup.schedule(held, { session: "cart", input: "2" });
        await setup.schedule(held, { input: "free" });
        expect(await take(setup, ALPHA)).toEqual(["free"]);
        expect(await take(setup, BETA)).toEqual(["2"]);
      },
    },
    {
      title: "one request takes several tasks of one session, which is claimed once",
      async run(setup) {
        const held = await setup.hold("a");
        for (const input of ["1", "2", "3"]) await setup.schedule(held, { session: "s", input });
        expect(await take(setup, BETA, { newMax: 1 })).toEqual(["1", "2", "3"]);
        expect(await setup.provider.listSessions()).toHaveLength(1);
      },
    },
    {
      title: "different sessions may have different owners",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s", input: "s1" });
        await setup.schedule(held, { session: "t", input: "t1" });
        expect(await take(setup, ALPHA, { newMax: 1 })).toEqual(["s1"]);
        expect(await take(setup, BETA)).toEqual(["t1"]);
        await setup.schedule(held, { session: "t", input: "t2" });
        await setup.schedule(held, { session: "s", input: "s2" });
        expect(await take(setup, ALPHA)).toEqual(["s2"]);
        expect(await take(setup, BETA)).toEqual(["t2"]);
      },
    },
    {
      title: "a session spans instances: its id is the store's",
      async run(setup) {
        const [a, b] = [await setup.hold("a"), await setup.hold("b")];
        await setup.schedule(a, { session: "s", input: "of a" });
        expect(await take(setup, BETA)).toEqual(["of a"]);
        await setup.schedule(b, { session: "s", input: "of b" });
        expect(await take(setup, ALPHA)).toEqual([]);
        expect(await take(setup, BETA)).toEqual(["of b"]);
      },
    },
    {
      title: "runtimes that name one owner share its sessions",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s", input: "1" });
        expect(await take(setup, ALPHA, { owner: "node" })).toEqual(["1"]);
        await setup.schedule(held, { session: "s", input: "2" });
        expect(await take(setup, BETA, { owner: "node" })).toEqual(["2"]);
        expect(await setup.provider.listSessions()).toMatchObject([{ owner: "node" }]);
      },
    },
    {
      title: "two runtimes that ask at once for one session: one gets it",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s" });
        await setup.schedule(held, { session: "s" });
        const shares = await Promise.all([
          take(setup, ALPHA, { limit: 1 }),
          take(setup, BETA, { limit: 1 }),
        ]);
        expect(shares.map((share) => share.length).toSorted()).toEqual([0, 1]);
      },
    },
    {
      title: "no more new sessions are served than asked for, the first ones first (15)",
      async run(setup) {
        const held = await setup.hold("a");
        for (const session of ["s", "t", "u"]) {
          await setup.schedule(held, { session, input: session });
          await setup.environment.advance(1);
        }
        expect(await take(setup, BETA, { newMax: 2 })).toEqual(["s", "t"]);
        expect(await take(setup, ALPHA)).toEqual(["u"]);
      },
    },
    {
      title: "at capacity only sessions in flight are served, and tasks without one (15)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s", input: "s1" });
        await setup.schedule(held, { session: "t", input: "t1" });
        await setup.schedule(held, { session: "s", input: "s2" });
        await setup.schedule(held, { input: "free" });
        const atCapacity = { newMax: 0, inFlight: ["s"] };
        expect((await take(setup, BETA, atCapacity)).toSorted()).toEqual(["free", "s1", "s2"]);
        expect(await take(setup, BETA, { newMax: 0, inFlight: [] })).toEqual([]);
      },
    },
    {
      title: "tasks of sessions that may not be claimed hide none of those that may (K3)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "first", input: "first" });
        await setup.environment.advance(1);
        for (let i = 0; i < 30; i++) await setup.schedule(held, { session: `other-${i}` });
        await setup.environment.advance(1);
        await setup.schedule(held, { session: "first", input: "again" });
        await setup.schedule(held, { session: "mine", input: "mine" });
        const fields = { newMax: 1, inFlight: ["mine"], limit: 3 };
        expect(await take(setup, BETA, fields)).toEqual(["first", "again", "mine"]);
      },
    },
    {
      title: "tasks of foreign sessions hide none of the caller's within the limit (K3)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "theirs" });
        await takeOne(setup, ALPHA);
        for (let i = 0; i < 20; i++) await setup.schedule(held, { session: "theirs" });
        await setup.schedule(held, { session: "mine", input: "mine" });
        expect(await take(setup, BETA, { limit: 1 })).toEqual(["mine"]);
      },
    },
    {
      title: "a session in flight that somebody else owns by now is not served (SE1)",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s" });
        await takeOne(setup, ALPHA);
        await setup.schedule(held, { session: "s" });
        expect(await take(setup, BETA, { newMax: 0, inFlight: ["s"] })).toEqual([]);
        expect(await take(setup, BETA, { newMax: 5, inFlight: ["s"] })).toEqual([]);
      },
    },
    {
      title: "session tasks keep their place among the others (K2)",
      async run(setup) {
        const held = await setup.hold("a");
        for (const [input, session] of [
          ["1", "s"],
          ["2", null],
          ["3", "t"],
          ["4", null],
        ] as const) {
          await setup.schedule(held, { input, session });
          await setup.environment.advance(1);
        }
        expect(await take(setup, BETA, { limit: 3 })).toEqual(["1", "2", "3"]);
        expect(await take(setup, BETA)).toEqual(["4"]);
      },
    },
    {
      title: "a session and tags must both fit",
      async run(setup) {
        const held = await setup.hold("a");
        await setup.schedule(held, { session: "s", tags: ["gpu"], input: "tagged" });
        await setup.schedule(held, { session: "s", input: "plain" });
        const ask = (tags: readonly string[]) =>
          setup.leaseTasks(BETA, {
            tags: { tags, untagged: false },
            sessions: sessionsOf(BETA),
          });
        expect((await ask(["cpu"])).tasks).toEqual([]);
        expect(await setup.provider.listSessions()).toEqual([]);
        expect((await ask(["gpu"])).tasks.map((task) => task.input)).toEqual(["tagged"]);
      },
    },
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
        expect((await ask(BETA)).tasks).toMatchObject([{ attempt: 1, suspect: true }]);
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
        expect(await take(setup, ALPHA)).toHaveLength(1);
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
    {
      title: "a request that takes nothing claims nothing",
      async run(setup) {
        await setup.schedule(await setup.hold("a"), { session: "s" });
        const nothing = { sessions: sessionsOf(BETA), names: ["another"] };
        expect((await setup.leaseTasks(BETA, nothing)).tasks).toEqual([]);
        const unknown = { sessions: sessionsOf("ghost"), token: fresh() };
        expect((await setup.leaseTasks("ghost", unknown)).tasks).toEqual([]);
        expect(await setup.provider.listSessions()).toEqual([]);
      },
    },
  ],
};
