// W2 for peers: 500 instances of five steps, started at once.

import { strict as assert } from "node:assert";
import { timeMs } from "../../measure.ts";
import { AT_ONCE, STEPS } from "../../sizes.ts";
import { median } from "../../statistics.ts";
import { withEngine, type PeerRun } from "../run.ts";
import { ROUNDS, WARM_UP_ROUNDS } from "../sizes.ts";

export const run: PeerRun = (order) =>
  withEngine(order, "many", async (engine) => {
    const round = async (index: number): Promise<number> => {
      const inputs = Array.from({ length: AT_ONCE }, (_, i) => i);
      const ms = await timeMs(async () => {
        const keys = await Promise.all(
          inputs.map((i) => engine.start("row", { id: `w2-${index}-${i}`, n: STEPS, value: i })),
        );
        const results = await Promise.all(keys.map((key) => engine.result(key)));
        for (const [i, result] of results.entries()) assert.equal(result, i + STEPS);
      });
      return ((AT_ONCE * STEPS) / ms) * 1_000;
    };
    let rounds = 0;
    while (rounds < WARM_UP_ROUNDS) await round(rounds++);
    const each: number[] = [];
    for (let i = 0; i < ROUNDS; i++) each.push(await round(rounds++));
    return [{ metric: "stepsPerS", value: median(each), n: AT_ONCE }];
  });
