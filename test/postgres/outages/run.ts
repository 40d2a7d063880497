// A run of outages: real worker processes under load, on a database that fails in every way it can, and the audit of
// what is left.
//   OR1. Everything goes through the proxy: the workers, and the client that starts, raises, cancels and waits.
//   OR2. Work has resumed when every worker has begun something that it had not begun when the database was back. Each
//        has a job of its own at all times: of the driver's, one worker may well take all.
//   OR3. The store, the log of runs and that of acknowledgements go with the run, unless something was found.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "../../../src/index.ts";
import { lostFaults } from "../../kill/ack-audit.ts";
import { AckLog, readAcks } from "../../kill/ack-log.ts";
import { chanceOf } from "../../kill/chance.ts";
import { Driver } from "../../kill/driver.ts";
import { until, WorkerProcess } from "../../kill/fleet.ts";
import { CANCELLED_KIND } from "../../kill/jobs.ts";
import { runFaults } from "../../kill/run-audit.ts";
import { isRun, readLog } from "../../kill/run-log.ts";
import { auditStore, openInstances } from "../../kill/store-audit.ts";
import { openAddress } from "../../kill/store-address.ts";
import type { StoreUnderTest } from "../../kill/stores.ts";
import { fastDirectory, SETTINGS, startServer, type OwnServer } from "../../support/postgres.ts";
import { CONNECTIONS_MAX, FIRST, OUTAGES, strike } from "./faults.ts";
import { OutageProxy } from "./proxy.ts";
import { underWayAt, type OutageRecord, type OutageReport } from "./report.ts";

export interface OutageOptions {
  /** Of the whole database: those of FIRST, then by lot. */
  readonly outages: number;
  /** Connections cut at a COMMIT, spread over the run. */
  readonly cuts: number;
  readonly seed: number;
  readonly workers?: number;
  /** How long the first read-only time lasts; further ones take a tenth. Default 10 s. */
  readonly readOnlyMs?: number;
  readonly onOutage?: (record: OutageRecord, count: number) => void;
}

const SCHEMA = "outages";
const LANES_A_WORKER = 6;
const PAUSE_MS_MAX = 400;
/** Until work has resumed, on a busy machine; what it took is in the report. */
const RESUME_MS = 60_000;
const CUT_MS = 60_000;
/** For all that is left after the last fault. */
const REST_MS = 90_000;
/** A listener asks every 10 s whether it is still heard, and waits 5 s for the answer. */
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
    await (await openAddress(store.address)).close(); // its tables are there when the workers come
    for (let number = 0; number < workers; number++) {
      const program = new URL("../../kill/worker.ts", import.meta.url);
      const extra = ["endless", String(number)];
      fleet.push(new WorkerProcess({ program, store: address, log, extra }));
    }
    for (const worker of fleet) worker.say("go");
    await Promise.all(fleet.map(({ ready }) => ready));
    const provider = await openAddress(address);
    const driver = new Driver(new Client(provider), new AckLog(acks), seed);
    const driving = driver.drive(LANES_A_WORKER * workers);
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
    const isHeard = (): boolean => proxy.counts.listening >= frozen + workers + 1;
    await until("whoever was half open listens again", isHeard, LISTEN_MS).catch(() => undefined);
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
      outages: records.map((record) => ({ ...record, underWay: underWayAt(runs, record.at) })),
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

/** OR2 */
async function resumed(fleet: readonly WorkerProcess[]): Promise<void> {
  const before = fleet.map(({ begun }) => begun);
  const have = (): boolean => fleet.every(({ begun }, index) => begun > (before[index] ?? 0));
  await until("every worker works again", have, RESUME_MS);
}

/** Resolves when a worker has just begun an activity or a step. */
async function begins(fleet: readonly WorkerProcess[]): Promise<void> {
  const sum = (): number => fleet.reduce((total, { begun }) => total + begun, 0);
  const before = sum();
  await until("something begins", () => sum() > before, RESUME_MS);
}

/** The store in that schema of a server that is ours. */
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
