// A run with failovers that lose commits: real worker processes on a server that repeatedly returns to an earlier state,
// and an audit of the result.
//   - forgets.run.1: The server is stopped (immediate mode), its data directory is copied, and it is started again. After some
//        work it is stopped again and started on the copy: the commits in between are lost.
//   - forgets.run.2: The workers are not restarted. After the last failover the driver repeats its calls, and every instance
//        must end with the expected result: no instance is stuck, blocked or failed.
//   - forgets.run.3: Work of the lost commits may run again. Each outcome in a history must come from a run with its key.

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { Client } from "../../../../src/index.ts";
import type { Outcome } from "../../../faults/kill/audit/ack-log.ts";
import { chanceOf } from "../../../faults/kill/chance.ts";
import type { Fault } from "../../../faults/kill/faults.ts";
import { until, WorkerProcess } from "../../../faults/kill/fleet.ts";
import { CANCELLED_KIND } from "../../../faults/kill/jobs.ts";
import type { Call } from "../../../faults/kill/audit/run-audit.ts";
import { isRun, readLog, type LogLine, type RunLine } from "../../../faults/kill/audit/run-log.ts";
import { auditStore, openInstances } from "../../../faults/kill/audit/store-audit.ts";
import { openAddress } from "../../../faults/kill/store-address.ts";
import { fastDirectory } from "../../../support/fast-directory.ts";
import { SETTINGS, startServer, type OwnServer } from "../../../support/postgres.ts";
import { storeOf } from "../outages/run.ts";
import { ForgetfulDriver } from "./driver.ts";
import type { ForgetRecord, ForgetReport } from "./report.ts";

export interface ForgetOptions {
  readonly forgets: number;
  readonly seed: number;
  readonly workers?: number;
  readonly onForget?: (record: ForgetRecord, count: number) => void;
}

const SCHEMA = "forgets";
const LANES_PER_WORKER = 6;
/** The time between the copy and the failover. The work of this time is lost. */
const TAIL_MS_MIN = 200;
const TAIL_MS_MAX = 3_000;
/** On a busy machine. */
const RESUME_MS = 90_000;
const REST_MS = 120_000;

export async function runForgets(options: ForgetOptions): Promise<ForgetReport> {
  const { forgets, seed, workers = 4 } = options;
  const chance = chanceOf(seed);
  const folder = mkdtempSync(join(tmpdir(), "perdure-forgets-"));
  const server = await startServer(fastDirectory(), SETTINGS);
  const log = join(folder, "runs.log");
  const fleet: WorkerProcess[] = [];
  let isKept = false;
  try {
    const store = storeOf(server, SCHEMA);
    await (await openAddress(store.address)).close(); // creates the tables before the workers start
    const program = new URL("../../../faults/kill/worker.ts", import.meta.url);
    for (let number = 0; number < workers; number++) {
      const extra = ["0", String(number)];
      fleet.push(new WorkerProcess({ program, store: store.address, log, extra }));
    }
    for (const worker of fleet) worker.say("go");
    await Promise.all(fleet.map(({ ready }) => ready));
    const provider = await openAddress(store.address);
    const driver = new ForgetfulDriver(new Client(provider), seed);
    const driving = driver.drive(LANES_PER_WORKER * workers);
    await begins(fleet);

    const records: ForgetRecord[] = [];
    for (let count = 0; count < forgets; count++) {
      const tailMs = chance.between(TAIL_MS_MIN, TAIL_MS_MAX);
      const record = await forget(server, fleet, tailMs);
      records.push(record);
      options.onForget?.(record, records.length);
    }
    const doneUnderFaults = driver.finished;
    driver.finish();
    await driving;
    await driver.repeatAll();
    const isDone = async (): Promise<boolean> => (await openInstances(store)).length === 0;
    await until("every instance at its end", isDone, REST_MS).catch(() => undefined);
    await Promise.all(fleet.splice(0).map((worker) => worker.kill()));
    await provider.close();

    const audit = await auditStore(store, { mayBeCancelled });
    const lines = readLog(log);
    const faults = [
      ...audit.faults,
      ...outcomeFaults(driver.expected, audit.outcomes),
      ...runFaults(audit.calls, lines.filter(isRun)),
    ];
    isKept = faults.length > 0;
    const { instances, executions, events } = audit;
    return {
      ...{ seed, forgets: records, doneUnderFaults, instances, executions, events, faults },
      released: releasedLeases(lines),
      folder: isKept ? folder : null,
    };
  } finally {
    await Promise.allSettled(fleet.map((worker) => worker.kill()));
    await server.close();
    if (!isKept) rmSync(folder, { recursive: true, force: true });
  }
}

/** forgets.run.1 */
async function forget(
  server: OwnServer,
  fleet: readonly WorkerProcess[],
  tailMs: number,
): Promise<ForgetRecord> {
  const data = String(server.directory);
  const earlier = `${data}-earlier`;
  await server.crash();
  execFileSync("cp", ["-a", data, earlier]);
  await server.startAgain();
  const kept = await writtenEvents(server);
  await begins(fleet);
  await pause(tailMs);
  const lostEvents = (await writtenEvents(server)) - kept;
  await server.crash();
  execFileSync("rm", ["-rf", data]);
  execFileSync("mv", [earlier, data]);
  await server.startAgain();
  const back = performance.now();
  await begins(fleet);
  return { tailMs, lostEvents, resumedMs: performance.now() - back };
}

async function writtenEvents(server: OwnServer): Promise<number> {
  const sql = `SELECT coalesce(sum(last_event + past_events), 0) AS n FROM ${SCHEMA}.instances`;
  const [row] = await server.query(sql);
  return Number(row?.["n"]);
}

/** Resolves when a worker has begun new work. */
async function begins(fleet: readonly WorkerProcess[]): Promise<void> {
  const before = fleet.map(({ begun }) => begun);
  const have = (): boolean => fleet.some(({ begun }, index) => begun > (before[index] ?? 0));
  await until("a worker has begun new work", have, RESUME_MS);
}

/** forgets.run.2 */
function outcomeFaults(
  expected: ReadonlyMap<string, Outcome>,
  stored: ReadonlyMap<string, Outcome>,
): readonly Fault[] {
  return [...expected].flatMap(([id, wanted]): Fault[] => {
    const found = stored.get(id);
    if (found === undefined)
      return [{ kind: "lost", what: `${id} is missing although the driver repeated its start` }];
    const code = "error" in found ? { error: found.error.toUpperCase() } : found;
    if (isDeepStrictEqual(code, wanted)) return [];
    const what = `${id} has ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`;
    return [{ kind: "lost", what }];
  });
}

/** forgets.run.3 */
function runFaults(calls: readonly Call[], lines: readonly RunLine[]): readonly Fault[] {
  const ended = new Set(
    lines.filter(({ what }) => what === "end").map(({ key, attempt }) => `${key} ${attempt}`),
  );
  return calls.flatMap(({ key, kind, name, instance, recorded }): Fault[] => {
    if (recorded === null || ended.has(`${key} ${recorded}`)) return [];
    const what = `${kind} ${name} of ${instance} (${key}) has the outcome of attempt ${recorded}, which did not run`;
    return [{ kind: "unsound", what }];
  });
}

/** The number of leases that the workers released because they did not hold them, from their logs. */
function releasedLeases(lines: readonly LogLine[]): number {
  const counted = lines.map((line): number => {
    if (line.what !== "engine" || !line.message.startsWith("released leases")) return 0;
    const { instances, tasks } = line.fields as {
      readonly instances: number;
      readonly tasks: number;
    };
    return instances + tasks;
  });
  return counted.reduce((sum, count) => sum + count, 0);
}

function mayBeCancelled(id: string): boolean {
  return id.startsWith(CANCELLED_KIND);
}
