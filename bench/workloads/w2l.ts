// W2L: five sequential activities in 20,000 instances, 500 in flight all the time.
//   Its share of W2 is computed from rounds of W2 in the same process, run before.
//   Memory: the growth from a quarter of the way to the end, after garbage collection.

import { strict as assert } from "node:assert";
import type { Run } from "../subject.ts";
import { forEachOf, settledMemory, timeMs, withLoopDelay } from "../measure.ts";
import { AT_ONCE, flowSize, STEPS } from "../sizes.ts";
import { five, increment, rounds } from "../support/five-steps.ts";
import { assertUntroubled, withPerdure } from "../support/open.ts";

export const run: Run = (setting) => {
  const n = flowSize(setting);
  return withPerdure(setting, { register: [five, increment] }, async (perdure) => {
    const flow = (count: number): Promise<number> =>
      timeMs(() =>
        forEachOf(count, AT_ONCE, async (i) => {
          const handle = await perdure.client.start(five, i);
          assert.equal(await handle.result(), i + STEPS);
        }),
      );
    const w2 = await rounds(setting, perdure, five);
    const first = await withLoopDelay(() => flow(n / 4));
    const before = await settledMemory();
    const rest = await withLoopDelay(() => flow((n * 3) / 4));
    const after = await settledMemory();
    await assertUntroubled(perdure, w2.instances + n);
    assert.equal(perdure.runtime.stats().activities.completed, (w2.instances + n) * STEPS);
    const stepsPerS = ((n * STEPS) / (first.value + rest.value)) * 1_000;
    return [
      { metric: "stepsPerS", value: stepsPerS, n },
      { metric: "ofW2Percent", value: (stepsPerS / w2.stepsPerS) * 100, n },
      { metric: "rssMb", value: after.rssMb - before.rssMb, n },
      { metric: "heapMb", value: after.heapMb - before.heapMb, n },
      { metric: "loopP99Ms", value: rest.loopP99Ms, n },
    ];
  });
};
