// Users' transactions on PostgreSQL: long-running ones, late commits, and transactions that the store refuses.

import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { orchestration } from "../../../src/index.ts";
import { postgres } from "../../support/postgres.ts";
import { refusalOf } from "../../faults/trouble/support.ts";
import { until } from "../../stores/postgres/support.ts";
import { postgresShop } from "./shops.ts";

const echo = orchestration("echo", async (_, value: string) => value);
const collects = orchestration("collects", async (ctx, count: number) => {
  const got: unknown[] = [];
  while (got.length < count) got.push(await ctx.waitFor("go"));
  return got;
});
const register = [echo, collects];
const TIMEOUT = { timeout: "10s" } as const;

describe("an open transaction", () => {
  test("blocks no other commit, not even commits of the instances that it has written to (32)", async () => {
    const { client, begin } = await postgresShop({ register });
    const receiver = await client.start(collects, 41, { id: "receiver" });
    const open = await begin();
    await receiver.raise("go", "late", { tx: open.tx });
    await client.start(echo, "x", { id: "uncommitted", tx: open.tx });
    // A commit that waited for the open transaction would never return.
    for (let n = 0; n < 40; n++) await receiver.raise("go", n); // each event makes one turn of the receiver
    const others = Array.from({ length: 64 }, (_, n) => client.start(echo, `${n}`));
    for (const handle of await Promise.all(others)) await handle.result(TIMEOUT);
    const same = client.start(echo, "y", { id: "uncommitted" }); // waits alone, because the open transaction may roll back
    await open.rollback();
    expect(await (await same).result(TIMEOUT)).toBe("y");
  });

  test("delivers its events after those that were committed earlier (P7)", async () => {
    const { client, begin } = await postgresShop({ register });
    const receiver = await client.start(collects, 3, { id: "receiver" });
    const [first, second] = [await begin(), await begin()];
    await receiver.raise("go", "first", { tx: first.tx });
    await receiver.raise("go", "second", { tx: second.tx });
    await receiver.raise("go", "direct");
    await second.commit();
    await until("both are read", async () => (await receiver.history()).length >= 6);
    await first.commit();
    expect(await receiver.result(TIMEOUT)).toEqual(["direct", "second", "first"]);
  });

  test("that commits after its receiver ended leaves an unread event, and after its deletion nothing", async () => {
    const { client, begin, provider } = await postgresShop({ register });
    const [ended, deleted] = [
      await client.start(collects, 1, { id: "ended" }),
      await client.start(collects, 1, { id: "deleted" }),
    ];
    const open = await begin();
    for (const handle of [ended, deleted]) await handle.raise("go", "late", { tx: open.tx });
    await ended.terminate("enough");
    await client.delete("deleted", { force: true });
    await open.commit();
    expect((await ended.unread()).items).toMatchObject([{ name: "go", data: "late" }]);
    expect(await provider.peek({ owner: "any-runtime" })).toMatchObject({ instances: false });
  });

  test("delays another start with the same id until its commit or rollback", async () => {
    const { client, begin } = await postgresShop({ register });
    for (const end of ["commit", "rollback"] as const) {
      const [first, second] = [await begin(), await begin()];
      await client.start(echo, "first", { id: end, tx: first.tx });
      const started = client.start(echo, "second", { id: end, tx: second.tx });
      const outcome = started.then(
        () => "started",
        (error: { code: string }) => error.code,
      );
      await until("the second start waits for a lock", async () => (await countWaiting()) > 0);
      await first[end]();
      expect(await outcome).toBe(end === "commit" ? "INSTANCE_EXISTS" : "started");
      await second.commit();
      expect(await client.get(end).result(TIMEOUT)).toBe(end === "commit" ? "first" : "second");
    }
  });
});

test("a later event does not overtake committed events that are not delivered yet (P7)", async () => {
  const { client, begin } = await postgresShop({ notifications: false });
  const receiver = await client.start("unregistered", undefined, { id: "receiver" });
  const transaction = await begin();
  for (const n of [1, 2]) await receiver.raise("go", n, { tx: transaction.tx });
  await transaction.commit();
  await receiver.raise("go", 3);
  const unread = (await receiver.unread()).items;
  expect(unread.map(({ data }) => data)).toEqual([1, 2, 3]);
});

test("without notifications a committed transaction is found by polling", async () => {
  const runtime = { pollIntervalMs: 50 };
  const { client, begin } = await postgresShop({ register, runtime, notifications: false });
  const receiver = await client.start(collects, 1, { id: "receiver" });
  const transaction = await begin();
  await receiver.raise("go", "found", { tx: transaction.tx });
  const started = await client.start(echo, "found", { tx: transaction.tx });
  await transaction.commit();
  expect(await receiver.result(TIMEOUT)).toEqual(["found"]);
  expect(await started.result(TIMEOUT)).toBe("found");
});

test("a receiver whose row is locked by another session does not delay events of other receivers (32)", async () => {
  const { client, begin, connect, schema } = await postgresShop({ register });
  const ids = ["a", "held", "z"];
  const handles = await Promise.all(ids.map((id) => client.start(collects, 1, { id })));
  const locker = await connect();
  await locker.query("BEGIN");
  await locker.query(`SELECT 1 FROM ${schema}.instances WHERE id = 'held' FOR UPDATE`);
  const transaction = await begin();
  for (const handle of handles) await handle.raise("go", handle.id, { tx: transaction.tx });
  await transaction.commit();
  expect(await handles[0]?.result(TIMEOUT)).toEqual(["a"]);
  expect(await handles[2]?.result(TIMEOUT)).toEqual(["z"]);
  await locker.query("ROLLBACK");
  expect(await handles[1]?.result(TIMEOUT)).toEqual(["held"]);
});

describe("an invalid transaction is refused before anything is written", () => {
  test.each<[string, string, (client: pg.Client, url: string) => Promise<object>]>([
    [
      "a pool",
      "BEGIN first",
      async (_, url) => {
        const pool = new pg.Pool({ connectionString: url, max: 2 });
        onTestFinished(() => pool.end());
        return pool;
      },
    ],
    [
      "a released client",
      "BEGIN first",
      async (_, url) => {
        const pool = new pg.Pool({ connectionString: url, max: 1 });
        onTestFinished(() => pool.end());
        const client = await pool.connect();
        await client.query("BEGIN");
        await client.query("COMMIT");
        client.release();
        return client;
      },
    ],
    [
      "a closed client",
      "closed",
      async (_, url) => {
        const client = new pg.Client(url);
        await client.connect();
        await client.query("BEGIN");
        await client.end();
        return client;
      },
    ],
    [
      "a failed transaction",
      "roll it back",
      async (client) => {
        await client.query("BEGIN");
        await client.query("SELECT 1 / 0").catch(() => undefined);
        return client;
      },
    ],
    [
      "a read-only transaction",
      "read-only",
      async (client) => {
        await client.query("BEGIN READ ONLY");
        return client;
      },
    ],
    [
      "a transaction on another database",
      "another database",
      async (_, url) => {
        const other = new URL(url);
        other.pathname = "/template1";
        const client = new pg.Client(other.toString());
        await client.connect();
        onTestFinished(() => client.end());
        await client.query("BEGIN");
        return client;
      },
    ],
  ])("%s", async (_, why, make) => {
    const { client, connect, url } = await postgresShop();
    const tx = await make(await connect(), url);
    const refusal = await refusalOf(client.start("x", undefined, { id: "a", tx }));
    expect(refusal).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(refusal.message).toContain(why);
    expect(await client.count()).toBe(0);
  });
});

test("the client does not change settings of the user's transaction", async () => {
  const { client, begin } = await postgresShop({ register });
  const transaction = await begin();
  const user = transaction.tx as pg.Client;
  await user.query("SET LOCAL lock_timeout = '7s'");
  const settings = async () => {
    const sql = "SELECT name, setting FROM pg_settings WHERE name NOT LIKE '%.%'";
    return (await user.query<{ name: string }>(sql)).rows;
  };
  const before = await settings();
  const handle = await client.start(collects, 1, { tx: user });
  await handle.raise("go", 1, { tx: user });
  expect(await settings()).toEqual(before);
  await transaction.commit();
  expect(await handle.result(TIMEOUT)).toEqual([1]);
});

async function countWaiting(): Promise<number> {
  const { query } = await postgres();
  const rows = await query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
  return rows.length;
}
