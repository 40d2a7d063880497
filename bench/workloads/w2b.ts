// W2b: as many instances as W2L, all started at once: a backlog far beyond the limit of instances in flight.

import { strict as assert } from "node:assert";
import { cpuOf, timeMs, withLoopDelay } from "../measure.ts";
import { flowSize, STEPS } from "../sizes.ts";
import type { Run } from "../subject.ts";
import { five, increment, rounds, startAtOnce } from "../support/five-steps.ts";
import { assertUntroubled, withPerdure } from "../support/open.ts";

export const run: Run = (setting) => {
  const n = flowSize(setting);
  return withPerdure(setting, { register: [five, increment] }, async (perdure) => {
    const w2 = await rounds(setting, perdure, five);
    let ms = 0;
    const work = async (): Promise<void> => {
      ms = await timeMs(() => startAtOnce(perdure, five, n));
    };
    const { value: cpuUs, loopP99Ms } = await withLoopDelay(() => cpuOf(work));
    await assertUntroubled(perdure, w2.instances + n);
    assert.equal(perdure.runtime.stats().activities.completed, (w2.instances + n) * STEPS);
    const stepsPerS = ((n * STEPS) / ms) * 1_000;
    return [
      { metric: "stepsPerS", value: stepsPerS, n },
      { metric: "ofW2Percent", value: (stepsPerS / w2.stepsPerS) * 100, n },
      { metric: "cpuUsPerStep", value: cpuUs / (n * STEPS), n },
      { metric: "loopP99Ms", value: loopP99Ms, n },
    ];
  });
};
