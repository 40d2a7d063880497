// A start that takes its early messages reads only those, although its plan was made while hardly any messages
// waited.

import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { PostgresProvider } from "../../../src/postgres/index.ts";
import { keepItem, startItem } from "../../../src/testing/conformance/fixture.ts";
import { postgres } from "../../support/postgres.ts";
import { ownSchema } from "./support.ts";

const WAITING = 2_000;

test.each([
  ["of its own", false],
  ["of the user", true],
])("a start in a transaction %s reads only its own early messages", async (_, isUsers) => {
  const schema = ownSchema();
  const { url } = await postgres();
  // One connection each, because plans belong to a connection.
  const [pool, users] = [1, 1].map((max) => new pg.Pool({ connectionString: url, max }));
  if (pool === undefined || users === undefined) throw new Error("two pools are needed");
  onTestFinished(async () => void (await Promise.all([pool.end(), users.end()])));
  const store = await PostgresProvider.open(pool, { schema, notifications: false, prepare: true });
  await pool.query(`ALTER TABLE ${schema}.kept SET (autovacuum_enabled = off)`);

  const startsWithMessage = async (id: string): Promise<void> => {
    await store.commit([keepItem({ id })]);
    const client = await users.connect();
    await client.query("BEGIN");
    const [result] = isUsers
      ? await store.writeWithin(client, [startItem({ id })])
      : await store.commit([startItem({ id })]);
    expect(result).toMatchObject({ kind: "started" });
    await client.query("COMMIT");
    await client.query("SELECT pg_stat_force_next_flush()");
    client.release();
    const instance = await store.readInstance(id);
    expect(await store.readInbox(instance?.key ?? 0)).toMatchObject([
      { kind: "start" },
      { kind: "event" },
    ]);
  };
  await pool.query(`VACUUM ANALYZE ${schema}.kept`);
  for (let i = 0; i < 7; i++) await startsWithMessage(`first-${i}`); // PostgreSQL has chosen its plan by then
  await store.commit(Array.from({ length: WAITING }, (_each, i) => keepItem({ id: `waits-${i}` })));

  const before = await rowsRead(pool, schema);
  await startsWithMessage("last");
  expect((await rowsRead(pool, schema)) - before).toBeLessThan(WAITING / 2);
});

/** The rows of `kept` that all statements have read. */
async function rowsRead(pool: pg.Pool, schema: string): Promise<number> {
  await pool.query("SELECT pg_stat_force_next_flush()");
  await pool.query("SELECT pg_stat_clear_snapshot()");
  const { rows } = await pool.query<{ read: string }>(
    `SELECT coalesce(t.seq_tup_read, 0) + coalesce(
       (SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes AS i WHERE i.relid = t.relid), 0) AS read
     FROM pg_stat_user_tables AS t WHERE t.schemaname = $1 AND t.relname = 'kept'`,
    [schema],
  );
  return Number(rows[0]?.read);
}
