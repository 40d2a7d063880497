// W3: one instance that runs n activities in parallel.

import { strict as assert } from "node:assert";
import { activity, orchestration } from "../../src/index.ts";
import { timeMs, withLoopDelay } from "../measure.ts";
import { WIDTH_WARM_UP, WIDTHS } from "../sizes.ts";
import { median } from "../statistics.ts";
import type { Reading, Run } from "../subject.ts";
import { assertUntroubled, withPerdure } from "../support/open.ts";

const double = activity("double", (value: number) => value * 2);
const fan = orchestration("fan", async (ctx, n: number) => {
  const doubled = await ctx.all(Array.from({ length: n }, (_, i) => ctx.run(double, i)));
  return doubled.reduce((sum, value) => sum + value, 0);
});

export const run: Run = (setting) =>
  withPerdure(setting, { register: [fan, double] }, async (perdure) => {
    let instances = 0;
    let activities = 0;
    const fanOut = (n: number): Promise<number> =>
      timeMs(async () => {
        instances++;
        activities += n;
        const handle = await perdure.client.start(fan, n);
        assert.equal(await handle.result(), n * (n - 1));
      });
    await fanOut(WIDTH_WARM_UP);
    await fanOut(WIDTH_WARM_UP);
    const { value: readings, loopP99Ms } = await withLoopDelay(async () => {
      const found: Reading[] = [];
      for (const { n, times } of WIDTHS) {
        const each: number[] = [];
        for (let i = 0; i < times; i++) each.push(await fanOut(n));
        found.push({ metric: "totalMs", value: median(each), n });
      }
      return found;
    });
    await assertUntroubled(perdure, instances);
    assert.equal(perdure.runtime.stats().activities.completed, activities);
    return [...readings, { metric: "loopP99Ms", value: loopP99Ms, n: WIDTHS[1].n }];
  });
