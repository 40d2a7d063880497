// W4 for peers: from the start of an instance of one step to its result, on an idle system.

import { strict as assert } from "node:assert";
import { timeMs } from "../../measure.ts";
import { withEngine, type PeerRun } from "../run.ts";
import { measureLatency } from "./latency.ts";

export const run: PeerRun = (order) =>
  withEngine(order, "one", (engine) =>
    measureLatency(order.setting, (i) =>
      timeMs(async () => {
        const key = await engine.start("row", { id: `w4-${i}`, n: 1, value: i });
        assert.equal(await engine.result(key), i + 1);
      }),
    ),
  );
