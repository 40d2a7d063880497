// Latency on an idle system: warm-up samples, then the samples that count.
//   The pause between two samples varies, so that no sample is synchronized with a peer's polling.

import { setTimeout as pause } from "node:timers/promises";
import { quantile } from "../../statistics.ts";
import type { Reading, Setting } from "../../subject.ts";
import { samples, WARM_UP_SAMPLES } from "../sizes.ts";

const PAUSE_MS_MAX = 20;

/** `sample` returns its duration in milliseconds. Each index is used once. */
export async function measureLatency(
  setting: Setting,
  sample: (index: number) => Promise<number>,
): Promise<readonly Reading[]> {
  const n = samples(setting);
  const times: number[] = [];
  for (let i = 0; i < WARM_UP_SAMPLES + n; i++) {
    await pause((i * 7) % PAUSE_MS_MAX);
    times.push(await sample(i));
  }
  const counted = times.slice(WARM_UP_SAMPLES);
  return [
    { metric: "p50Ms", value: quantile(counted, 0.5), n },
    { metric: "p99Ms", value: quantile(counted, 0.99), n },
  ];
}
