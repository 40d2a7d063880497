// W2L's limit: rounds of W2's, one after another, until 20,000 instances are done.

import { strict as assert } from "node:assert";
import { timeMs } from "../measure.ts";
import { AT_ONCE, flowSize, STEPS, WARM_UP_ROUNDS } from "../sizes.ts";
import type { Run } from "../subject.ts";
import { withRows } from "./rows.ts";
import { round } from "./w2.ts";

export const run: Run = (setting) => {
  const n = flowSize(setting);
  return withRows(setting, async (rows) => {
    let rounds = 0;
    while (rounds < WARM_UP_ROUNDS) await round(rows, rounds++);
    const ms = await timeMs(async () => {
      for (let i = 0; i < n / AT_ONCE; i++) await round(rows, rounds++);
    });
    assert.equal(await rows.ended(), rounds * AT_ONCE);
    return [{ metric: "stepsPerS", value: ((n * STEPS) / ms) * 1_000, n }];
  });
};
