// W10: 1,000 instances of five activities that take 20 to 200 ms and return 2 to 50 kB, all at once, in one process.
//   A probe runs alongside: one instance of one step after another, from its start to its result.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { activity, orchestration, type Perdure } from "../../src/index.ts";
import { cpuOf, timeMs, withLoopDelay } from "../measure.ts";
import { Payloads } from "../payload.ts";
import { PAYLOAD_INSTANCES, PAYLOAD_PROBE_PAUSE_MS, STEPS, payloadRounds } from "../sizes.ts";
import { quantile } from "../statistics.ts";
import type { Run } from "../subject.ts";
import { assertUntroubled, withPerdure } from "../support/open.ts";

const payloads = new Payloads(10);

const fetchDocument = activity("fetchDocument", async (_index: number) => {
  await pause(payloads.between(20, 200));
  return payloads.text(payloads.between(2_000, 50_000));
});
const documents = orchestration("documents", async (ctx, count: number) => {
  let chars = 0;
  for (let i = 0; i < count; i++) chars += (await ctx.run(fetchDocument, i)).length;
  return chars;
});
const probe = orchestration("probe", (ctx, value: number) => ctx.step("add", () => value + 1));

export const run: Run = (setting) => {
  const rounds = payloadRounds(setting);
  const n = PAYLOAD_INSTANCES;
  return withPerdure(setting, { register: [documents, probe, fetchDocument] }, async (perdure) => {
    await round(perdure, n / 10); // warm-up
    const stepsPerS: number[] = [];
    const probes: number[] = [];
    const work = async (): Promise<void> => {
      for (let i = 0; i < rounds; i++) {
        const running = timeMs(() => round(perdure, n));
        probes.push(...(await probeDuring(perdure, running)));
        stepsPerS.push(((n * STEPS) / (await running)) * 1_000);
      }
    };
    const { value: cpuUs, loopP99Ms } = await withLoopDelay(() => cpuOf(work));
    await assertUntroubled(perdure, n / 10 + rounds * n + probes.length);
    return [
      { metric: "stepsPerS", value: quantile(stepsPerS, 0.5), n },
      { metric: "p50Ms", value: quantile(probes, 0.5), n },
      { metric: "p99Ms", value: quantile(probes, 0.99), n },
      { metric: "cpuUsPerStep", value: cpuUs / (rounds * n * STEPS), n },
      { metric: "loopP99Ms", value: loopP99Ms, n },
    ];
  });
};

async function round({ client }: Perdure, count: number): Promise<void> {
  const starts = Array.from({ length: count }, () => client.start(documents, STEPS));
  const handles = await Promise.all(starts);
  const lengths = await Promise.all(handles.map((handle) => handle.result()));
  for (const chars of lengths) assert.ok(chars >= STEPS * 2_000 && chars <= STEPS * 50_000);
}

/** The time of each probe, until the work is done. */
async function probeDuring({ client }: Perdure, work: Promise<unknown>): Promise<number[]> {
  let isOver = false;
  void work.finally(() => (isOver = true)).catch(() => undefined); // the caller awaits the work
  const times: number[] = [];
  while (!isOver) {
    const ms = await timeMs(async () => {
      const handle = await client.start(probe, times.length);
      assert.equal(await handle.result(), times.length + 1);
    });
    times.push(ms);
    await pause(PAYLOAD_PROBE_PAUSE_MS);
  }
  return times;
}
