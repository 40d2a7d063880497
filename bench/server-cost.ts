// What a workload costs the PostgreSQL server: processor time, write-ahead log, round trips and rows written, per step.
//   - These figures differ less from machine to machine than times do.
//   - Processor time is read from /proc, so it needs a server on this machine that this run has started. It covers
//       every process of the server, also autovacuum and those that have ended.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import type { Reading, Setting } from "./subject.ts";

interface Totals {
  /** Null if the server's processes cannot be read. */
  readonly cpuUs: number | null;
  readonly walBytes: number;
  readonly roundTrips: number;
  readonly rows: number;
}

/** An idle backend publishes its counters of rows after this time at the latest. */
const COUNTERS_MS = 10_500;

let roundTrips = 0;
let isCounting = false;

/** Runs the work and returns its cost per step; no readings on SQLite. */
export async function withServerCost(
  { database, quick }: Setting,
  steps: number,
  n: number,
  work: () => Promise<void>,
): Promise<readonly Reading[]> {
  if (database === null) {
    await work();
    return [];
  }
  countRoundTrips();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    const before = await totals(client, quick);
    await work();
    const after = await totals(client, quick);
    const readings: Reading[] = [
      { metric: "walBytesPerStep", value: (after.walBytes - before.walBytes) / steps, n },
      { metric: "roundTripsPerStep", value: (after.roundTrips - before.roundTrips) / steps, n },
    ];
    if (!quick)
      readings.push({ metric: "rowsPerStep", value: (after.rows - before.rows) / steps, n });
    if (before.cpuUs === null || after.cpuUs === null) return readings;
    const cpuUs = (after.cpuUs - before.cpuUs) / steps;
    return [{ metric: "serverCpuUsPerStep", value: cpuUs, n }, ...readings];
  } finally {
    await client.end();
  }
}

/** A Sync message ends each request of the extended protocol, so it counts as one round trip. */
function countRoundTrips(): void {
  if (isCounting) return;
  isCounting = true;
  const { prototype } = pg.Connection;
  const sync = Reflect.get(prototype, "sync") as () => void;
  Reflect.set(prototype, "sync", function (this: pg.Connection) {
    roundTrips++;
    sync.call(this);
  });
}

/** A quick run does not wait for the counters of rows. */
async function totals(client: pg.Client, quick: boolean): Promise<Totals> {
  const counted = roundTrips;
  const cpuUs = serverCpuUs(await dataDirectory(client));
  const walBytes = await walPosition(client);
  if (!quick) await pause(COUNTERS_MS);
  const { rows } = await client.query<{ rows: string }>(`
    SELECT tup_inserted + tup_updated + tup_deleted AS rows FROM pg_stat_database
    WHERE datname = current_database()`);
  return { cpuUs, walBytes, roundTrips: counted, rows: Number(rows[0]?.rows) };
}

async function walPosition(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ wal: string }>(
    "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS wal",
  );
  return Number(rows[0]?.wal);
}

async function dataDirectory(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ setting: string }>(
    "SELECT current_setting('data_directory') AS setting",
  );
  return rows[0]?.setting ?? "";
}

/** Processor time of the server's main process, its children, and its children that have ended. */
function serverCpuUs(directory: string): number | null {
  try {
    const [main = ""] = readFileSync(join(directory, "postmaster.pid"), "utf8").split("\n", 1);
    const tickUs = 1e6 / Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
    const own = times(Number(main));
    const children = readdirSync("/proc")
      .filter((entry) => /^\d+$/.test(entry))
      .map((entry) => times(Number(entry)))
      .filter((found) => found?.parent === Number(main));
    if (own === null) return null;
    const ticks = children.reduce((sum, found) => sum + (found?.ticks ?? 0), own.ticks + own.ended);
    return ticks * tickUs;
  } catch {
    return null; // the server runs on another machine, or this one has no /proc
  }
}

function times(pid: number): { parent: number; ticks: number; ended: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const at = (index: number): number => Number(fields[index - 3]); // fields are numbered from 1, the state is the third
    return { parent: at(4), ticks: at(14) + at(15), ended: at(16) + at(17) };
  } catch {
    return null; // the process has ended
  }
}
