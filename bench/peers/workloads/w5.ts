// W5 for peers: from sending a number, for which an instance waits, to the instance's result, on an idle system.
//   An instance reports that it is about to wait; a moment later it waits. One peer loses a signal that no instance
//   waits for, and reports it: the signal is then sent again, and the time is that of the signal that arrived.

import { strict as assert } from "node:assert";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { until } from "../../measure.ts";
import { withEngine, type PeerRun } from "../run.ts";
import { measureLatency } from "./latency.ts";

const MOMENT_MS = 50;
const AGAIN_MS = 10;

export const run: PeerRun = (order) => {
  const waiting = new Set<string>();
  return withEngine(
    order,
    "one",
    (engine) =>
      measureLatency(order.setting, async (i) => {
        const { signal } = engine;
        assert(signal !== undefined, "the peer has events");
        const input = { id: `w5-${i}`, n: 0, value: i };
        const key = await engine.start("wait", input);
        await until("the instance waits", () => waiting.has(input.id));
        await pause(MOMENT_MS);
        let begun = performance.now();
        while (!(await signal.call(engine, key, input))) {
          await pause(AGAIN_MS);
          begun = performance.now();
        }
        assert.equal(await engine.result(key), i);
        return performance.now() - begun;
      }),
    { waits: (id) => waiting.add(id) },
  );
};
