// Real processes, really killed: what was acknowledged happens, once, however often the workers die.
//   PERDURE_KILLS (100, or 1,000 with PERDURE_FULL) and PERDURE_SEED ask for a longer run, or for the same
//   choices again.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Client } from "../../src/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { seedFromEnvironment, wholeNumber } from "./chance.ts";
import { Driver } from "./driver.ts";
import { until, WorkerProcess } from "./fleet.ts";
import { EVENTS_OF, jobOf, resultOf } from "./jobs.ts";
import { killWorkers } from "./killer.ts";
import { countRuns, runFaults } from "./run-audit.ts";
import { isRun, readLog } from "./run-log.ts";
import { auditStore, openInstances } from "./store-audit.ts";

const KILLS =
  wholeNumber("PERDURE_KILLS") ?? (process.env["PERDURE_FULL"] === undefined ? 100 : 1_000);
const SEED = seedFromEnvironment();
const TIMEOUT_MS = 120_000 + KILLS * 2_000;
const WORKERS = 2;
/** Jobs under way at a time, and jobs that every worker starts by itself. */
const LANES = 16;
const OWN_JOBS = "1";
/** For all that is left after the last kill. */
const REST_MS = 60_000;

test(`${KILLS} kills lose, double and strand nothing`, { timeout: TIMEOUT_MS }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-kill-"));
  console.log(`PERDURE_SEED=${SEED} PERDURE_KILLS=${KILLS}; if it fails, ${folder} stays`);
  const store = join(folder, "store.db");
  const log = join(folder, "runs.log");
  const program = new URL("./worker.ts", import.meta.url);
  let spawned = 0;
  const spawn = (): WorkerProcess => {
    return new WorkerProcess({ program, store, log, extra: [OWN_JOBS, String(spawned++)] });
  };

  const provider = await SqliteProvider.open(store);
  const driver = new Driver(new Client(provider), SEED);
  const driving = driver.drive(LANES);
  const began = performance.now();
  const killed = await killWorkers({ kills: KILLS, workers: WORKERS, seed: SEED, spawn });
  const seconds = (performance.now() - began) / 1_000;
  const underKills = driver.finished;
  driver.finish(REST_MS);
  const last = Array.from({ length: WORKERS }, spawn);
  await driving;
  const isDone = (): boolean => openInstances(store).length === 0;
  await until("every instance at its end", isDone, REST_MS).catch(() => undefined);
  expect(openInstances(store), "stuck").toEqual([]);
  await Promise.all(last.map((worker) => worker.ready.then(() => worker.kill())));
  await provider.close();

  const audit = await auditStore(store);
  const lines = readLog(log);
  const own = lines.filter((line) => line.what === "ack");
  const runs = countRuns(lines.filter(isRun));
  const raised = [...driver.ledger.values()].reduce((sum, job) => sum + job.raised.length, 0);
  const { instances, executions, events } = audit;
  console.log(
    `${killed.length} kills in ${seconds.toFixed(1)} s, ${killed.filter((k) => k.atWork).length} of them at work; ` +
      `${driver.ledger.size} + ${own.length} starts and ${raised} raises acknowledged; ` +
      `${underKills} jobs done under kills; ${instances} instances, ${executions} executions, ${events} events; ` +
      `${runs.calls} calls, ${runs.runs} runs, ${runs.reruns} of them again, ${runs.cutOff} cut off`,
  );

  // Nothing lost: what was acknowledged has its result, in which every raise counts once, in order.
  for (const [id, { kind, job, outcome, raised: said }] of driver.ledger) {
    expect({ id, outcome }).toEqual({ id, outcome: { value: resultOf(kind, job) } });
    expect(said).toHaveLength(EVENTS_OF[kind]);
  }
  for (const { instance, job } of own) {
    expect({ instance, result: audit.results.get(instance) }).toEqual({
      instance,
      result: resultOf("linear", jobOf(job)),
    });
  }
  // Nothing stuck, nothing doubled, nothing out of order.
  expect(audit.faults).toEqual([]);
  expect(runFaults(audit.calls, lines.filter(isRun))).toEqual([]);
  // And it was no walk in the park.
  expect(killed.length).toBeGreaterThanOrEqual(KILLS);
  expect(underKills).toBeGreaterThan(KILLS / 10);
  expect(runs.cutOff).toBeGreaterThan(KILLS / 10);
  expect(runs.reruns).toBeGreaterThan(KILLS / 10);
  rmSync(folder, { recursive: true, force: true });
});
