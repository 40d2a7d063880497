// Latency on an idle system: warm-up samples, then 300 (quick: 150), one after another with a pause between.

import { setTimeout as pause } from "node:timers/promises";
import { withLoopDelay } from "../measure.ts";
import { samples } from "../sizes.ts";
import { quantile } from "../statistics.ts";
import type { Reading, Setting } from "../subject.ts";

const PAUSE_MS = 3;

/** `sample` returns its duration in milliseconds. */
export async function measureLatency(
  setting: Setting,
  sample: (index: number) => Promise<number>,
): Promise<readonly Reading[]> {
  const { n, warmUp } = samples(setting);
  for (let i = 0; i < warmUp; i++) await sample(i);
  const { value: times, loopP99Ms } = await withLoopDelay(async () => {
    const each: number[] = [];
    for (let i = 0; i < n; i++) {
      await pause(PAUSE_MS);
      each.push(await sample(i));
    }
    return each;
  });
  return [
    { metric: "p50Ms", value: quantile(times, 0.5), n },
    { metric: "p99Ms", value: quantile(times, 0.99), n },
    { metric: "loopP99Ms", value: loopP99Ms, n },
  ];
}
