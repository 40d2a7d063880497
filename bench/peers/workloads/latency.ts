// Latency on an idle system: some samples that warm up, then those that count.
//   The pause between two is of no fixed length, so that no sample keeps step with a peer's polling.

import { setTimeout as pause } from "node:timers/promises";
import { quantile } from "../../statistics.ts";
import type { Reading, Setting } from "../../subject.ts";
import { samples, WARM_UP_SAMPLES } from "../sizes.ts";

const PAUSE_MS_MAX = 20;

/** `sample` answers how long it took, in milliseconds. Its index is never the same twice. */
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
