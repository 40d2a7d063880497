// W2's limit: 500 instances of five steps, all in groups of 256.

import { strict as assert } from "node:assert";
import { cpuOf, timeMs } from "../measure.ts";
import { AT_ONCE, ROUNDS, STEPS, WARM_UP_ROUNDS } from "../sizes.ts";
import { median } from "../statistics.ts";
import type { Run } from "../subject.ts";
import { commitAll, stepOf, withRows, type Rows } from "./rows.ts";

export const run: Run = (setting) =>
  withRows(setting, async (rows) => {
    const stepsPerS: number[] = [];
    let done = 0;
    while (done < WARM_UP_ROUNDS) await round(rows, done++);
    const cpuUs = await cpuOf(async () => {
      for (let i = 0; i < ROUNDS; i++) stepsPerS.push(await round(rows, done++));
    });
    assert.equal(await rows.ended(), done * AT_ONCE);
    const cpuUsPerStep = cpuUs / (ROUNDS * AT_ONCE * STEPS);
    return [
      { metric: "stepsPerS", value: median(stepsPerS), n: AT_ONCE },
      { metric: "cpuUsPerStep", value: cpuUsPerStep, n: AT_ONCE },
    ];
  });

/** Steps per second of 500 instances in the `index`-th round on this store. */
export async function round(rows: Rows, index: number): Promise<number> {
  const keys = Array.from({ length: AT_ONCE }, (_, i) => index * AT_ONCE + i + 1);
  const ms = await timeMs(async () => {
    await commitAll(
      rows,
      keys.map((key) => ({ kind: "start", key })),
    );
    for (let step = 0; step <= STEPS; step++) {
      await commitAll(
        rows,
        keys.map((key) => stepOf(key, step, step === STEPS)),
      );
    }
  });
  return ((AT_ONCE * STEPS) / ms) * 1_000;
}
