// W7's limit: the event's message, a read of n events and their decoding, the turn that ends.

import { strict as assert } from "node:assert";
import { timeMs } from "../measure.ts";
import { historiesEach, historyLengths } from "../sizes.ts";
import { median } from "../statistics.ts";
import type { Reading, Run } from "../subject.ts";
import { commitAll, stepOf, withRows } from "./rows.ts";

export const run: Run = (setting) =>
  withRows(setting, async (rows) => {
    let key = 0;
    const wake = async (events: number): Promise<number> => {
      const message = ++key;
      const turns = Array.from({ length: events / 2 }, (_, i) => stepOf(key, i, false));
      await rows.commit([{ kind: "start", key }]);
      await commitAll(rows, turns);
      return timeMs(async () => {
        await rows.commit([{ kind: "send", key, message }]);
        const decoded = (await rows.history(key)).map((data): unknown => JSON.parse(data));
        assert.equal(decoded.length, events / 2);
        const first = events + 1;
        await rows.commit([{ kind: "turn", key, first, consumed: message, ended: true }]);
      });
    };
    const lengths = historyLengths(setting);
    await wake(Math.min(...lengths));
    const readings: Reading[] = [];
    for (const n of lengths) {
      const times: number[] = [];
      for (let i = 0; i < historiesEach(setting); i++) times.push(await wake(n));
      readings.push({ metric: "replayMs", value: median(times), n });
    }
    assert.equal(await rows.ended(), key);
    return readings;
  });
