// Sessions: one owner at a time, claimed with the first task; how many at once (SE1, semantics 15, K3).

import { expect } from "vitest";
import type { LeasedTask, SessionRequest } from "../../core/provider/index.ts";
import type { ContractSubject } from "./contract-case.ts";
import { ALPHA, BETA, fresh, sessionsOf } from "./fixture.ts";
import type { Setup } from "./setup.ts";

/** What `sessionsOf` asks for. */
export const LEASE_MS = 60_000;

/** The inputs of what a runtime takes, as far as its sessions allow. */
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
