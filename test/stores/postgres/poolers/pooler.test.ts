// Behind a pooler that gives every transaction a different connection, as PgBouncer in transaction mode does, the store
// must not use session state.

import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { activity, Client, orchestration } from "../../../../src/index.ts";
import { PostgresProvider } from "../../../../src/postgres/index.ts";
import { startItem } from "../../../../src/testing/conformance/fixture.ts";
import { freshSchema, postgres } from "../../../support/postgres.ts";
import { startPoolingProxy } from "./pooling-proxy.ts";
import { openStore, ownSchema, startRuntime, urlWith } from "../support.ts";

/** The URL of a pooler with `size` connections to the server of this process. */
async function poolingProxy(size: number, ids?: "generated" | "forwarded"): Promise<string> {
  const { url, close } = await startPoolingProxy((await postgres()).url, size, ids);
  onTestFinished(close);
  return url;
}

/** A pool that resets a connection when it is released, as a pooler does between two users. */
async function wipingPool(seen: string[]): Promise<pg.Pool> {
  const pool = new pg.Pool({ connectionString: (await postgres()).url, max: 3 });
  onTestFinished(() => pool.end());
  const connect = pool.connect.bind(pool);
  const wiping = async (): Promise<pg.PoolClient> => {
    const client = await connect();
    const release = client.release.bind(client);
    client.release = (broken) => {
      if (broken) return release(broken);
      void recordSessionState(client, seen)
        .then(() => client.query("DISCARD ALL"))
        .then(() => release(), release);
    };
    return client;
  };
  pool.connect = wiping as typeof pool.connect;
  return pool;
}

/** Records the session state that a user of the connection has left. */
async function recordSessionState(client: pg.PoolClient, seen: string[]): Promise<void> {
  const { rows } = await client.query<{ left: string }>(`
    SELECT 'statement ' || name AS left FROM pg_prepared_statements
    UNION ALL SELECT 'lock' FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'
    UNION ALL SELECT 'setting ' || name FROM pg_settings
      WHERE source = 'session' AND name NOT IN ('application_name', 'client_encoding', 'DateStyle')
    UNION ALL SELECT 'listening' WHERE EXISTS (SELECT 1 FROM pg_listening_channels())`);
  seen.push(...rows.map((row) => row.left));
}

test("a store without notifications leaves no session state and works without it", async () => {
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

test("prepared statements are used if requested", async () => {
  const left: string[] = [];
  const pool = new pg.Pool({ connectionString: (await postgres()).url, max: 1 });
  onTestFinished(() => pool.end());
  const options = { schema: ownSchema(), notifications: false, prepare: true };
  const store = await PostgresProvider.open(pool, options);
  onTestFinished(() => store.close());
  await store.commit([startItem({ id: "a" })]);
  const client = await pool.connect();
  await recordSessionState(client, left);
  client.release();
  expect(left.some((what) => what.startsWith("statement perdure_"))).toBe(true);
});

test("a connection that has lost its prepared statements is replaced, and the call succeeds", async () => {
  const pool = new pg.Pool({ connectionString: (await postgres()).url, max: 2 });
  onTestFinished(() => pool.end());
  const warnings = collectWarnings();
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

describe("a pooler in transaction mode", () => {
  test("is detected when the store is opened, and no session state is left in it", async () => {
    const warnings = collectWarnings();
    const target = await poolingProxy(3);
    const store = await openStore({ target });
    expect(await store.commit([startItem({ id: "a" })])).toMatchObject([{ kind: "started" }]);
    expect(await store.readInstance("a")).toMatchObject({ id: "a" });
    const left: string[] = [];
    const pool = new pg.Pool({ connectionString: target, max: 1 });
    onTestFinished(() => pool.end());
    const client = await pool.connect();
    for (let line = 0; line < 3; line++) await recordSessionState(client, left);
    client.release();
    expect(left).toEqual([]);
    expect(warnings).toEqual([expect.stringMatching(/transaction mode.*listen.*perdure\.listen/)]);
  });

  test("notifies its users at once if listen has the direct address, for a role without rights", async () => {
    const warnings = collectWarnings();
    const { query } = await postgres();
    const role = `listener_${freshSchema()}`;
    await query(`CREATE ROLE ${role} LOGIN`);
    onTestFinished(() => query(`DROP ROLE ${role}`).then(() => undefined));
    const listen = await urlWith((url) => (url.username = role));
    const schema = ownSchema();
    const target = `${await poolingProxy(4)}?perdure.listen=${encodeURIComponent(listen)}`;
    const [forWorker, forClient] = [
      await openStore({ target, schema }),
      await openStore({ target, schema }),
    ];
    const hello = orchestration("hello", async (_ctx, name: string) => `hello ${name}`);
    await startRuntime(forWorker, [hello], { pollIntervalMs: 600_000 });
    const handle = await new Client(forClient).start(hello, "ada");
    expect(await handle.result()).toBe("hello ada");
    const rows = await query(
      "SELECT application_name AS name FROM pg_stat_activity WHERE usename = $1",
      [role],
    );
    expect(rows).toEqual([{ name: "perdure listener" }, { name: "perdure listener" }]);
    expect(warnings).toEqual([]);
  });

  test("that does not generate process ids is detected by its first errors, with one warning", async () => {
    const warnings = collectWarnings();
    const url = await poolingProxy(3, "forwarded");
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
      /transaction mode.*listen.*notifications: false.*perdure\.notifications=off/s,
    );
    // The next process finds statements that the first process has left on the connections of the server.
    const second = await openStore({ target: url, schema });
    expect(await second.countInstances({})).toBe(3);
    for (let n = 0; n < 10; n++) {
      expect(await second.commit([startItem({ id: `n${n}` })])).toMatchObject([
        { kind: "started" },
      ]);
    }
  });

  test("causes no warning if the address turns notifications off", async () => {
    const warnings = collectWarnings();
    const schema = ownSchema();
    const address = `${await poolingProxy(3)}?perdure.notifications=off&perdure.schema=${schema}`;
    const store = await PostgresProvider.open(address);
    onTestFinished(() => store.close());
    for (let n = 0; n < 10; n++) await store.commit([startItem({ id: `n${n}` })]);
    expect(await store.countInstances({})).toBe(10);
    expect(warnings).toEqual([]);
  });
});

describe("listen", () => {
  test("must be the address of the same database", async () => {
    const { query } = await postgres();
    const database = `other_${freshSchema()}`;
    await query(`CREATE DATABASE ${database}`);
    onTestFinished(() => query(`DROP DATABASE ${database} WITH (FORCE)`).then(() => undefined));
    const listen = await urlWith((url) => (url.pathname = `/${database}`));
    const opening = openStore({ listen, answerMs: 300 });
    await expect(opening).rejects.toMatchObject({ code: "STORE_INVALID" });
    await expect(opening).rejects.toThrow(/listen must be the direct address/);
  });

  test("that cannot be reached is named in the error, without its password", async () => {
    const listen = "postgres://ada:hunter2@127.0.0.1:1/db";
    const error: unknown = await openStore({ listen }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "STORE_UNAVAILABLE" });
    expect(String(error)).toMatch(/address in listen cannot be used/);
    expect(String(error)).not.toContain("hunter2");
  });

  test.each([
    [{ listen: "mysql://x" }, "postgres://"],
    [{ listen: "postgres://host/db?perdure.schema=x" }, "perdure.schema belongs to"],
    [{ listen: "postgres://host/db", notifications: false }, "notifications is false"],
  ])("%o is refused before anything is opened", async (options, why) => {
    const opening = PostgresProvider.open("postgres://127.0.0.1:1/db", options);
    await expect(opening).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(opening).rejects.toThrow(why);
  });
});

test("a connection that has become read-only is replaced", async () => {
  const pool = new pg.Pool({ connectionString: (await postgres()).url, max: 1 });
  onTestFinished(() => pool.end());
  const store = await PostgresProvider.open(pool, { schema: ownSchema(), notifications: false });
  onTestFinished(() => store.close());
  await pool.query("SET default_transaction_read_only = on"); // as an old primary becomes a standby
  const refused = { code: "STORE_UNAVAILABLE" };
  await expect(store.commit([startItem({ id: "a" })])).rejects.toMatchObject(refused);
  expect(await store.commit([startItem({ id: "a" })])).toMatchObject([{ kind: "started" }]);
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
  const { stream } = client.connection;
  const write = stream.write.bind(stream);
  stream.write = (chunk: Uint8Array) => {
    const text = Buffer.from(chunk).toString("latin1").replace("ROLLBACK\0", "ROLLBACX\0");
    return write(Buffer.from(text, "latin1"));
  };
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

/** The warnings of Perdure during the test. */
function collectWarnings(): string[] {
  const warnings: string[] = [];
  const collect = (warning: Error): void => {
    if (warning.name === "PerdureWarning") warnings.push(warning.message);
  };
  process.on("warning", collect);
  onTestFinished(() => void process.off("warning", collect));
  return warnings;
}
