// W5's limit: the event's message, then the turn that consumes it and ends: two commits.

import { strict as assert } from "node:assert";
import { timeMs } from "../measure.ts";
import { samples } from "../sizes.ts";
import type { Run } from "../subject.ts";
import { measureLatency } from "../support/latency.ts";
import { withRows } from "./rows.ts";

export const run: Run = (setting) =>
  withRows(setting, async (rows) => {
    let key = 0;
    const readings = await measureLatency(setting, async () => {
      const message = ++key;
      await rows.commit([{ kind: "start", key }]);
      await rows.commit([{ kind: "turn", key, first: 1 }]);
      return timeMs(async () => {
        await rows.commit([{ kind: "send", key, message }]);
        await rows.commit([{ kind: "turn", key, first: 3, consumed: message, ended: true }]);
      });
    });
    const { n, warmUp } = samples(setting);
    assert.equal(await rows.ended(), n + warmUp);
    return readings;
  });
