// Latency on an idle system: some samples that warm up, then 300, one after another with a pause between.

import { setTimeout as pause } from "node:timers/promises";
import { withLoopDelay } from "../measure.ts";
import { SAMPLES, WARM_UP_SAMPLES } from "../sizes.ts";
import { quantile } from "../statistics.ts";
import type { Reading } from "../subject.ts";

const PAUSE_MS = 3;

/** `sample` answers how long it took, in milliseconds. */
export async function measureLatency(
  sample: (index: number) => Promise<number>,
): Promise<readonly Reading[]> {
  for (let i = 0; i < WARM_UP_SAMPLES; i++) await sample(i);
  const { value: times, loopP99Ms } = await withLoopDelay(async () => {
    const each: number[] = [];
    for (let i = 0; i < SAMPLES; i++) {
      await pause(PAUSE_MS);
      each.push(await sample(i));
    }
    return each;
  });
  return [
    { metric: "p50Ms", value: quantile(times, 0.5), n: SAMPLES },
    { metric: "p99Ms", value: quantile(times, 0.99), n: SAMPLES },
    { metric: "loopP99Ms", value: loopP99Ms, n: SAMPLES },
  ];
}
