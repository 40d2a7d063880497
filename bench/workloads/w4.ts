// W4: from the start of an instance of one activity to its result, on an idle system.

import { strict as assert } from "node:assert";
import { activity, orchestration } from "../../src/index.ts";
import { timeMs } from "../measure.ts";
import { samples } from "../sizes.ts";
import type { Run } from "../subject.ts";
import { measureLatency } from "../support/latency.ts";
import { assertUntroubled, withPerdure } from "../support/open.ts";

const increment = activity("increment", (value: number) => value + 1);
const once = orchestration("once", (ctx, value: number) => ctx.run(increment, value));

export const run: Run = (setting) =>
  withPerdure(setting, { register: [once, increment] }, async (perdure) => {
    const readings = await measureLatency(setting, (i) =>
      timeMs(async () => {
        const handle = await perdure.client.start(once, i);
        assert.equal(await handle.result(), i + 1);
      }),
    );
    const { n, warmUp } = samples(setting);
    await assertUntroubled(perdure, n + warmUp);
    return readings;
  });
