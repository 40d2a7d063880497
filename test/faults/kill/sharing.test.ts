// Two processes on one store share the work: each does a part, and nothing runs twice.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Client, type RuntimeOptions } from "../../../src/index.ts";
import { TEST_STORE } from "../../support/test-store.ts";
import { WorkerProcess } from "./fleet.ts";
import { jobOf, outcomeOf } from "./jobs.ts";
import { defineAll } from "./orchestrations.ts";
import { runFaults } from "./audit/run-audit.ts";
import { isRun, readLog, type RunLine } from "./audit/run-log.ts";
import { openAddress } from "./store-address.ts";
import { auditStore } from "./audit/store-audit.ts";
import { storeUnderTest } from "./stores.ts";

const isFull = process.env["PERDURE_FULL"] === "1";
const INSTANCES = isFull ? 3_000 : 200;
const LINKS = 4;
const DEADLINE_MS = isFull ? 600_000 : 120_000;
/** Smaller than the total work, so that one process cannot take everything before the other starts. */
const MODEST: RuntimeOptions = { leaseBatch: 16, activityConcurrency: 8 };

test(
  `two processes share ${INSTANCES} instances, and no part of an instance runs twice or concurrently with another part`,
  { timeout: 2 * DEADLINE_MS },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "perdure-sharing-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    await using store = await storeUnderTest(TEST_STORE, folder);
    const log = join(folder, "runs.log");
    const provider = await openAddress(store.address);
    onTestFinished(() => provider.close());
    const client = new Client(provider);
    const program = new URL("./worker.ts", import.meta.url);
    const begin = (number: number): WorkerProcess => {
      const extra = ["0", String(number)];
      return new WorkerProcess({ program, store: store.address, log, runtime: MODEST, extra });
    };
    const workers = [begin(0), begin(1)];
    onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.kill()))));
    for (const worker of workers) worker.say("go");
    await Promise.all(workers.map(({ ready }) => ready));

    const { linear } = defineAll(null).byKind;
    const numbers = Array.from({ length: INSTANCES }, (_, number) => number);
    // This client runs no worker, so every instance is free for either process.
    const handles = await Promise.all(
      numbers.map((number) => client.start(linear, jobOf(number), { id: `linear-${number}` })),
    );
    const values = await Promise.all(
      handles.map(async (handle) => ({ value: await handle.result({ timeout: DEADLINE_MS }) })),
    );
    expect(values).toEqual(numbers.map((number) => outcomeOf("linear", jobOf(number))));
    await Promise.all(workers.map((worker) => worker.kill()));

    const { faults, calls } = await auditStore(store);
    const runs = readLog(log).filter(isRun);
    expect([...faults, ...runFaults(calls, runs)]).toEqual([]);
    const begun = runs.filter(({ what }) => what === "begin");
    expect(begun).toHaveLength(INSTANCES * LINKS);
    expect(overlapping(runs)).toEqual([]);
    const shares = workers.map(({ pid }) => begun.filter((line) => line.pid === pid).length);
    console.log(
      `${TEST_STORE}: the two workers ran ${shares.join(" and ")} of ${begun.length} activities`,
    );
    for (const share of shares) expect(share).toBeGreaterThan(begun.length / 20);
  },
);

/** Instances with a run that began before their previous run had ended; the lines are in the order of writing. */
function overlapping(runs: readonly RunLine[]): readonly string[] {
  const open = new Set<string>();
  return runs.flatMap(({ what, instance }) => {
    if (what === "end") open.delete(instance);
    if (what === "end" || !open.has(instance)) {
      if (what === "begin") open.add(instance);
      return [];
    }
    return [instance];
  });
}
