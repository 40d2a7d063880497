// Tallies on PostgreSQL: triggers maintain the counts for metrics, no transaction waits for another one, and the table
// stays short (0008-tallies.1 and 0008-tallies.2).

import { readFileSync } from "node:fs";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { PostgresProvider } from "../../../../src/postgres/index.ts";
import { startItem } from "../../../../src/testing/conformance/fixture.ts";
import { postgres } from "../../../support/postgres.ts";
import { ownSchema } from "../support.ts";

/** Enough single-instance statements to fold the tallies several times. */
const CHANGES = 2_000;

async function opened(): Promise<{
  store: PostgresProvider;
  schema: string;
  connect(): Promise<pg.Client>;
}> {
  const schema = ownSchema();
  const { url } = await postgres();
  const store = await PostgresProvider.open(url, { schema });
  onTestFinished(() => store.close());
  await store.commit([startItem({ id: "a" }), startItem({ id: "b" })]);
  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query(`SET search_path = ${schema}; SET lock_timeout = '2s'; SELECT setseed(0.5)`);
    return client;
  };
  return { store, schema, connect };
}

const changing = (id: string): string => `
  DO $$ BEGIN FOR n IN 1..${CHANGES} LOOP
    UPDATE instances SET last_event = last_event + 1 WHERE id = '${id}';
  END LOOP; END $$`;

test("metrics read the tallies instead of the instances; folding keeps the table short and its sum correct", async () => {
  const { store, connect } = await opened();
  const client = await connect();
  await client.query(changing("a"));
  const { rows } = await client.query<{ tallies: string }>(
    "SELECT count(*) AS tallies FROM tallies",
  );
  expect(Number(rows[0]?.tallies)).toBeLessThan(CHANGES / 2);
  expect(await store.readMetrics()).toMatchObject({ events: CHANGES, executions: 2 });
  expect((await store.inspect({ thorough: true })).miscounts).toEqual([]);
  await client.query("ALTER TABLE instances DISABLE TRIGGER USER; DELETE FROM instances");
  expect(await store.readMetrics()).toMatchObject({ instances: { pending: 2 } });
  expect((await store.inspect({ thorough: true })).miscounts).toEqual([
    "status pending, instances: metrics report 2 too many",
    "status pending, executions: metrics report 2 too many",
    `status pending, events: metrics report ${CHANGES} too many`,
  ]);
  expect((await store.inspect()).miscounts).toBeUndefined();
});

test("two transactions that change and fold concurrently do not wait for each other", async () => {
  const { store, connect } = await opened();
  const [first, second] = [await connect(), await connect()];
  await first.query("BEGIN");
  await first.query(changing("a"));
  await second.query(changing("b")); // waiting would exceed the lock timeout
  expect(await store.readMetrics()).toMatchObject({ events: CHANGES });
  await first.query("COMMIT");
  expect(await store.readMetrics()).toMatchObject({ events: 2 * CHANGES });
  expect((await store.inspect({ thorough: true })).miscounts).toEqual([]);
});

test("a REPEATABLE READ transaction succeeds although others fold concurrently, and its changes are counted", async () => {
  const { store, connect } = await opened();
  const [first, second] = [await connect(), await connect()];
  await first.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  await first.query("SELECT count(*) FROM tallies");
  await second.query(changing("b"));
  await first.query(changing("a"));
  await first.query("COMMIT");
  expect(await store.readMetrics()).toMatchObject({ events: 2 * CHANGES });
});

test("the migration counts existing instances", async () => {
  const { store, schema, connect } = await opened();
  const client = await connect();
  await client.query("DROP TABLE tallies; DROP FUNCTION tally CASCADE");
  await client.query("UPDATE instances SET status = 'running', last_event = 4 WHERE id = 'a'");
  const file = new URL("../../../../src/postgres/migrations/0008-tallies.sql", import.meta.url);
  await client.query(readFileSync(file, "utf8"));
  expect(await store.readMetrics(), schema).toMatchObject({
    instances: { pending: 1, running: 1 },
    executions: 2,
    events: 4,
  });
});
