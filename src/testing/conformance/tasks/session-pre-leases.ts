// Contract of tasks that a turn leases in a session: the turn is written only if the session is held under the
// token that the lease names (sessions.5).

import { expect } from "vitest";
import type { NewTask, SessionClaim, TurnItem } from "../../../core/provider/index.ts";
import type { ContractSubject } from "../contract-case.ts";
import {
  ALPHA,
  BETA,
  claimOf,
  fresh,
  type Held,
  newTask,
  refused,
  scheduledText,
  startItem,
  turnItem,
  VERSION,
} from "../fixture.ts";
import type { Setup } from "../setup.ts";
import { LEASE_MS, take, takeOne } from "./sessions.ts";

/** An instance of ALPHA, and the claim of ALPHA on the session "s". */
async function holdSession(setup: Setup): Promise<{ held: Held; claim: SessionClaim }> {
  const { held } = await setup.holdTask("a", { session: "s" });
  const { sessionClaim } = await takeOne(setup, ALPHA);
  if (sessionClaim === undefined) throw new Error("The leased task has no claim on its session.");
  return { held, claim: sessionClaim };
}

function leasedTask(sequence: number, claim: SessionClaim): NewTask {
  const lease = { owner: ALPHA, token: fresh(), sessionClaim: claim };
  return newTask({ sequence, session: claim.id, lease });
}

/** A turn that leases one task in the session of the claim. */
function leasingTurn(held: Held, claim: SessionClaim): TurnItem {
  const tasks = [leasedTask(held.lastEvent + 1, claim)];
  return turnItem(held, { events: [scheduledText()], tasks });
}

async function lose(setup: Setup): Promise<void> {
  await setup.environment.advance(LEASE_MS);
}

export const sessionPreLeases: ContractSubject = {
  subject: "session pre-leases",
  cases: [
    {
      title: "a turn leases a task in a session that its owner holds (sessions.5)",
      async run(setup) {
        const { held, claim } = await holdSession(setup);
        const item = leasingTurn(held, claim);
        const [task] = item.tasks;
        expect(await setup.commit(item)).toMatchObject({ kind: "committed" });
        expect(await take(setup, ALPHA)).toEqual([]);
        const address = { key: held.key, execution: 1, sequence: task?.sequence ?? 0 };
        const claimed = { ...claimOf(address, task?.lease?.token), sessionClaim: claim };
        expect(await setup.provider.lostTasks([claimed])).toEqual([]);
      },
    },
    {
      title: "a task that a turn leases counts as activity of its session (sessions.4)",
      async run(setup) {
        const { held, claim } = await holdSession(setup);
        await setup.environment.advance(1_000);
        await setup.commit(leasingTurn(held, claim));
        const lastActivityAt = setup.environment.now();
        const until = lastActivityAt - 1_000 + LEASE_MS;
        expect(await setup.provider.listSessions()).toEqual([
          { id: "s", owner: ALPHA, until, lastActivityAt },
        ]);
      },
    },
    {
      title: "a turn is refused if the session has expired, exactly at its end (sessions.5)",
      async run(setup) {
        const { held, claim } = await holdSession(setup);
        await setup.environment.advance(LEASE_MS - 1);
        const last = leasingTurn(held, claim);
        expect(await setup.commit(last)).toMatchObject({ kind: "committed" });
        held.lastEvent = last.row?.last ?? 0;
        await setup.environment.advance(1);
        const item = leasingTurn(held, claim);
        expect(await setup.commit(item)).toEqual(refused("LEASE_LOST"));
        expect(await setup.read("a")).toMatchObject({ lastEvent: held.lastEvent });
      },
    },
    {
      title: "a turn is refused if another owner has claimed the session (sessions.5)",
      async run(setup) {
        const { held, claim } = await holdSession(setup);
        await setup.schedule(held, { session: "s", input: "2" });
        await lose(setup);
        expect(await take(setup, BETA)).toEqual(["2"]);
        const before = await setup.provider.listSessions();
        await setup.environment.advance(1);
        expect(await setup.commit(leasingTurn(held, claim))).toEqual(refused("LEASE_LOST"));
        expect(await setup.provider.listSessions()).toEqual(before);
      },
    },
    {
      title: "a turn is refused if the owner has claimed the session again since (sessions.5)",
      async run(setup) {
        const { held, claim } = await holdSession(setup);
        await setup.schedule(held, { session: "s" });
        await lose(setup);
        const { sessionClaim } = await takeOne(setup, ALPHA);
        expect(await setup.commit(leasingTurn(held, claim))).toEqual(refused("LEASE_LOST"));
        const again = leasingTurn(held, sessionClaim ?? claim);
        expect(await setup.commit(again)).toMatchObject({ kind: "committed" });
      },
    },
    {
      title: "a turn is refused if the session was released (sessions.5)",
      async run(setup) {
        const { held, claim } = await holdSession(setup);
        await setup.provider.releaseSessions(ALPHA);
        expect(await setup.commit(leasingTurn(held, claim))).toEqual(refused("LEASE_LOST"));
        expect(await setup.provider.listSessions()).toEqual([]);
      },
    },
    {
      title: "a turn that leases tasks in two sessions needs both (sessions.5)",
      async run(setup) {
        const { held, claim } = await holdSession(setup);
        const other = { id: "t", token: fresh() };
        const sequence = held.lastEvent + 1;
        const tasks = [leasedTask(sequence, claim), leasedTask(sequence + 1, other)];
        const events = [scheduledText(), scheduledText()];
        const item = turnItem(held, { events, tasks });
        expect(await setup.commit(item)).toEqual(refused("LEASE_LOST"));
        expect(await setup.provider.readTasks(held)).toEqual([
          expect.objectContaining({ sequence: 2 }),
        ]);
      },
    },
    {
      title: "a turn that is refused for its session does not affect its group (commit.1)",
      async run(setup) {
        const { held, claim } = await holdSession(setup);
        const [b, c] = [await setup.hold("b"), await setup.hold("c")];
        const lost = { id: "s", token: fresh() };
        const items = [leasingTurn(b, claim), leasingTurn(held, lost), leasingTurn(c, claim)];
        await setup.environment.advance(5);
        const results = await setup.provider.commit(items);
        expect(results).toMatchObject([
          { kind: "committed" },
          refused("LEASE_LOST"),
          { kind: "committed" },
        ]);
        const lastActivityAt = setup.environment.now();
        expect(await setup.provider.listSessions()).toMatchObject([{ lastActivityAt }]);
      },
    },
    {
      title: "one turn can finish a task of a session and lease the next one in it",
      async run(setup) {
        const { held, claim } = await holdSession(setup);
        const item = leasingTurn(held, claim);
        await setup.commit(item);
        const sequence = held.lastEvent + 1;
        held.lastEvent = sequence;
        const token = item.tasks[0]?.lease?.token;
        const address = { key: held.key, execution: 1, sequence };
        const finished = [{ ...claimOf(address, token), sessionClaim: claim }];
        await setup.environment.advance(7);
        const tasks = [leasedTask(sequence + 1, claim)];
        await setup.turn(held, { events: [scheduledText()], tasks, finished });
        const lastActivityAt = setup.environment.now();
        expect(await setup.provider.listSessions()).toMatchObject([{ lastActivityAt }]);
      },
    },
    {
      title: "a start whose first turn needs a lost session is written without the turn (commit.5)",
      async run(setup) {
        const { claim } = await holdSession(setup);
        for (const [id, token] of [
          ["held", claim.token],
          ["lost", fresh()],
        ] as const) {
          const lease = { owner: ALPHA, token: fresh() };
          const start = startItem({ id, lease });
          const { runId, started } = start;
          const place = { id, runId, key: 0, execution: 1, token: lease.token, lastEvent: 0 };
          const tasks = [leasedTask(2, { id: "s", token })];
          const events = [started, scheduledText()];
          const firstTurn = turnItem(place, { events, tasks, version: VERSION });
          const result = await setup.commit({ ...start, firstTurn });
          expect(result).toMatchObject({ kind: "started" });
          const { lastEvent, key: at } = await setup.read(id);
          expect(lastEvent).toBe(id === "held" ? 2 : 0);
          expect(await setup.provider.readTasks({ key: at, execution: 1 })).toHaveLength(
            id === "held" ? 1 : 0,
          );
          if (id === "lost") expect(result).toHaveProperty("leased.kind", "start");
        }
      },
    },
  ],
};
