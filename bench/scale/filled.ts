// Stores with many instances, written with SQL, because running a million instances first would take minutes. Of a
// hundred instances one is running and idle, three have failed, the others are completed; each has one row of history.

import { DatabaseSync } from "node:sqlite";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import type { Server } from "../../test/support/postgres.ts";

const COLUMNS = `key, id, run_id, name, on_parent_close, priority, attributes, created_at, updated_at, completed_at,
  suspicion, execution, last_event, steps_open, status, status_version, copied_until, past_executions, past_events`;
/** The row of instance number n. */
const VALUES = `n,
  CASE WHEN n <= 20000 THEN 'first-' WHEN n % 10000 = 0 THEN 'rare-' WHEN n % 11 = 0 THEN 'tenth-' ELSE 'order-' END
    || substr('00000000' || n, -8),
  'run-' || n, CASE WHEN n % 5 = 0 THEN 'ship' ELSE 'pay' END, 'cancel', 0, '{}', 1700000000000 + n,
  1700000000000 + n, CASE WHEN n % 100 = 0 THEN NULL ELSE 1700000000000 + n END, 0, 1, 8`;
const STATUS = `CASE WHEN n % 100 = 0 THEN 'running' WHEN n % 100 < 4 THEN 'failed' ELSE 'completed' END`;
const DATA = `'{"padding":"${"x".repeat(300)}"}'`;

/** Writes the rows into a new file. */
export async function fillSqlite(path: string, rows: number): Promise<void> {
  await (await SqliteProvider.open(path)).close();
  using database = new DatabaseSync(path);
  database.exec(`
    BEGIN;
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})
    INSERT INTO instances (${COLUMNS}) SELECT ${VALUES}, 0, ${STATUS}, 0, 0, 0, 0 FROM numbers;
    INSERT INTO history (instance, execution, first, last, data)
    SELECT key, 1, 1, 8, ${DATA} FROM instances ORDER BY key;
    COMMIT; PRAGMA wal_checkpoint(TRUNCATE);`);
}

/** Writes the rows into a new schema "perdure". */
export async function fillPostgres({ url, query }: Server, rows: number): Promise<void> {
  await PostgresProvider.migrate(url, { schema: "perdure" });
  const last = VALUES.replace("substr('00000000' || n, -8)", "lpad(n::text, 8, '0')");
  await query(`
    INSERT INTO perdure.instances (${COLUMNS}, failed)
    SELECT ${last}, false, ${STATUS}, 0, 0, 0, 0, n % 100 BETWEEN 1 AND 3
    FROM generate_series(1, ${rows}) AS n`);
  await query(
    `INSERT INTO perdure.history SELECT n, 1, 1, 8, ${DATA} FROM generate_series(1, ${rows}) AS n`,
  );
  await query(`SELECT setval('perdure.instance_keys', ${rows})`);
  await query("VACUUM ANALYZE perdure.instances");
  await query("VACUUM ANALYZE perdure.history");
}
