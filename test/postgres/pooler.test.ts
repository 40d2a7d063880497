// Behind a pooler that gives every transaction another connection, as PgBouncer in transaction mode does: nothing may
// be left on a session, nor be looked for there.

import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { activity, orchestration } from "../../src/index.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { startItem } from "../../src/testing/conformance/fixture.ts";
import { postgres } from "../support/postgres.ts";
import { ownSchema, startRuntime } from "./support.ts";

/** A pool that hands out a connection and wipes it when it comes back, as a pooler does between two users. */
async function wipingPool(seen: string[]): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: (await postgres()).url, max: 3 });
  onTestFinished(() => pool.end());
  const connect = pool.connect.bind(pool);
  const wiping = async (): Promise<pg.PoolClient> => {
    const client = await connect();
    const release = client.release.bind(client);
    client.release = (broken) => {
      if (broken) return release(broken);
      void look(client, seen)
        .then(() => client.query("DISCARD ALL"))
        .then(() => release(), release);
    };
    return client;
  };
  pool.connect = wiping as typeof pool.connect;
  return pool;
}

/** What a user of the connection has left behind. */
async function look(client: pg.PoolClient, seen: string[]): Promise<void> {
  const { rows } = await client.query<{ left: string }>(`
    SELECT 'statement ' || name AS left FROM pg_prepared_statements
    UNION ALL SELECT 'lock' FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'
    UNION ALL SELECT 'setting ' || name FROM pg_settings
      WHERE source = 'session' AND name NOT IN ('application_name', 'client_encoding', 'DateStyle')
    UNION ALL SELECT 'listening' WHERE EXISTS (SELECT 1 FROM pg_listening_channels())`);
  seen.push(...rows.map((row) => row.left));
}

test("a store without notifications leaves nothing on its sessions, and needs nothing there", async () => {
  const left: string[] = [];
  const pool = await wipingPool(left);
  const store = await PostgresProvider.open(pool, { schema: ownSchema(), notifications: false });
  onTestFinished(() => store.close());
  const add = activity("add", async (n: number) => n + 1);
  const life = orchestration("life", async (ctx, n: number) => {
    let value = n;
    for (let i = 0; i < 5; i++) value = await ctx.run(add, value);
    await ctx.sleep(10);
    return value;
  });
  const { client } = await startRuntime(store, [add, life], { pollIntervalMs: 50 });
  const handles = await Promise.all([1, 2, 3].map((n) => client.start(life, n)));
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual([6, 7, 8]);
  expect([...new Set(left)]).toEqual([]);
});

test("prepared statements are had by asking for them", async () => {
  const left: string[] = [];
  const pool = new pg.Pool({ connectionString: (await postgres()).url, max: 1 });
  onTestFinished(() => pool.end());
  const options = { schema: ownSchema(), notifications: false, prepare: true };
  const store = await PostgresProvider.open(pool, options);
  onTestFinished(() => store.close());
  await store.commit([startItem({ id: "a" })]);
  const client = await pool.connect();
  await look(client, left);
  client.release();
  expect(left.some((what) => what.startsWith("statement perdure_"))).toBe(true);
});

test("a connection that has forgotten its prepared statements is replaced", async () => {
  const pool = new pg.Pool({ connectionString: (await postgres()).url, max: 2 });
  onTestFinished(() => pool.end());
  const store = await PostgresProvider.open(pool, { schema: ownSchema() });
  onTestFinished(() => store.close());
  await store.commit([startItem({ id: "a" })]);
  const client = await pool.connect();
  await client.query("DEALLOCATE ALL");
  client.release();
  await expect(store.commit([startItem({ id: "b" })])).rejects.toMatchObject({
    code: "STORE_UNAVAILABLE",
  });
  expect(await store.commit([startItem({ id: "b" })])).toMatchObject([{ kind: "started" }]);
});
