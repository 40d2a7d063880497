// One instance that does n things in a row, shared by W1 and W1s.
//   The slope: take the time between consecutive steps in the longest row, and the median of every 100 in a row. Fit a
//   least-squares line through those medians. The slope is the rise of the line from start to end, in percent of the
//   mean.

import { strict as assert } from "node:assert";
import type { Activity, Orchestration } from "../../src/index.ts";
import { cpuOf, timeMs, withLoopDelay } from "../measure.ts";
import { ROW_WARM_UP_STEPS, rowLengths, rowSteps } from "../sizes.ts";
import { withServerCost } from "../server-cost.ts";
import { bucketMedians, fitLine, mean, median } from "../statistics.ts";
import type { Reading, Setting } from "../subject.ts";
import { assertUntroubled, withPerdure } from "./open.ts";

const BUCKET = 100;

export async function measureInARow(
  setting: Setting,
  subject: {
    /** Counts from 0 to its input, one step each, and returns the final count. */
    readonly counter: Orchestration<number, number>;
    readonly activities: readonly Activity<number, number>[];
    /** The time of each step; the steps themselves append to it. */
    readonly stamps: number[];
  },
): Promise<readonly Reading[]> {
  const { counter, activities, stamps } = subject;
  const register = [counter, ...activities];
  return withPerdure(setting, { register }, async (perdure) => {
    let instances = 0;
    const count = async (n: number): Promise<number> => {
      stamps.length = 0;
      instances++;
      const ms = await timeMs(async () => {
        const handle = await perdure.client.start(counter, n);
        assert.equal(await handle.result(), n);
      });
      assert.equal(stamps.length, n, "each step ran once");
      return ms / n;
    };
    await count(ROW_WARM_UP_STEPS);
    const readings: Reading[] = [];
    const work = async (): Promise<void> => {
      for (const { n, times } of rowLengths(setting)) {
        const perStep: number[] = [];
        for (let i = 0; i < times; i++) perStep.push(await count(n));
        readings.push({ metric: "msPerStep", value: median(perStep), n });
      }
    };
    let cpuUs = 0;
    let loopP99Ms = 0;
    const steps = rowSteps(setting);
    const serverCost = await withServerCost(setting, steps, steps, async () => {
      ({ value: cpuUs, loopP99Ms } = await withLoopDelay(() => cpuOf(work)));
    });
    const n = stamps.length;
    await assertUntroubled(perdure, instances);
    return [
      ...readings,
      { metric: "cpuUsPerStep", value: cpuUs / steps, n: steps },
      { metric: "slopePercent", value: slopePercent(stamps), n },
      { metric: "loopP99Ms", value: loopP99Ms, n },
      ...serverCost,
    ];
  });
}

function slopePercent(stamps: readonly number[]): number {
  const between = stamps.slice(1).map((stamp, i) => stamp - (stamps[i] ?? 0));
  const medians = bucketMedians(between, BUCKET);
  const line = fitLine(medians.map((ms, i) => [i, ms]));
  return ((line.at(medians.length - 1) - line.at(0)) / mean(medians)) * 100;
}
