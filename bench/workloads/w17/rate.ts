// W17-rate: a queue with a rate of 100 per second and more jobs than it admits.
//   - `windowMost` is the largest number of entries in any window of a second; `usedPercent` is how much of the rate was used
//     from the first entry to the end of the measured time.

import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { job } from "../../../src/index.ts";
import { until } from "../../measure.ts";
import { ratedMs } from "../../sizes.ts";
import type { Run } from "../../subject.ts";
import { withPerdure } from "../../support/open.ts";

const COUNT = 100;
const PER_MS = 1_000;

export const run: Run = (setting) => {
  const entries: number[] = [];
  const work = job("work", () => void entries.push(performance.now()), {
    limit: { rate: { count: COUNT, per: PER_MS } },
  });
  return withPerdure(setting, { register: [work] }, async ({ client }) => {
    const ms = ratedMs(setting);
    const admitted = (ms / PER_MS) * COUNT;
    await client.enqueueMany(work, Array.from({ length: admitted + COUNT }));
    await until("the first job is started", () => entries.length > 0);
    const end = (entries[0] ?? 0) + ms;
    await pause(end - performance.now());
    const used = entries.filter((at) => at < end).length;
    return [
      { metric: "windowMost", value: mostIn(entries), n: admitted },
      { metric: "usedPercent", value: (used / admitted) * 100, n: admitted },
    ];
  });
};

/** The largest number of entries within less than PER_MS. */
function mostIn(entries: readonly number[]): number {
  let first = 0;
  let most = 0;
  for (const [index, at] of entries.entries()) {
    while (at - (entries[first] ?? at) >= PER_MS) first++;
    most = Math.max(most, index - first + 1);
  }
  return most;
}
