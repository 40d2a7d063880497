// A run of kills: real processes on a real store, killed again and again under load, and the audit of what is left.
//   R1. The store, the log of runs and the log of acknowledgements lie in one folder. It goes with the run, unless
//       something was found.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "../../src/index.ts";
import { lostFaults } from "./ack-audit.ts";
import { AckLog, readAcks } from "./ack-log.ts";
import { Driver } from "./driver.ts";
import type { Fault } from "./faults.ts";
import { until, WorkerProcess } from "./fleet.ts";
import { CANCELLED_KIND } from "./jobs.ts";
import { killWorkers } from "./killer.ts";
import { recoveryOf, type KillReport } from "./kill-report.ts";
import { countRuns, runFaults } from "./run-audit.ts";
import { isRun, readLog } from "./run-log.ts";
import { Spares } from "./spares.ts";
import { auditStore, openInstances } from "./store-audit.ts";
import { openAddress } from "./store-address.ts";
import { storeUnderTest, type StoreKind } from "./stores.ts";

export interface KillRunOptions {
  readonly store: StoreKind;
  readonly kills: number;
  readonly seed: number;
  /** Worker processes at a time. */
  readonly workers: number;
  /** Told after each kill. */
  readonly onKill?: (kills: number) => void;
}

/** Jobs under way at a time for each worker, and jobs that every worker starts by itself. */
const LANES_A_WORKER = 6;
const OWN_JOBS = 1;
const LIFE_MAX = 24;
/** For all that is left after the last kill: twice the stale time and ten seconds, on a busy machine. */
const REST_MS = 60_000;
/** A damaged file is to be found near the kill that damaged it. */
const LOOK_EVERY = 100;

export async function runKills(options: KillRunOptions): Promise<KillReport> {
  const { kills, seed, workers } = options;
  const folder = mkdtempSync(join(tmpdir(), "perdure-kill-"));
  await using store = await storeUnderTest(options.store, folder);
  const log = join(folder, "runs.log");
  const acks = join(folder, "acknowledged.log");
  const program = new URL("./worker.ts", import.meta.url);
  let spawned = 0;
  await using spares = new Spares(workers, () => {
    const extra = [String(OWN_JOBS), String(spawned++)];
    return new WorkerProcess({ program, store: store.address, log, extra, isSpare: true });
  });

  const provider = await openAddress(store.address);
  const driver = new Driver(new Client(provider), new AckLog(acks), seed);
  const driving = driver.drive(LANES_A_WORKER * workers);
  const looks: Promise<readonly string[]>[] = [];
  const began = performance.now();
  const killed = await killWorkers({
    isEnough: (count) => count >= kills,
    ...{ workers, seed, lifeMax: LIFE_MAX, spawn: spares.take },
    onKill: (_, count) => {
      options.onKill?.(count);
      if (count % LOOK_EVERY === 0) looks.push(store.damage());
    },
  });
  const seconds = (performance.now() - began) / 1_000;
  const doneUnderKills = driver.finished;
  driver.finish(REST_MS);
  const last = Array.from({ length: workers }, spares.take);
  const client = new Client(provider);
  // Workers that live for a second may die three times in a row with an instance that is not to blame. An operator
  // unblocks it; it must then go on where it was.
  const isDone = async (): Promise<boolean> => {
    for await (const id of client.ids({ blocked: true })) await client.get(id).unblock();
    return (await openInstances(store)).length === 0;
  };
  await Promise.race([
    driving,
    until("the driver's results", isDone, REST_MS).catch(() => undefined),
  ]);
  await driving;
  await until("every instance at its end", isDone, REST_MS).catch(() => undefined);
  await Promise.all(last.map((worker) => worker.ready.then(() => worker.kill())));
  await provider.close();

  const audit = await auditStore(store, { mayBeCancelled });
  const acknowledged = readAcks(acks);
  const lines = readLog(log);
  const own = lines.filter((line) => line.what === "ack");
  const runs = lines.filter(isRun);
  const damage = (await Promise.all(looks)).flat();
  const faults: Fault[] = [
    ...audit.faults,
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
    ...recoveryOf(killed, runs),
    folder: faults.length > 0 ? folder : null,
  };
}

function mayBeCancelled(id: string): boolean {
  return id.startsWith(CANCELLED_KIND);
}
