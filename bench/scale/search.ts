// How fast a store with many instances finds some of them: `npm run bench:search`.
//   Rows are written with SQL, because running a million instances first would take minutes. Every instance has three
//   attributes; of a hundred instances one is running, three have failed, the others are completed.
//   --rows 1000000   the number of instances
//   --calls 200      how often each search is called, each time with other values
//   --store sqlite   sqlite, postgres or all (default: all)
//   --plans          also print the plans of each search
//   --json FILE      also writes the figures as JSON; --into FILE keeps the figures of a store that did not run

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import pg from "pg";
import type { ListRequest } from "../../src/core/provider/admin.ts";
import type { Provider } from "../../src/core/provider/provider.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { postgresListPlans, sqliteListPlans, type Planned } from "../../test/support/list-plans.ts";
import { SLOW_SEARCHES } from "../goals.ts";
import { commandOf, readMeta } from "../meta.ts";
import { openPostgres } from "../postgres.ts";
import { OUTPUT, row, saveReport, type Row } from "../report-file.ts";
import type { Store } from "../subject.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "1000000" },
    calls: { type: "string", default: "200" },
    store: { type: "string", default: "all" },
    plans: { type: "boolean", default: false },
    dir: { type: "string", default: tmpdir() },
    ...OUTPUT,
  },
});
const rows = Number(values.rows);
const calls = Number(values.calls);
const results: Row[] = [];
/** The indexes of a million instances fit into memory. */
const LARGE = { shared_buffers: "1GB" };
const BEGAN = 1_700_000_000_000;

const COLUMNS = `key, id, run_id, name, on_parent_close, priority, attributes, created_at, updated_at, completed_at,
  suspicion, execution, last_event, steps_open, status, status_version, copied_until, past_executions, past_events`;
/** The row of instance number n. `text` is the SQL type for a cast. */
function valuesOf(flag: string): string {
  return `n,
    CASE WHEN n % 10000 = 0 THEN 'rare-' WHEN n % 11 = 0 THEN 'tenth-' ELSE 'order-' END || n,
    'run-' || n,
    CASE WHEN n % 5000 = 0 THEN 'rarely' WHEN n % 5 = 0 THEN 'ship' ELSE 'placeOrder' END,
    'cancel', 0,
    '{"customer":"c' || (n * 7919 % 50000) || '","cents":' || (n * 104729 % 1000000) ||
      ',"region":"' || CASE WHEN n % 3 = 0 THEN 'eu' ELSE 'us' END || '"}',
    ${BEGAN} + n, ${BEGAN} + n, CASE WHEN n % 100 = 0 THEN NULL ELSE ${BEGAN} + n + n * 31 % 1000 END,
    0, 1, 8, ${flag},
    CASE WHEN n % 100 = 0 THEN 'running' WHEN n % 100 < 4 THEN 'failed' ELSE 'completed' END, 0, 0, 0, 0`;
}

/** The searches of the issue and of the dashboard. `i` is the number of the call. */
const SEARCHES: Readonly<Record<string, (i: number) => Partial<ListRequest>>> = {
  "all, newest first": () => ({}),
  "attribute, one of 50,000": (i) => ({ filter: { where: { customer: { eq: `c${i * 37}` } } } }),
  "attribute, a third": () => ({ filter: { where: { region: { eq: "eu" } } } }),
  "attribute, none": (i) => ({ filter: { where: { customer: { eq: `none${i}` } } } }),
  "attribute, a prefix": (i) => ({ filter: { where: { customer: { prefix: `c${i}` } } } }),
  "attribute, a range of 0.1 %": (i) => ({
    filter: { where: { cents: { gte: i * 1_000, lt: (i + 1) * 1_000 } } },
  }),
  "attribute, a range of 1 %": (i) => ({
    filter: { where: { cents: { gte: i * 1_000, lt: (i + 10) * 1_000 } } },
  }),
  "attribute, a range of a half": () => ({ filter: { where: { cents: { gte: 500_000 } } } }),
  "two attributes": (i) => ({
    filter: { where: { customer: { eq: `c${i * 37}` }, region: { eq: "us" } } },
  }),
  "name, one in 5,000": () => ({ filter: { name: "rarely" } }),
  "name, most": () => ({ filter: { name: "placeOrder" } }),
  "name and status": () => ({ filter: { name: "ship", status: ["failed"] } }),
  "name and status, live": () => ({ filter: { name: "placeOrder", status: ["running"] } }),
  "name and attribute": (i) => ({
    filter: { name: "ship", where: { customer: { eq: `c${i * 37}` } } },
  }),
  "id prefix, one in 10,000": () => ({ filter: { idPrefix: "rare-" } }),
  "id prefix, one instance": (i) => ({ filter: { idPrefix: `order-${rows - i}` } }),
  "id prefix, most": () => ({ filter: { idPrefix: "order-" } }),
  "status failed": () => ({ filter: { status: ["failed"] } }),
  "status running": () => ({ filter: { status: ["running"] } }),
  "ended within a second": (i) => ({
    filter: { completedAfter: BEGAN + i * 100, completedBefore: BEGAN + i * 100 + 1_000 },
  }),
  "by the time of the end": () => ({ orderBy: "completedAt" }),
  "attribute, by the time of the end": (i) => ({
    filter: { where: { customer: { eq: `c${i * 37}` } } },
    orderBy: "completedAt",
  }),
  "text in most names": () => ({ filter: { text: "ORDER" } }),
  "text, exactly an attribute": (i) => ({ filter: { text: `c${i * 37}` } }),
  "text, nowhere": (i) => ({ filter: { text: `nowhere${i}` } }),
  "by the time of the last change": () => ({ orderBy: "updatedAt" }),
};
function requestOf(search: Partial<ListRequest>): ListRequest {
  return { filter: {}, order: "newest", limit: 50, cursor: null, ...search };
}

async function sqlite(folder: string): Promise<string> {
  const path = join(folder, "search.db");
  await (await SqliteProvider.open(path)).close();
  using database = new DatabaseSync(path);
  database.exec(`
    BEGIN;
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})
    INSERT INTO instances (${COLUMNS}) SELECT ${valuesOf("0")} FROM numbers;
    COMMIT; PRAGMA wal_checkpoint(TRUNCATE);`);
  return path;
}

async function postgres(url: string, query: (sql: string) => Promise<unknown>): Promise<void> {
  await PostgresProvider.migrate(url, { schema: "perdure" });
  await query(`
    INSERT INTO perdure.instances (${COLUMNS}, failed)
    SELECT ${valuesOf("false")}, n % 100 BETWEEN 1 AND 3
    FROM generate_series(1::bigint, ${rows}) AS n`);
  await query(`SELECT setval('perdure.instance_keys', ${rows})`);
  await query("VACUUM ANALYZE perdure.instances");
  await query("VACUUM ANALYZE perdure.attributes");
}

async function time(
  store: Store,
  what: string,
  times: number,
  call: (i: number) => Promise<unknown>,
): Promise<void> {
  await call(0);
  const took: number[] = [];
  for (let i = 1; i <= times; i++) {
    const began = performance.now();
    await call(i);
    took.push(performance.now() - began);
  }
  took.sort((a, b) => a - b);
  const at = (share: number): number => took[Math.min(times - 1, Math.floor(times * share))] ?? 0;
  const of = { workload: "search", part: what, store, n: rows };
  const found = [
    row({ ...of, metric: "p50Ms", value: at(0.5) }),
    row({ ...of, metric: "p99Ms", value: at(0.99) }),
    row({ ...of, metric: "mostMs", value: at(1) }),
  ];
  results.push(...found);
  const [p50, p99, most] = found.map(({ value }) => value.toFixed(2).padStart(8));
  console.log(`${what.padEnd(36)} p50 ${p50} ms  p99 ${p99} ms  most ${most} ms`);
}

async function measure(
  store: Store,
  provider: Provider,
  plansOf: (request: ListRequest) => Promise<readonly Planned[]>,
): Promise<void> {
  console.log(`\n${store}, ${rows} instances, ${calls} calls of each search`);
  // Slow searches are called less often.
  for (const [what, search] of Object.entries(SEARCHES)) {
    const times = SLOW_SEARCHES.includes(what) ? Math.min(5, calls) : calls;
    await time(store, what, times, (i) => provider.listInstances(requestOf(search(i))));
    if (!values.plans) continue;
    for (const { sql, plan } of await plansOf(requestOf(search(1)))) {
      console.log(`    ${sql.replaceAll(/\s+/g, " ").trim()}`);
      console.log(plan.replaceAll(/^/gm, "      "));
    }
  }
  await time(store, "counts by status and name", calls, () => provider.countByName());
  await time(store, "metrics", calls, () => provider.readMetrics());
  await provider.close();
}

const folder = mkdtempSync(join(values.dir, "perdure-search-"));
try {
  const server = values.store === "sqlite" ? null : await openPostgres(values.dir, LARGE);
  const command = commandOf("bench:search", process.argv.slice(2));
  const meta = await readMeta(
    { command, directory: values.dir, quick: false, repetitions: 1 },
    server,
  );
  if (values.store !== "postgres") {
    const path = await sqlite(folder);
    using database = new DatabaseSync(path);
    await measure("sqlite", await SqliteProvider.open(path), (request) =>
      Promise.resolve(sqliteListPlans(database, request)),
    );
  }
  if (server !== null) {
    const { url, drop } = await server.freshDatabase();
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    pool.on("error", () => {}); // `drop` may end a connection that is still closing
    await postgres(url, (sql) => pool.query(sql));
    const provider = await PostgresProvider.open(url, { schema: "perdure" });
    await measure("postgres", provider, (request) => postgresListPlans(pool, "perdure", request));
    await pool.end();
    await drop();
  }
  saveReport(values, { meta, results, failures: [], absences: [] });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
