// W3 for peers: one instance that runs n steps in parallel.

import { strict as assert } from "node:assert";
import { timeMs } from "../../measure.ts";
import { median } from "../../statistics.ts";
import { withEngine, type PeerRun } from "../run.ts";
import { WIDTH, WIDTH_TIMES } from "../sizes.ts";

export const run: PeerRun = (order) =>
  withEngine(order, "one", async (engine) => {
    const fanOut = (index: number): Promise<number> =>
      timeMs(async () => {
        const key = await engine.start("fan", { id: `w3-${index}`, n: WIDTH, value: 0 });
        assert.equal(await engine.result(key), (WIDTH * (WIDTH + 1)) / 2);
      });
    await fanOut(0);
    const each: number[] = [];
    for (let i = 1; i <= WIDTH_TIMES; i++) each.push(await fanOut(i));
    return [{ metric: "totalMs", value: median(each), n: WIDTH }];
  });
