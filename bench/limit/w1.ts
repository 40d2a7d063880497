// W1's limit: one instance, one commit per step, each waiting for the previous commit.

import { strict as assert } from "node:assert";
import { cpuOf, timeMs } from "../measure.ts";
import { ROW_WARM_UP_STEPS, rowLengths, rowSteps } from "../sizes.ts";
import { median } from "../statistics.ts";
import type { Reading, Run } from "../subject.ts";
import { stepOf, withRows, type RowWrite } from "./rows.ts";

export const run: Run = (setting) => measureInARow(setting, stepOf);

/** `step` returns the writes of the turn before step `index`, or after the last step. */
export function measureInARow(
  setting: Parameters<Run>[0],
  step: (key: number, index: number, isLast: boolean) => RowWrite,
): Promise<readonly Reading[]> {
  return withRows(setting, async (rows) => {
    let key = 0;
    const count = async (n: number): Promise<number> => {
      key++;
      const ms = await timeMs(async () => {
        await rows.commit([{ kind: "start", key }]);
        for (let i = 0; i <= n; i++) await rows.commit([step(key, i, i === n)]);
      });
      return ms / n;
    };
    await count(ROW_WARM_UP_STEPS);
    const readings: Reading[] = [];
    const cpuUs = await cpuOf(async () => {
      for (const { n, times } of rowLengths(setting)) {
        const perStep: number[] = [];
        for (let i = 0; i < times; i++) perStep.push(await count(n));
        readings.push({ metric: "msPerStep", value: median(perStep), n });
      }
    });
    assert.equal(await rows.ended(), key);
    const steps = rowSteps(setting);
    return [...readings, { metric: "cpuUsPerStep", value: cpuUs / steps, n: steps }];
  });
}
