// Commits with an unknown outcome: a connection is lost before the COMMIT, after it, or while it is still in flight. Every
// outcome is settled permanently (I14, P2).

import pg from "pg";
import { describe, expect, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { Committer } from "../../../src/core/commit/committer.ts";
import type { PostgresProvider } from "../../../src/postgres/index.ts";
import {
  ALPHA,
  askItem,
  eventText,
  fresh,
  newTask,
  sendItem,
  startItem,
  TARGETS,
  turnItem,
  type Held,
} from "../../../src/testing/conformance/fixture.ts";
import { cuttingProxy, type Cut } from "./cutting-proxy.ts";
import { postgres } from "../../support/postgres.ts";
import { openStoreFor, ownSchema, startRuntime, until } from "./support.ts";

/** A store behind a proxy, and the same store with a direct connection. */
async function behindProxy() {
  const proxy = await cuttingProxy();
  const schema = ownSchema();
  const direct = await openStoreFor([ALPHA], { schema });
  const provider = await openStoreFor([], { schema, target: proxy.url });
  return { proxy, direct, provider, schema };
}

/** An instance leased by ALPHA. */
async function hold(provider: PostgresProvider, id: string): Promise<Held> {
  const token = fresh();
  const item = startItem({ id, lease: { owner: ALPHA, token } });
  const [result] = await provider.commit([item]);
  if (result?.kind !== "started") throw new Error("the instance was not started");
  return { id, runId: item.runId, key: result.key, execution: 1, token, lastEvent: 0 };
}

describe("a turn whose connection is lost", () => {
  test.each<[Cut, boolean]>([
    ["before", false],
    ["after", true],
    ["late", false],
  ])("%s its COMMIT is settled with its real outcome", async (cut, isWritten) => {
    const { proxy, direct, provider } = await behindProxy();
    const held = await hold(provider, "a");
    const turn = turnItem(held, { events: [eventText()], tasks: [newTask({ sequence: 9 })] });
    const lost = proxy.lose(cut);
    await expect(provider.commit([turn])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await lost;
    expect((await provider.settle(turn))?.kind).toBe(isWritten ? "committed" : undefined);
    expect(await direct.readTasks(held)).toHaveLength(isWritten ? 1 : 0);
  });

  test("with the COMMIT in flight is refused when it arrives after it was settled", async () => {
    const { proxy, direct, provider } = await behindProxy();
    const held = await hold(provider, "a");
    const turn = turnItem(held, { events: [eventText()] });
    const lost = proxy.lose("late");
    await expect(provider.commit([turn])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await lost;
    expect(await provider.settle(turn)).toBeNull();
    expect(await proxy.deliverLate()).toContain("barred");
    expect(await direct.readHistory(held)).toEqual([]);
    expect(await provider.commit([turn])).toMatchObject([{ kind: "committed" }]);
    expect(await direct.readHistory(held)).toHaveLength(1);
  });

  test("while the server still executes it is settled only after the execution", async () => {
    const { proxy, direct, provider, schema } = await behindProxy();
    const held = await hold(provider, "a");
    const turn = turnItem(held, { events: [eventText()] });
    const lost = proxy.lose("late");
    await expect(provider.commit([turn])).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
    await lost;
    // Another transaction holds the row, so that the turn is still running when it is settled.
    const holding = await rowLock(schema, "a");
    const answered = proxy.deliverLate();
    await until("the turn waits for the row", async () => (await countWaiting()) > 0);
    const settled = provider.settle(turn);
    let isSettled = false;
    void settled.then(() => (isSettled = true));
    await until("settling waits too", async () => isSettled || (await countWaiting()) !== 1);
    await holding.release();
    await answered;
    const isWritten = (await direct.readHistory(held)).length === 1;
    expect((await settled) !== null).toBe(isWritten);
  });
});

describe("through the committer", () => {
  test.each<Cut>(["before", "after", "late"])(
    "starts, sends and asks whose connection is lost %s their COMMIT are each executed once",
    async (cut) => {
      const { proxy, direct, provider } = await behindProxy();
      const committer = Committer.of(provider);
      await provider.commit([startItem({ id: "there" })]);
      const lost = proxy.lose(cut);
      const results = Promise.all([
        committer.submit(startItem({ id: "new", requestId: "r" })),
        committer.submit(sendItem({ id: "there", requestId: "s" })),
        committer.submit(askItem({ id: "there", requestId: "s" })),
      ]);
      await lost;
      const kindsOfResults = (await results).map(({ kind }) => kind);
      expect(kindsOfResults).toEqual(["started", "done", "asked"]);
      if (cut === "late") await proxy.deliverLate();
      const { key } = (await direct.readInstance("there")) ?? { key: -1 };
      const kinds = (await direct.readInbox(key)).map(({ kind }) => kind);
      expect(kinds).toEqual(["start", "event", "event"]);
      const { key: newKey } = (await direct.readInstance("new")) ?? { key: -1 };
      expect(await direct.readInbox(newKey)).toHaveLength(1);
    },
  );
});

describe("a lease whose answer is lost", () => {
  test.each<Cut>(["before", "after", "late"])(
    "%s its COMMIT strands no instance: a repeated request returns the leased instances",
    async (cut) => {
      const { proxy, direct, provider } = await behindProxy();
      const ids = ["a", "b", "c"];
      await direct.commit(ids.map((id) => startItem({ id })));
      const request = {
        owner: ALPHA,
        token: fresh(),
        limit: 10,
        targets: TARGETS,
        allowSuspect: false,
        messagesMax: 10,
      };
      const lost = proxy.lose(cut);
      const first = provider.leaseInstances(request);
      await expect(first).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      await lost;
      const { instances } = await provider.leaseInstances({ ...request, again: true });
      if (cut === "late") await proxy.deliverLate();
      expect(instances.map(({ id }) => id).toSorted()).toEqual(ids);
      expect(
        instances.every(({ fresh: isFresh, token }) => isFresh && token === request.token),
      ).toBe(true);
    },
  );
});

test("instances complete, and each activity is recorded once, with every sixth commit lost", async () => {
  const { proxy, provider } = await behindProxy();
  const add = activity("add", async (n: number) => n + 1);
  const life = orchestration("life", async (ctx, n: number) => {
    let value = n;
    for (let i = 0; i < 20; i++) value = await ctx.run(add, value);
    return value;
  });
  const { client } = await startRuntime(provider, [add, life]);
  let lost = 0;
  void (async () => {
    for (;;) {
      await proxy.lose(lost % 2 === 0 ? "after" : "before", 5);
      lost += 1;
    }
  })();
  const handles = await Promise.all([0, 100, 200].map((n) => client.start(life, n)));
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual([20, 120, 220]);
  expect(lost).toBeGreaterThan(3);
  for (const handle of handles) {
    const history = await handle.history();
    const outcomes = history.filter(({ kind }) => kind === "ActivityCompleted");
    expect(outcomes).toHaveLength(20);
  }
});

/** The number of connections that wait for a lock. */
async function countWaiting(): Promise<number> {
  const { query } = await postgres();
  const rows = await query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
  return rows.length;
}

/** Locks the row of an instance until it is released. */
async function rowLock(schema: string, id: string) {
  const client = new pg.Client((await postgres()).url);
  await client.connect();
  await client.query("BEGIN");
  await client.query(`SELECT 1 FROM ${schema}.instances WHERE id = $1 FOR UPDATE`, [id]);
  return {
    async release() {
      await client.query("ROLLBACK");
      await client.end();
    },
  };
}
