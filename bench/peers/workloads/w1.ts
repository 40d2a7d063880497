// W1 for peers: one instance, n sequential steps that do nothing.

import { strict as assert } from "node:assert";
import { timeMs } from "../../measure.ts";
import { median } from "../../statistics.ts";
import type { Reading } from "../../subject.ts";
import { increment } from "../peer.ts";
import { withEngine, type PeerRun } from "../run.ts";
import { ROW_LENGTHS, ROW_WARM_UP_STEPS } from "../sizes.ts";

export const run: PeerRun = (order) => {
  let instances = 0;
  let steps = 0;
  const step: typeof increment = (value, at) => {
    steps++;
    return increment(value, at);
  };
  return withEngine(
    order,
    "one",
    async (engine) => {
      const count = async (n: number): Promise<number> => {
        steps = 0;
        const id = `w1-${instances++}`;
        const ms = await timeMs(async () => {
          const key = await engine.start("row", { id, n, value: 0 });
          assert.equal(await engine.result(key), n);
        });
        assert.equal(steps, n, "each step ran once");
        return ms / n;
      };
      await count(ROW_WARM_UP_STEPS);
      const readings: Reading[] = [];
      for (const { n, times } of ROW_LENGTHS) {
        const perStep: number[] = [];
        for (let i = 0; i < times; i++) perStep.push(await count(n));
        readings.push({ metric: "msPerStep", value: median(perStep), n });
      }
      return readings;
    },
    { step },
  );
};
