// How fast a store with many instances answers, and how fast retention deletes: `npm run bench:rows`.
//   bench/scale/filled.ts describes the instances.
//   --rows 1100000   the number of instances
//   --sweep 10       for how many seconds retention deletes; 0: not at all
//   --store sqlite   sqlite, postgres or all (default: all)

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { systemEnvironment } from "../../src/core/time/system-environment.ts";
import type { InstanceFilter } from "../../src/core/provider/admin.ts";
import type { Provider } from "../../src/core/provider/provider.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { RetentionSweeper } from "../../src/runtime/upkeep/retention.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { startServer } from "../../test/support/postgres.ts";
import { fillPostgres, fillSqlite } from "./filled.ts";

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
  if (values.store !== "postgres") {
    const path = join(folder, "rows.db");
    await fillSqlite(path, rows);
    await measure("SQLite", await SqliteProvider.open(path));
  }
  if (values.store !== "sqlite") {
    const server = await startServer(values.dir, {
      listen_addresses: "127.0.0.1",
      shared_buffers: "256MB",
      max_wal_size: "4GB",
      log_min_messages: "fatal",
    });
    await fillPostgres(server, rows);
    await measure("PostgreSQL", await PostgresProvider.open(server.url, { schema: "perdure" }));
    await server.close();
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
