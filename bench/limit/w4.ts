// W4's limit: a start, a turn that begins a task, a turn that ends it and the instance: three commits.

import { strict as assert } from "node:assert";
import { timeMs } from "../measure.ts";
import { samples } from "../sizes.ts";
import type { Run } from "../subject.ts";
import { measureLatency } from "../support/latency.ts";
import { stepOf, withRows } from "./rows.ts";

export const run: Run = (setting) =>
  withRows(setting, async (rows) => {
    let key = 0;
    const readings = await measureLatency(setting, () => {
      key++;
      return timeMs(async () => {
        await rows.commit([{ kind: "start", key }]);
        await rows.commit([stepOf(key, 0, false)]);
        await rows.commit([stepOf(key, 1, true)]);
      });
    });
    const { n, warmUp } = samples(setting);
    assert.equal(await rows.ended(), n + warmUp);
    return readings;
  });
