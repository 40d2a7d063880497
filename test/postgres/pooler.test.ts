// Behind a pooler that gives every transaction another connection, as PgBouncer in transaction mode does: nothing may
// be left on a session, nor be looked for there.

import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { activity, orchestration } from "../../src/index.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { startItem } from "../../src/testing/conformance/fixture.ts";
import { postgres } from "../support/postgres.ts";
import { poolingProxy } from "./pooling-proxy.ts";
import { openStore, ownSchema, startRuntime } from "./support.ts";

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

test("a connection that has forgotten its prepared statements is replaced, and the call succeeds", async () => {
  const pool = new pg.Pool({ connectionString: (await postgres()).url, max: 2 });
  onTestFinished(() => pool.end());
  const warnings = heardWarnings();
  const store = await PostgresProvider.open(pool, { schema: ownSchema() });
  onTestFinished(() => store.close());
  await store.commit([startItem({ id: "a" })]);
  const client = await pool.connect();
  await client.query("DEALLOCATE ALL");
  client.release();
  expect(await store.commit([startItem({ id: "b" })])).toMatchObject([{ kind: "started" }]);
  expect(await store.commit([startItem({ id: "c" })])).toMatchObject([{ kind: "started" }]);
  expect(warnings).toEqual([]);
});

describe("a pooler in transaction mode, with the default options", () => {
  test("is noticed: everything works without prepared statements, after one warning", async () => {
    const warnings = heardWarnings();
    const url = await poolingProxy(3);
    const schema = ownSchema();
    const store = await openStore({ target: url, schema });
    const add = activity("add", async (n: number) => n + 1);
    const life = orchestration("life", async (ctx, n: number) => {
      let value = n;
      for (let i = 0; i < 5; i++) value = await ctx.run(add, value);
      return value + (await ctx.step("step", () => 1));
    });
    const { client } = await startRuntime(store, [add, life], { pollIntervalMs: 50 });
    const handles = await Promise.all([1, 2, 3].map((n) => client.start(life, n)));
    expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual([7, 8, 9]);
    expect(await client.count({})).toBe(3);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(
      /transaction mode.*notifications: false.*perdure\.notifications=off/s,
    );
    // The next process meets statements that the first has left on the server's connections.
    const second = await openStore({ target: url, schema });
    expect(await second.countInstances({})).toBe(3);
    for (let n = 0; n < 10; n++) {
      expect(await second.commit([startItem({ id: `n${n}` })])).toMatchObject([
        { kind: "started" },
      ]);
    }
  });

  test("needs no warning where the address says that there is one", async () => {
    const warnings = heardWarnings();
    const schema = ownSchema();
    const address = `${await poolingProxy(3)}?perdure.notifications=off&perdure.schema=${schema}`;
    const store = await PostgresProvider.open(address);
    onTestFinished(() => store.close());
    for (let n = 0; n < 10; n++) await store.commit([startItem({ id: `n${n}` })]);
    expect(await store.countInstances({})).toBe(10);
    expect(warnings).toEqual([]);
  });
});

test("a connection whose ROLLBACK failed does not go back to the pool", async () => {
  const pool = new pg.Pool({ connectionString: (await postgres()).url, max: 1 });
  onTestFinished(() => pool.end());
  const options = { schema: ownSchema(), notifications: false };
  const store = await PostgresProvider.open(pool, options);
  onTestFinished(() => store.close());
  const { schema } = options;
  const { query } = await postgres();
  await query(`CREATE FUNCTION ${schema}.fail() RETURNS trigger LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'not today'; END $$`);
  await query(`CREATE TRIGGER fail BEFORE INSERT ON ${schema}.instances
    FOR EACH ROW EXECUTE FUNCTION ${schema}.fail()`);
  const client = await pool.connect();
  const pid = await pidOf(client);
  const parse = client.connection.parse.bind(client.connection);
  client.connection.parse = (wanted, more) =>
    parse(wanted.text === "ROLLBACK" ? { ...wanted, text: "ROLLBACKS" } : wanted, more);
  client.release();
  await expect(store.commit([startItem({ id: "a" })])).rejects.toThrow("not today");
  const next = await pool.connect();
  onTestFinished(() => next.release());
  expect(await pidOf(next)).not.toBe(pid);
});

async function pidOf(client: pg.PoolClient): Promise<unknown> {
  const { rows } = await client.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
  return rows[0]?.pid;
}

/** What Perdure warns of during the test. */
function heardWarnings(): string[] {
  const heard: string[] = [];
  const hear = (warning: Error): void => {
    if (warning.name === "PerdureWarning") heard.push(warning.message);
  };
  process.on("warning", hear);
  onTestFinished(() => void process.off("warning", hear));
  return heard;
}
