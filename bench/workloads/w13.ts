// W13: passages of one limiter: n instances pass it ten times each, one after the other. It admits 100 at a time.
//   The work of a passage is empty, so the figure is the cost of a limiter and not of what it protects.

import { strict as assert } from "node:assert";
import { orchestration, type Perdure } from "../../src/index.ts";
import { limiter } from "../../src/limiter/index.ts";
import { timeMs } from "../measure.ts";
import { PASSAGES, PASSING, PASSING_WARM_UP } from "../sizes.ts";
import type { Run } from "../subject.ts";
import { withPerdure } from "../support/open.ts";

const narrow = limiter("narrow", { concurrency: 100 });
const passing = orchestration("passing", async (ctx, passages: number) => {
  for (let i = 0; i < passages; i++) await narrow.run(ctx, () => i);
  return passages;
});

export const run: Run = (setting) =>
  withPerdure(setting, { register: [narrow, passing] }, async (perdure) => {
    await pass(perdure, PASSING_WARM_UP);
    const ms = await timeMs(() => pass(perdure, PASSING));
    const n = PASSING * PASSAGES;
    return [{ metric: "passagesPerS", value: (n / ms) * 1_000, n }];
  });

async function pass({ client }: Perdure, instances: number): Promise<void> {
  await Promise.all(
    Array.from({ length: instances }, async () => {
      const handle = await client.start(passing, PASSAGES);
      assert.equal(await handle.result(), PASSAGES);
    }),
  );
}
