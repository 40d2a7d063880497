// A run of outages: real worker processes under load, on a database with faults, and an audit of the result.
//   - All connections go through the proxy: those of the workers, and those of the client.
//   - outages.run.1: Work has resumed when every worker has begun new work after the end of the outage. Each worker always
//        has its own endless job, because one worker may take all jobs of the driver.
//   - The store and the logs are deleted after the run, unless it found faults.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "../../../../src/index.ts";
import { lostFaults } from "../../../faults/kill/audit/ack-audit.ts";
import { AckLog, readAcks } from "../../../faults/kill/audit/ack-log.ts";
import { chanceOf } from "../../../faults/kill/chance.ts";
import { Driver } from "../../../faults/kill/driver.ts";
import { until, WorkerProcess } from "../../../faults/kill/fleet.ts";
import { CANCELLED_KIND } from "../../../faults/kill/jobs.ts";
import { runFaults } from "../../../faults/kill/audit/run-audit.ts";
import { isRun, readLog } from "../../../faults/kill/audit/run-log.ts";
import { auditStore, openInstances } from "../../../faults/kill/audit/store-audit.ts";
import { openAddress } from "../../../faults/kill/store-address.ts";
import type { StoreUnderTest } from "../../../faults/kill/stores.ts";
import { fastDirectory } from "../../../support/fast-directory.ts";
import { SETTINGS, startServer, type OwnServer } from "../../../support/postgres.ts";
import { CONNECTIONS_MAX, FIRST, OUTAGES, strike } from "./faults.ts";
import { OutageProxy } from "./proxy.ts";
import { inFlightAt, type OutageRecord, type OutageReport } from "./report.ts";

export interface OutageOptions {
  /** The number of outages of the whole database: first those of FIRST, then random ones. */
  readonly outages: number;
  /** Connections cut at a COMMIT, spread over the run. */
  readonly cuts: number;
  readonly seed: number;
  readonly workers?: number;
  /** The length of the first read-only phase; later phases take a tenth. Default 10 s. */
  readonly readOnlyMs?: number;
  readonly onOutage?: (record: OutageRecord, count: number) => void;
}

const SCHEMA = "outages";
const LANES_PER_WORKER = 6;
const PAUSE_MS_MAX = 400;
/** The limit until work has resumed, on a busy machine; the report has the measured time. */
const RESUME_MS = 60_000;
const CUT_MS = 60_000;
/** The limit for all remaining work after the last fault. */
const REST_MS = 90_000;
/** A listener checks its connection every 10 s and waits 5 s for the answer. */
const LISTEN_MS = 60_000;

export async function runOutages(options: OutageOptions): Promise<OutageReport> {
  const { outages, cuts, seed, workers = 4, readOnlyMs = 10_000 } = options;
  const chance = chanceOf(seed);
  const folder = mkdtempSync(join(tmpdir(), "perdure-outages-"));
  const settings = { ...SETTINGS, max_connections: String(CONNECTIONS_MAX) };
  const server = await startServer(fastDirectory(), settings);
  const proxy = await OutageProxy.open(server.url, chance);
  const log = join(folder, "runs.log");
  const acks = join(folder, "acknowledged.log");
  const fleet: WorkerProcess[] = [];
  let isKept = false;
  try {
    const address = `${proxy.url}#${SCHEMA}`;
    const store = storeOf(server, SCHEMA);
    await (await openAddress(store.address)).close(); // creates the tables before the workers start
    for (let number = 0; number < workers; number++) {
      const program = new URL("../../../faults/kill/worker.ts", import.meta.url);
      const extra = ["endless", String(number)];
      fleet.push(new WorkerProcess({ program, store: address, log, extra }));
    }
    for (const worker of fleet) worker.say("go");
    await Promise.all(fleet.map(({ ready }) => ready));
    const provider = await openAddress(address);
    const driver = new Driver(new Client(provider), new AckLog(acks), seed);
    const driving = driver.drive(LANES_PER_WORKER * workers);
    await resumed(fleet);

    const records: OutageRecord[] = [];
    const frozen = proxy.freezeListeners();
    for (let count = 0; count < outages; count++) {
      const kind = FIRST[count] ?? chance.pick(OUTAGES);
      let at = 0;
      const moment = async (): Promise<void> => {
        await begins(fleet);
        at = Date.now();
      };
      const ms = count < OUTAGES.length ? readOnlyMs : readOnlyMs / 10;
      await strike(kind, { server, moment, readOnlyMs: ms });
      const back = performance.now();
      await resumed(fleet);
      const record = { kind, at, resumedMs: performance.now() - back };
      records.push(record);
      options.onOutage?.(record, records.length);
      const wanted = Math.round((cuts * (count + 1)) / outages);
      proxy.cut(wanted - proxy.cuts);
      await until(`${wanted} commits are cut`, () => proxy.cuts >= wanted, CUT_MS);
      await pause(chance.between(0, PAUSE_MS_MAX));
    }
    const haveReconnected = (): boolean => proxy.counts.listening >= frozen + workers + 1;
    await until("all frozen listeners have reconnected", haveReconnected, LISTEN_MS).catch(
      () => undefined,
    );
    const doneUnderFaults = driver.finished;
    for (const worker of fleet) worker.say("enough");
    driver.finish(REST_MS);
    await driving;
    const isDone = async (): Promise<boolean> => (await openInstances(store)).length === 0;
    await until("every instance at its end", isDone, REST_MS).catch(() => undefined);
    await Promise.all(fleet.splice(0).map((worker) => worker.kill()));
    await provider.close();

    const audit = await auditStore(store, { mayBeCancelled });
    const acknowledged = readAcks(acks);
    const lines = readLog(log);
    const runs = lines.filter(isRun);
    const own = lines.filter((line) => line.what === "ack");
    const faults = [
      ...audit.faults,
      ...lostFaults({ acknowledged, own, stored: audit.outcomes }),
      ...runFaults(audit.calls, runs),
    ];
    const counts = proxy.counts;
    isKept = faults.length > 0;
    return {
      seed,
      outages: records.map((record) => ({ ...record, inFlight: inFlightAt(runs, record.at) })),
      cuts: { before: counts.before, after: counts.after },
      listeners: { frozen, ever: counts.listening },
      states: Object.fromEntries(counts.states),
      doneUnderFaults,
      ...{ instances: audit.instances, executions: audit.executions, events: audit.events },
      faults,
      folder: isKept ? folder : null,
    };
  } finally {
    await Promise.allSettled(fleet.map((worker) => worker.kill()));
    proxy.close();
    await server.close();
    if (!isKept) rmSync(folder, { recursive: true, force: true });
  }
}

/** outages.run.1 */
async function resumed(fleet: readonly WorkerProcess[]): Promise<void> {
  const before = fleet.map(({ begun }) => begun);
  const have = (): boolean => fleet.every(({ begun }, index) => begun > (before[index] ?? 0));
  await until("every worker works again", have, RESUME_MS);
}

/** Resolves when a worker has just begun an activity or a step. */
async function begins(fleet: readonly WorkerProcess[]): Promise<void> {
  const sum = (): number => fleet.reduce((total, { begun }) => total + begun, 0);
  const before = sum();
  await until("a worker begins work", () => sum() > before, RESUME_MS);
}

/** The store in a schema of a server that the test started. */
export function storeOf(server: OwnServer, schema: string): StoreUnderTest {
  return {
    kind: "postgres",
    address: `${server.url}#${schema}`,
    database: "PostgreSQL",
    async column(sql) {
      const rows = await server.query(sql.replaceAll("@", `${schema}.`));
      return rows.map((row) => String(Object.values(row)[0]));
    },
    isFree: async () => true,
    damage: async () => [],
    keep: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function mayBeCancelled(id: string): boolean {
  return id.startsWith(CANCELLED_KIND);
}
