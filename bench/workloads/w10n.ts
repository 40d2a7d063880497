// W10n: 1,000 instances of five activities that return 20 kB at once.

import { strict as assert } from "node:assert";
import { activity, orchestration } from "../../src/index.ts";
import { cpuOf, timeMs, withLoopDelay } from "../measure.ts";
import { Payloads } from "../payload.ts";
import { PAYLOAD_CHARS, PAYLOAD_INSTANCES, STEPS, payloadRounds } from "../sizes.ts";
import { median } from "../statistics.ts";
import type { Run } from "../subject.ts";
import { assertUntroubled, withPerdure } from "../support/open.ts";

const payloads = new Payloads(11);

const produce = activity("produce", (_index: number) => payloads.text(PAYLOAD_CHARS));
const documents = orchestration("documents", async (ctx, count: number) => {
  let chars = 0;
  for (let i = 0; i < count; i++) chars += (await ctx.run(produce, i)).length;
  return chars;
});

export const run: Run = (setting) =>
  withPerdure(setting, { register: [documents, produce] }, async (perdure) => {
    const { client } = perdure;
    const n = PAYLOAD_INSTANCES;
    const rounds = payloadRounds(setting);
    const round = async (count: number): Promise<void> => {
      const starts = Array.from({ length: count }, () => client.start(documents, STEPS));
      const handles = await Promise.all(starts);
      const lengths = await Promise.all(handles.map((handle) => handle.result()));
      for (const chars of lengths) assert.equal(chars, STEPS * PAYLOAD_CHARS);
    };
    await round(n / 10); // warm-up
    const stepsPerS: number[] = [];
    const work = async (): Promise<void> => {
      for (let i = 0; i < rounds; i++) {
        stepsPerS.push(((n * STEPS) / (await timeMs(() => round(n)))) * 1_000);
      }
    };
    const { value: cpuUs, loopP99Ms } = await withLoopDelay(() => cpuOf(work));
    await assertUntroubled(perdure, n / 10 + rounds * n);
    return [
      { metric: "stepsPerS", value: median(stepsPerS), n },
      { metric: "cpuUsPerStep", value: cpuUs / (rounds * n * STEPS), n },
      { metric: "loopP99Ms", value: loopP99Ms, n },
    ];
  });
