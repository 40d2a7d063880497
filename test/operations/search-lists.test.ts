// Searches in a store of many instances: whichever index leads, the pages contain every match once, in order; and no
// search by attribute, name, prefix or time of the end reads a table (admin.10).

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { InstanceFilter, ListRequest, Provider } from "../../src/core/provider/index.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { FEW } from "../../src/sql/read/listing.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import {
  postgresListPlans,
  sqliteListPlans,
  type Planned,
  type Read,
} from "../support/list-plans.ts";
import { postgres } from "../support/postgres.ts";
import { ownSchema } from "../stores/postgres/support.ts";

/** More than FEW instances have each of the attributes `most` and `late`, few of the oldest have both. */
const ROWS = FEW * 2 + 400;
const HALF = FEW + 200;
const COLUMNS = `key, id, run_id, name, on_parent_close, priority, attributes, created_at, updated_at, completed_at,
  suspicion, execution, last_event, status, status_version, copied_until, past_executions, past_events, steps_open`;
const VALUES = `n, 'i' || n, 'r', CASE WHEN n % 1000 = 0 THEN 'rare' ELSE 'pay' END, 'cancel', 0,
  '{"n":' || n || CASE WHEN n <= ${HALF} THEN ',"most":"x"' ELSE '' END ||
    CASE WHEN n > ${HALF} OR n <= 100 THEN ',"late":"x"' ELSE '' END || '}',
  n / 7, 0, CASE WHEN n % 10 = 0 THEN NULL ELSE ${ROWS} - n END, 0, 1, 0,
  CASE WHEN n % 10 = 0 THEN 'running' WHEN n % 10 = 1 THEN 'failed' ELSE 'completed' END, 0, 0, 0, 0`;

interface Opened {
  readonly store: Provider;
  plans(read: Read): Promise<readonly Planned[]>;
}

async function sqlite(): Promise<Opened> {
  const folder = mkdtempSync(join(tmpdir(), "perdure-search-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "store.db");
  const store = await SqliteProvider.open(path);
  onTestFinished(() => store.close());
  const database = new DatabaseSync(path);
  onTestFinished(() => database.close());
  database.exec(`
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${ROWS})
    INSERT INTO instances (${COLUMNS}) SELECT ${VALUES}, 0 FROM numbers`);
  return { store, plans: (read) => Promise.resolve(sqliteListPlans(database, read)) };
}

async function onPostgres(): Promise<Opened> {
  const schema = ownSchema();
  const { url, query } = await postgres();
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  onTestFinished(() => pool.end());
  const store = await PostgresProvider.open(pool, { schema, notifications: false });
  onTestFinished(() => store.close());
  await query(`
    INSERT INTO ${schema}.instances (${COLUMNS}, failed)
    SELECT ${VALUES}, false, n % 10 = 1 FROM generate_series(1, ${ROWS}) AS n`);
  for (const table of ["instances", "attributes"]) await query(`VACUUM ANALYZE ${schema}.${table}`);
  await pool.query("SET enable_seqscan = off"); // as on the connections of the provider
  return { store, plans: (read) => postgresListPlans(pool, schema, read) };
}

/** A filter and the numbers of the instances that it must find, in ascending order. */
const SEARCHES: readonly (readonly [InstanceFilter, (n: number) => boolean])[] = [
  [{ where: { n: { eq: 77 } } }, (n) => n === 77],
  [
    { where: { n: { gt: 300, lte: 320 } }, status: ["running"] },
    (n) => n > 300 && n <= 320 && n % 10 === 0,
  ],
  // Few or no instances have both, many have one of them.
  [{ name: "rare", status: ["failed"] }, () => false],
  [{ name: "rare", status: ["running"] }, (n) => n % 1_000 === 0],
  [{ name: "rare", status: ["completed", "running"] }, (n) => n % 1_000 === 0],
  [{ name: "rare", status: ["completed"] }, () => false],
  [{ name: "rare" }, (n) => n % 1_000 === 0],
  // The oldest: neither very few, nor among the newest.
  [{ where: { n: { lt: 1_500 } } }, (n) => n < 1_500],
  [{ where: { most: { eq: "x" } }, name: "rare" }, (n) => n <= HALF && n % 1_000 === 0],
  // Every source finds too many: the list is read on in its order.
  [{ where: { most: { prefix: "x" }, late: { prefix: "x" } } }, (n) => n <= 100],
  [{ where: { most: { eq: "x" }, late: { eq: "x" } } }, (n) => n <= 100],
  [{ completedAfter: ROWS - 31 }, (n) => n <= 30 && n % 10 !== 0],
  [{ text: "I7777" }, (n) => String(n).startsWith("7777")],
  [{ text: "77", where: { n: { lt: 100 } } }, (n) => n === 77],
];

/** Filters that many instances match: the first two pages are read. */
const MANY: readonly (readonly [InstanceFilter, (n: number) => boolean])[] = [
  [{ status: ["failed"] }, (n) => n % 10 === 1],
  [{ status: ["running", "pending"] }, (n) => n % 10 === 0],
  [{ name: "pay", status: ["failed"] }, (n) => n % 10 === 1],
  [{ name: "pay" }, (n) => n % 1_000 !== 0],
];

async function pages(
  store: Provider,
  request: Omit<ListRequest, "cursor" | "limit">,
): Promise<readonly string[]> {
  const ids: string[] = [];
  let cursor: string | null = null;
  do {
    const page = await store.findInstances({ ...request, limit: 90, cursor });
    ids.push(...page.items.map(({ id }) => id));
    ({ cursor } = page);
  } while (cursor !== null);
  return ids;
}

const NUMBERS = Array.from({ length: ROWS }, (_, i) => i + 1);
/** The table of tallies is short. */
const TABLE_SCAN = /Seq Scan on (?!tallies)|^SCAN [ai]$/m;
const isLive = (n: number): boolean => n % 10 === 0;

describe.each([
  ["SQLite", sqlite],
  ["PostgreSQL", onPostgres],
] as const)("%s", (_, open) => {
  test("searches among many instances find every match once, in order, by an index", async () => {
    const { store, plans } = await open();
    for (const [filter, matches] of SEARCHES) {
      const oldest = NUMBERS.filter(matches);
      const ids = (numbers: readonly number[]): string[] => numbers.map((n) => `i${n}`);
      const what = JSON.stringify(filter);
      expect(await pages(store, { filter, order: "oldest" }), what).toEqual(ids(oldest));
      expect(await pages(store, { filter, order: "newest" }), what).toEqual(
        ids(oldest.toReversed()),
      );
      expect(await store.countInstances(filter), what).toBe(oldest.length);
      // An instance with a greater number ended earlier.
      const ended = oldest.filter((n) => !isLive(n)).toReversed();
      const live = oldest.filter(isLive);
      expect(await pages(store, { filter, orderBy: "completedAt", order: "oldest" }), what).toEqual(
        ids([...ended, ...live]),
      );
      if (filter.text !== undefined) continue; // reads all ids
      for (const order of ["oldest", "newest"] as const) {
        const request = { filter, order, limit: 50, cursor: null };
        for (const { sql, plan } of await plans(request)) {
          expect(plan, `${what}\n${sql}`).not.toMatch(TABLE_SCAN);
        }
      }
    }
    for (const [filter, matches] of MANY) {
      for (const order of ["oldest", "newest"] as const) {
        const request = { filter, order, limit: 50 };
        const first = await store.findInstances({ ...request, cursor: null });
        const second = await store.findInstances({ ...request, cursor: first.cursor });
        const numbers = order === "oldest" ? NUMBERS : NUMBERS.toReversed();
        expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(
          numbers
            .filter(matches)
            .slice(0, 100)
            .map((n) => `i${n}`),
        );
        for (const { sql, plan } of await plans({ ...request, cursor: first.cursor })) {
          expect(plan, sql).not.toMatch(TABLE_SCAN);
        }
      }
    }
    const nothing = { filter: { name: "rare", status: [] }, order: "oldest" } as const;
    expect(await pages(store, nothing)).toEqual([]);
    // The waits of a page (admin.11): a lookup per instance and part.
    for (const { sql, plan } of await plans({ waitsOf: [10, 20, 30] })) {
      expect(plan, sql).not.toMatch(/Seq Scan|Bitmap|^SCAN [a-z]$/m);
    }
  });
});
