// Lists by id prefix in a store of many instances: every query plan returns the same rows, order and cursors
// (sqlite.listing.1 of listing.ts), and a rare prefix does not scan all rows.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { InstanceFilter, Provider } from "../../src/core/provider/index.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { postgres } from "../support/postgres.ts";
import { ownSchema } from "../stores/postgres/support.ts";

const ROWS = 20_000;
const COLUMNS = `key, id, run_id, name, on_parent_close, priority, attributes, created_at, updated_at, completed_at,
  suspicion, execution, last_event, status, status_version, copied_until, past_executions, past_events, steps_open`;
/** Columns of instance n: most ids have one prefix, a few a rare prefix, the oldest 200 a third one. One in ten runs. */
const VALUES = `n, CASE WHEN n <= 200 THEN 'old-' WHEN n % 997 = 0 THEN 'rare-' ELSE 'many-' END || n, 'r', 'pay',
  'cancel', 0, '{}', n / 7, 0, CASE WHEN n % 10 = 0 THEN NULL ELSE 1 END, 0, 1, 0,
  CASE WHEN n % 10 = 0 THEN 'running' ELSE 'completed' END, 0, 0, 0, 0`;
const idOf = (n: number): string => `${n <= 200 ? "old-" : n % 997 === 0 ? "rare-" : "many-"}${n}`;

async function sqlite(): Promise<Provider> {
  const folder = mkdtempSync(join(tmpdir(), "perdure-prefix-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "store.db");
  const store = await SqliteProvider.open(path);
  onTestFinished(() => store.close());
  using database = new DatabaseSync(path);
  database.exec(`
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ROWS})
    INSERT INTO instances (${COLUMNS}) SELECT ${VALUES}, 0 FROM numbers`);
  return store;
}

async function onPostgres(): Promise<{ store: Provider; read(): Promise<number> }> {
  const schema = ownSchema();
  const { url, query } = await postgres();
  // One connection, so that its read statistics are exact.
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  onTestFinished(() => pool.end());
  const store = await PostgresProvider.open(pool, { schema, notifications: false });
  onTestFinished(() => store.close());
  await query(`
    INSERT INTO ${schema}.instances (${COLUMNS}, failed)
    SELECT ${VALUES}, false, false FROM generate_series(1, ${ROWS}) AS n`);
  await query(`VACUUM ANALYZE ${schema}.instances`);
  const read = async (): Promise<number> => {
    await pool.query("SELECT pg_stat_force_next_flush()");
    await pool.query("SELECT pg_stat_clear_snapshot()");
    const { rows } = await pool.query<{ read: string }>(
      `SELECT coalesce(t.seq_tup_read, 0) + coalesce(
         (SELECT sum(i.idx_tup_read) FROM pg_stat_user_indexes AS i WHERE i.relid = t.relid), 0) AS read
       FROM pg_stat_user_tables AS t WHERE t.relid = '${schema}.instances'::regclass`,
    );
    return Number(rows[0]?.read);
  };
  return { store, read };
}

/** The ids of all pages of a list, in the returned order. */
async function pages(
  store: Provider,
  filter: InstanceFilter,
  order: "newest" | "oldest",
): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await store.findInstances({ filter, order, limit: 90, cursor });
    ids.push(...page.items.map(({ id }) => id));
    ({ cursor } = page);
  } while (cursor !== null);
  return ids;
}

function expected(filter: InstanceFilter): readonly string[] {
  return Array.from({ length: ROWS }, (_, i) => i + 1)
    .filter((n) => filter.status === undefined || n % 10 === 0)
    .map(idOf)
    .filter((id) => id.startsWith(filter.idPrefix ?? ""));
}

describe.each([
  ["SQLite", sqlite],
  ["PostgreSQL", async () => (await onPostgres()).store],
] as const)("%s", (_, open) => {
  test("the pages of a list by prefix contain every match once, in order", async () => {
    const store = await open();
    const filters: readonly InstanceFilter[] = [
      { idPrefix: "old-" },
      { idPrefix: "rare-" },
      { idPrefix: "many-1" },
      { idPrefix: "none-" },
      { idPrefix: "old-", status: ["running"] },
      { idPrefix: "many-2", status: ["running", "pending"] },
    ];
    for (const filter of filters) {
      const oldest = expected(filter);
      expect(await pages(store, filter, "oldest")).toEqual(oldest);
      expect(await pages(store, filter, "newest")).toEqual(oldest.toReversed());
      expect(await store.countInstances(filter)).toBe(oldest.length);
    }
  });
});

test("on PostgreSQL a list by a rare prefix does not scan all rows", async () => {
  const { store, read } = await onPostgres();
  for (const idPrefix of ["old-", "rare-", "none-"]) {
    for (const order of ["newest", "oldest"] as const) {
      const before = await read();
      await store.listInstances({ filter: { idPrefix }, order, limit: 50, cursor: null });
      expect((await read()) - before, `${idPrefix} ${order}`).toBeLessThan(1_500);
    }
    const before = await read();
    await store.countInstances({ idPrefix });
    expect((await read()) - before, `count ${idPrefix}`).toBeLessThan(1_000);
  }
});
