// Contract of sessions: a session has one owner at a time, which claims it with its first task. The number of
// sessions per owner is limited (sessions.1, semantics 15, provider.tasks.3).

import { expect } from "vitest";
import type { LeasedTask, SessionRequest } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import { ALPHA, BETA, fresh, sessionsOf } from "../fixture.ts";
import type { Setup } from "../setup.ts";

/** The lease duration of `sessionsOf`. */
export const LEASE_MS = 60_000;

/** Leases the tasks that the sessions of a runtime allow; returns their inputs. */
export async function take(
  setup: Setup,
  owner: string,
  fields: Partial<SessionRequest> & { limit?: number } = {},
): Promise<string[]> {
  const { limit = 100, ...rest } = fields;
  const sessions = { ...sessionsOf(owner), ...rest };
  const { tasks } = await setup.leaseTasks(owner, { limit, sessions });
  return tasks.map((task) => task.input);
}

export async function takeOne(setup: Setup, owner: string): Promise<LeasedTask> {
  return setup.leaseOneTask(owner, { sessions: sessionsOf(owner) });
}

export const sessions: ContractSubject = {
  subject: "sessions",
  cases: [
    {
      title: "leasing a task of a session claims the session (sessions.1)",
      async run(setup) {
        await setup.holdTask("a", { session: "cart" });
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
      title: "a task without a session claims no session",
      async run(setup) {
        await setup.schedule(await setup.hold("a"));
        expect((await takeOne(setup, BETA)).sessionClaim).toBeUndefined();
        expect(await setup.provider.listSessions()).toEqual([]);
      },
    },
    {
      title: "tasks of a session are leased only to its owner (sessions.1)",
      async run(setup) {
        const { held } = await setup.holdTask("a", { session: "cart", input: "1" });
        expect(await take(setup, BETA)).toEqual(["1"]);
        await setup.schedule(held, { session: "cart", input: "2" });
        await setup.schedule(held, { input: "free" });
        expect(await take(setup, ALPHA)).toEqual(["free"]);
        expect(await take(setup, BETA)).toEqual(["2"]);
      },
    },
    {
      title: "one request leases several tasks of one session and claims it once",
      async run(setup) {
        const held = await setup.hold("a");
        for (const input of ["1", "2", "3"]) await setup.schedule(held, { session: "s", input });
        expect(await take(setup, BETA, { newMax: 1 })).toEqual(["1", "2", "3"]);
        expect(await setup.provider.listSessions()).toHaveLength(1);
      },
    },
    {
      title: "different sessions can have different owners",
      async run(setup) {
        const { held } = await setup.holdTask("a", { session: "s", input: "s1" });
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
      title: "tasks of several instances can share one session",
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
      title: "runtimes that name the same owner share its sessions",
      async run(setup) {
        const { held } = await setup.holdTask("a", { session: "s", input: "1" });
        expect(await take(setup, ALPHA, { owner: "node" })).toEqual(["1"]);
        await setup.schedule(held, { session: "s", input: "2" });
        expect(await take(setup, BETA, { owner: "node" })).toEqual(["2"]);
        expect(await setup.provider.listSessions()).toMatchObject([{ owner: "node" }]);
      },
    },
    {
      title: "if two runtimes request the same session concurrently, only one gets it",
      async run(setup) {
        const held = await setup.hold("a");
        // Several times: the calls of one round may not overlap.
        for (let round = 1; round <= 10; round += 1) {
          const session = `s-${round}`;
          for (let task = 0; task < 2; task += 1) await setup.schedule(held, { session });
          const shares = await Promise.all([
            take(setup, ALPHA, { limit: 1 }),
            take(setup, BETA, { limit: 1 }),
          ]);
          expect(shares.map((share) => share.length).toSorted()).toEqual([0, 1]);
          expect(await take(setup, shares[0].length === 1 ? ALPHA : BETA)).toHaveLength(1);
        }
      },
    },
    {
      title: "a request claims at most newMax sessions, the longest waiting first (15)",
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
      title:
        "at capacity, only tasks of sessions in flight and tasks without a session are leased (15)",
      async run(setup) {
        const { held } = await setup.holdTask("a", { session: "s", input: "s1" });
        await setup.schedule(held, { session: "t", input: "t1" });
        await setup.schedule(held, { session: "s", input: "s2" });
        await setup.schedule(held, { input: "free" });
        const atCapacity = { newMax: 0, inFlight: ["s"] };
        expect((await take(setup, BETA, atCapacity)).toSorted()).toEqual(["free", "s1", "s2"]);
        expect(await take(setup, BETA, { newMax: 0, inFlight: [] })).toEqual([]);
      },
    },
    {
      title: "tasks of sessions that cannot be claimed do not hide other tasks (provider.tasks.3)",
      async run(setup) {
        const { held } = await setup.holdTask("a", { session: "first", input: "first" });
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
      title: "tasks of sessions of another owner do not fill the limit (provider.tasks.3)",
      async run(setup) {
        const { held } = await setup.holdTask("a", { session: "theirs" });
        await takeOne(setup, ALPHA);
        for (let i = 0; i < 20; i++) await setup.schedule(held, { session: "theirs" });
        await setup.schedule(held, { session: "mine", input: "mine" });
        expect(await take(setup, BETA, { limit: 1 })).toEqual(["mine"]);
      },
    },
    {
      title:
        "tasks of a session in flight are not leased after another owner has claimed it (sessions.1)",
      async run(setup) {
        const { held } = await setup.holdTask("a", { session: "s" });
        await takeOne(setup, ALPHA);
        await setup.schedule(held, { session: "s" });
        expect(await take(setup, BETA, { newMax: 0, inFlight: ["s"] })).toEqual([]);
        expect(await take(setup, BETA, { newMax: 5, inFlight: ["s"] })).toEqual([]);
      },
    },
    {
      title: "tasks of sessions keep their order among other tasks (provider.tasks.2)",
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
      title: "a request must match both the session and the tags of a task",
      async run(setup) {
        const { held } = await setup.holdTask("a", {
          session: "s",
          tags: ["gpu"],
          input: "tagged",
        });
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
      title: "a request that leases no task claims no session",
      async run(setup) {
        await setup.schedule(await setup.hold("a"), { session: "s" });
        const nothing = { sessions: sessionsOf(BETA), names: ["another"] };
        await setup.leaseNoTask(BETA, nothing);
        const unknown = { sessions: sessionsOf("ghost"), token: fresh() };
        await setup.leaseNoTask("ghost", unknown);
        expect(await setup.provider.listSessions()).toEqual([]);
      },
    },
  ],
};
