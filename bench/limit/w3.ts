// W3's limit: one turn begins n tasks; they end in groups, each group one turn of the instance.

import { strict as assert } from "node:assert";
import { timeMs } from "../measure.ts";
import { WIDTH_WARM_UP, WIDTHS } from "../sizes.ts";
import { median } from "../statistics.ts";
import type { Reading, Run } from "../subject.ts";
import { GROUP_MAX, withRows } from "./rows.ts";

export const run: Run = (setting) =>
  withRows(setting, async (rows) => {
    let key = 0;
    const fanOut = (n: number): Promise<number> => {
      key++;
      const tasks = Array.from({ length: n }, (_, i) => i + 2);
      return timeMs(async () => {
        await rows.commit([{ kind: "start", key }]);
        await rows.commit([{ kind: "turn", key, first: 1, begun: tasks }]);
        for (let i = 0; i < n; i += GROUP_MAX) {
          const finished = tasks.slice(i, i + GROUP_MAX);
          const ended = i + GROUP_MAX >= n;
          await rows.commit([{ kind: "turn", key, first: n + 2 + 2 * i, finished, ended }]);
        }
      });
    };
    await fanOut(WIDTH_WARM_UP);
    const readings: Reading[] = [];
    for (const { n, times } of WIDTHS) {
      const each: number[] = [];
      for (let i = 0; i < times; i++) each.push(await fanOut(n));
      readings.push({ metric: "totalMs", value: median(each), n });
    }
    assert.equal(await rows.ended(), key);
    return readings;
  });
