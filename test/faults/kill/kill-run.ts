// A kill run: real processes on a real store, killed again and again under load, then an audit of the store and the
// logs.
//   - The store, the run log and the log of acknowledgements are in one folder. The run deletes the folder unless it
//       found a fault.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "../../../src/index.ts";
import { lostFaults } from "./audit/ack-audit.ts";
import { AckLog, readAcks, type Outcome } from "./audit/ack-log.ts";
import { auditCrashers, type Described } from "./audit/crasher-audit.ts";
import { CrasherDriver } from "./crasher-driver.ts";
import { crasherKind } from "./crashers.ts";
import { Driver } from "./driver.ts";
import type { Fault } from "./faults.ts";
import { until, WorkerProcess } from "./fleet.ts";
import { CANCELLED_KIND } from "./jobs.ts";
import { killWorkers } from "./killer.ts";
import { recoveryOf, type KillReport } from "./audit/kill-report.ts";
import { Operator } from "./operator.ts";
import { countRuns, runFaults } from "./audit/run-audit.ts";
import { isRun, readLog } from "./audit/run-log.ts";
import { Spares } from "./spares.ts";
import { StandingFleet } from "./standing-fleet.ts";
import { auditStore } from "./audit/store-audit.ts";
import { openAddress } from "./store-address.ts";
import { storeUnderTest, type StoreKind } from "./stores.ts";

export interface KillRunOptions {
  readonly store: StoreKind;
  readonly kills: number;
  readonly seed: number;
  /** Worker processes at a time. */
  readonly workers: number;
  /** Called after each kill. */
  readonly onKill?: (kills: number) => void;
}

/** Jobs in flight per worker, and jobs that every worker starts itself. */
const LANES_PER_WORKER = 6;
const OWN_JOBS = 1;
const LIFE_MAX = 24;
/**
 * How long the rest may take after the last kill; the last crashers end about ten processes each, one after the other.
 */
const REST_MS = 240_000;
/** How often the store is checked for damage, in kills, so that damage is found near the kill that caused it. */
const LOOK_EVERY = 100;

export async function runKills(options: KillRunOptions): Promise<KillReport> {
  const { kills, seed, workers } = options;
  const folder = mkdtempSync(join(tmpdir(), "perdure-kill-"));
  await using store = await storeUnderTest(options.store, folder);
  const log = join(folder, "runs.log");
  const acks = join(folder, "acknowledged.log");
  const program = new URL("./worker.ts", import.meta.url);
  const processes: WorkerProcess[] = [];
  await using spares = new Spares(workers, () => {
    const extra = [String(OWN_JOBS), String(processes.length)];
    const spare = { isSpare: true, mayCrash: true };
    const worker = new WorkerProcess({ program, store: store.address, log, extra, ...spare });
    processes.push(worker);
    return worker;
  });

  const provider = await openAddress(store.address);
  const client = new Client(provider);
  const driver = new Driver(client, new AckLog(acks), seed);
  const crashers = new CrasherDriver(client, { seed, kills });
  const driving = driver.drive(LANES_PER_WORKER * workers);
  const looks: Promise<readonly string[]>[] = [];
  const began = performance.now();
  const killed = await killWorkers({
    isEnough: (count) => count >= kills,
    ...{ workers, seed, lifeMax: LIFE_MAX, spawn: spares.take },
    onKill: (_, count) => {
      options.onKill?.(count);
      crashers.onKill(count);
      if (count % LOOK_EVERY === 0) looks.push(store.damage());
    },
  });
  const seconds = (performance.now() - began) / 1_000;
  const doneUnderKills = driver.finished;
  driver.finish(REST_MS);
  const last = new StandingFleet(workers, spares.takeIdle);
  const operator = new Operator(client, store);
  const isDone = (): Promise<boolean> => operator.tend();
  await until("every instance at its end", isDone, REST_MS).catch(() => undefined);
  await driving;
  await until("the jobs of the last workers", isDone, REST_MS).catch(() => undefined);
  await last.stop();
  await spares.dismiss(); // they write to the folder, which is deleted below

  const audit = await auditStore(store, { mayBeCancelled, mayBeBlocked });
  const acknowledged = readAcks(acks);
  const lines = readLog(log);
  const own = lines.filter((line) => line.what === "ack");
  const runs = lines.filter(isRun);
  const described = new Map<string, Described>();
  for (const id of await crashers.started()) described.set(id, await operator.describe(id));
  const crashed = auditCrashers({
    crashers: described,
    lines: lines.filter((line) => line.what === "crash"),
    ended: processes.filter(({ hasCrashed }) => hasCrashed).map(({ pid }) => pid),
  });
  await provider.close();
  const damage = (await Promise.all(looks)).flat();
  const faults: Fault[] = [
    ...audit.faults,
    ...crashed.faults,
    ...damage.map((line): Fault => ({ kind: "unsound", what: `damaged under kills: ${line}` })),
    ...lostFaults({ acknowledged, own, stored: audit.outcomes }),
    ...runFaults(audit.calls, runs),
  ];
  if (faults.length > 0) store.keep();
  else rmSync(folder, { recursive: true, force: true });
  const counted = (what: string): number =>
    acknowledged.filter((line) => line.what === what).length;
  const { instances, executions, events } = audit;
  return {
    ...{ seed, workers, database: store.database, store: store.kind, faults, doneUnderKills },
    kills: killed.length,
    seconds,
    readyWhenKilled: killed.filter(({ wasReady }) => wasReady).length,
    acknowledged: {
      starts: counted("start") + own.length,
      raises: counted("raise"),
      cancels: counted("cancel"),
      results: counted("result"),
    },
    stored: { instances, executions, events },
    runs: countRuns(runs),
    crashers: crashed.report,
    innocents: {
      ...{ blocked: operator.blocked, unblocks: operator.unblocks },
      failed: [...audit.outcomes].filter(isFailedInnocent).length,
    },
    ...recoveryOf(killed, runs),
    folder: faults.length > 0 ? folder : null,
  };
}

/** Crashers have a separate audit (crasher-audit.ts). */
function mayBeBlocked(id: string): boolean {
  const kind = crasherKind(id);
  return kind === "turn" || kind === "step";
}

function isFailedInnocent([id, outcome]: readonly [string, Outcome]): boolean {
  return crasherKind(id) === undefined && "error" in outcome && outcome.error === "failed";
}

function mayBeCancelled(id: string): boolean {
  return id.startsWith(CANCELLED_KIND);
}
