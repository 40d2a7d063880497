// How fast a store with many instances answers, and how fast retention deletes: `npm run bench:rows`.
//   Rows are written with SQL, because running a million instances first would take minutes. Of a hundred instances one
//   is running, three have failed, the others are completed; each has one row of history.
//   --rows 1100000   the number of instances
//   --sweep 10       for how many seconds retention deletes; 0: not at all
//   --store sqlite   sqlite, postgres or all (default: all)

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { systemEnvironment } from "../../src/core/time/system-environment.ts";
import type { InstanceFilter } from "../../src/core/provider/admin.ts";
import type { Provider } from "../../src/core/provider/provider.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { RetentionSweeper } from "../../src/runtime/upkeep/retention.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { startServer } from "../../test/support/postgres.ts";

const { values } = parseArgs({
  options: {
    rows: { type: "string", default: "1100000" },
    sweep: { type: "string", default: "10" },
    store: { type: "string", default: "all" },
    dir: { type: "string", default: tmpdir() },
  },
});
const rows = Number(values.rows);
const sweepMs = Number(values.sweep) * 1_000;
const REPEATS = 5;

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

async function sqlite(folder: string): Promise<Provider> {
  const path = join(folder, "rows.db");
  await (await SqliteProvider.open(path)).close();
  using database = new DatabaseSync(path);
  database.exec(`
    BEGIN;
    WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})
    INSERT INTO instances (${COLUMNS}) SELECT ${VALUES}, 0, ${STATUS}, 0, 0, 0, 0 FROM numbers;
    INSERT INTO history (instance, execution, first, last, data)
    SELECT key, 1, 1, 8, ${DATA} FROM instances ORDER BY key;
    COMMIT; PRAGMA wal_checkpoint(TRUNCATE);`);
  return SqliteProvider.open(path);
}

async function postgres(url: string, query: (sql: string) => Promise<unknown>): Promise<Provider> {
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
  return PostgresProvider.open(url, { schema: "perdure" });
}

async function time(what: string, call: () => Promise<unknown>): Promise<void> {
  const took: number[] = [];
  for (let i = 0; i < REPEATS; i++) {
    const began = performance.now();
    await call();
    took.push(performance.now() - began);
  }
  took.sort((a, b) => a - b);
  const [least, median] = [took[0] ?? 0, took[Math.floor(REPEATS / 2)] ?? 0];
  console.log(`${what.padEnd(44)} ${median.toFixed(1)} ms (least ${least.toFixed(1)} ms)`);
}

async function ask(provider: Provider): Promise<void> {
  await time("metrics", () => provider.readMetrics());
  const filters: Readonly<Record<string, InstanceFilter>> = {
    "all but a few": { idPrefix: "order-" },
    "a tenth": { idPrefix: "tenth-" },
    "one in 10,000": { idPrefix: "rare-" },
    "the 20,000 oldest": { idPrefix: "first-" },
    none: { idPrefix: "none-" },
    "all but a few, failed": { idPrefix: "order-", status: ["failed"] },
    "one in 10,000, running": { idPrefix: "rare-", status: ["running"] },
    "a tenth, of a name": { idPrefix: "tenth-", name: "ship" },
  };
  for (const [what, filter] of Object.entries(filters)) {
    for (const order of ["newest", "oldest"] as const) {
      const request = { filter, order, limit: 50, cursor: null };
      await time(`list, ${order} first, prefix of ${what}`, () => provider.listInstances(request));
    }
  }
  await time("count, prefix of a tenth", () => provider.countInstances({ idPrefix: "tenth-" }));
  await time("count, prefix of one in 10,000", () =>
    provider.countInstances({ idPrefix: "rare-" }),
  );
}

async function sweep(provider: Provider): Promise<void> {
  const count = async (): Promise<number> => (await provider.readMetrics()).instances.completed;
  const context = {
    provider,
    environment: systemEnvironment,
    onStoreError(error: unknown) {
      throw error;
    },
  };
  const rule = { keepMs: { completed: 1 }, keepExecutions: undefined };
  const sweeper = new RetentionSweeper(context, rule);
  const before = await count();
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const cpu = process.cpuUsage();
  const began = performance.now();
  sweeper.tick(systemEnvironment.monotonic() + 60_000);
  await sleep(sweepMs);
  sweeper.stop();
  const seconds = (performance.now() - began) / 1_000;
  delay.disable();
  const { user, system } = process.cpuUsage(cpu);
  const deleted = before - (await count());
  console.log(
    `retention: ${Math.round(deleted / seconds)} deletions/s, loop p99 ${(delay.percentile(99) / 1e6).toFixed(1)} ms,` +
      ` own processor time ${((user + system) / deleted).toFixed(0)} µs per deletion`,
  );
}

async function measure(name: string, provider: Provider): Promise<void> {
  console.log(`\n${name}, ${rows} instances`);
  await ask(provider);
  if (sweepMs > 0) await sweep(provider);
  await sleep(1_000); // the slice in flight
  await provider.close();
}

const folder = mkdtempSync(join(values.dir, "perdure-rows-"));
try {
  if (values.store !== "postgres") await measure("SQLite", await sqlite(folder));
  if (values.store !== "sqlite") {
    const server = await startServer(values.dir, {
      listen_addresses: "127.0.0.1",
      shared_buffers: "256MB",
      max_wal_size: "4GB",
      log_min_messages: "fatal",
    });
    const query = (sql: string) => server.query(sql);
    await measure("PostgreSQL", await postgres(server.url, query));
    await server.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
