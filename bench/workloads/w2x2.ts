// W2x2: the load of W2, started by a process that runs no work, shared by two runtimes in two other processes.
//   Correct means: every turn and every step runs once, in one process; the turns of an instance run one after another,
//   in whichever process; no write is refused; and each worker runs at least a fifth of the steps.

import { strict as assert } from "node:assert";
import { once } from "node:events";
import type { Perdure } from "../../src/index.ts";
import { timeMs } from "../measure.ts";
import { AT_ONCE, ROUNDS, STEPS, WARM_UP_ROUNDS } from "../sizes.ts";
import { median } from "../statistics.ts";
import type { Run } from "../subject.ts";
import { withPerdure } from "../support/open.ts";
import { FIVE, startWorker, type Note, type Report, type Worker } from "../support/w2x2-worker.ts";

const LEAST_SHARE = 0.2;
const INSTANCES = (WARM_UP_ROUNDS + ROUNDS) * AT_ONCE;

export const run: Run = (setting) =>
  withPerdure(setting, { autoStart: false }, async (perdure) => {
    const workers = [startWorker(setting), startWorker(setting)];
    try {
      await Promise.all(workers.map(({ ready }) => ready));
      for (let i = 0; i < WARM_UP_ROUNDS; i++) await round(perdure);
      const each: number[] = [];
      for (let i = 0; i < ROUNDS; i++) {
        const ms = await timeMs(() => round(perdure));
        each.push(((AT_ONCE * STEPS) / ms) * 1_000);
      }
      for (const worker of workers) worker.process.send("report");
      const reports = await Promise.all(workers.map(({ report }) => report));
      const share = leastShare(reports);
      assertShared(reports, share);
      return [
        { metric: "stepsPerS", value: median(each), n: AT_ONCE },
        { metric: "leastSharePercent", value: share * 100, n: AT_ONCE },
      ];
    } finally {
      await Promise.all(workers.map(stop));
    }
  });

async function round({ client }: Perdure): Promise<void> {
  const inputs = Array.from({ length: AT_ONCE }, (_, i) => i);
  const handles = await Promise.all(inputs.map((i) => client.start(FIVE, i)));
  const results = await Promise.all(handles.map((handle) => handle.result()));
  for (const [i, result] of results.entries()) assert.equal(result, i + STEPS);
}

function leastShare(reports: readonly Report[]): number {
  return Math.min(...reports.map(({ steps }) => steps.length)) / (INSTANCES * STEPS);
}

function assertShared(reports: readonly Report[], share: number): void {
  for (const { refusedTurns, providerErrors } of reports) {
    assert.equal(
      refusedTurns,
      0,
      "no turn was refused: no worker wrote to an instance of the other",
    );
    assert.equal(providerErrors, 0, "the store had no trouble");
  }
  const steps = byInstance(reports.flatMap((report) => report.steps));
  const turns = byInstance(reports.flatMap((report) => report.turns));
  assert.equal(turns.size, INSTANCES);
  for (const [instance, noted] of turns) {
    const indexes = noted.map(({ index }) => index);
    const expected = Array.from({ length: STEPS + 1 }, (_, i) => i);
    assert.deepEqual(indexes, expected, "every turn ran once, in one process");
    const inOrder = noted.every(({ at }, i) => at >= (noted[i - 1]?.at ?? 0));
    assert(inOrder, "a turn ran after the previous one, in whichever process");
    const entered = steps.get(instance) ?? [];
    assert.equal(entered.length, STEPS, "every step was entered once");
    assert.equal(new Set(entered.map(({ index }) => index)).size, STEPS, "no step twice");
  }
  assert(share >= LEAST_SHARE, `each worker must run a fifth of the steps; one ran ${share}`);
}

/** Sorted by index. */
function byInstance(notes: readonly Note[]): ReadonlyMap<string, readonly Note[]> {
  const sorted = notes.toSorted((a, b) => a.index - b.index);
  return Map.groupBy(sorted, ({ instance }) => instance);
}

async function stop({ process }: Worker): Promise<void> {
  if (!process.connected) return;
  const ended = once(process, "exit");
  process.disconnect();
  await ended;
}
