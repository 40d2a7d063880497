// W13: n instances pass one limiter with few slots. Each holds its slot for one inline step.

import { strict as assert } from "node:assert";
import { limiter } from "../../src/limiter/index.ts";
import { orchestration } from "../../src/index.ts";
import { forEachOf, timeMs } from "../measure.ts";
import { limited, LIMITED_AT_ONCE, LIMITER_SLOTS } from "../sizes.ts";
import type { Run } from "../subject.ts";
import { withPerdure } from "./support/open.ts";

const slots = limiter("slots", { concurrency: LIMITER_SLOTS });
let inside = 0;
let most = 0;
const pass = orchestration("pass", (ctx) =>
  slots.run(ctx, () =>
    ctx.step("inside", async () => {
      most = Math.max(most, ++inside);
      await Promise.resolve();
      inside--;
      return 1;
    }),
  ),
);

export const run: Run = (setting) =>
  withPerdure(setting, { register: [slots, pass] }, async ({ client }) => {
    const n = limited(setting);
    const one = async (): Promise<void> => {
      assert.equal(await (await client.start(pass)).result(), 1);
    };
    await forEachOf(n / 4, LIMITED_AT_ONCE, one); // the warm-up
    const ms = await timeMs(() => forEachOf(n, LIMITED_AT_ONCE, one));
    assert.ok(most <= LIMITER_SLOTS, "the limiter keeps its limit");
    return [{ metric: "passesPerS", value: (n / ms) * 1_000, n }];
  });
