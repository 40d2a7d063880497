// W6's limit: sleepers as rows, and the rows that change when 10,000 of them wake.

import { strict as assert } from "node:assert";
import { timeMs } from "../measure.ts";
import { DUE_TOGETHER, sleepers } from "../sizes.ts";
import type { Run } from "../subject.ts";
import { commitAll, withRows } from "./rows.ts";

const DAY_MS = 86_400_000;

export const run: Run = (setting) => {
  const n = sleepers(setting);
  return withRows(setting, async (rows) => {
    const keys = Array.from({ length: n }, (_, i) => i + 1);
    const dueAt = Date.now() + DAY_MS;
    const startMs = await timeMs(async () => {
      await commitAll(
        rows,
        keys.map((key) => ({ kind: "start", key })),
      );
      await commitAll(
        rows,
        keys.map((key) => ({ kind: "turn", key, first: 1, timer: { message: key, dueAt } })),
      );
    });
    const due = keys.slice(0, DUE_TOGETHER);
    const dueMs = await timeMs(() =>
      commitAll(
        rows,
        due.map((key) => ({ kind: "turn", key, first: 3, consumed: key, ended: true })),
      ),
    );
    assert.equal(await rows.ended(), DUE_TOGETHER);
    return [
      { metric: "startsPerS", value: (n / startMs) * 1_000, n },
      { metric: "dueMs", value: dueMs, n: DUE_TOGETHER },
    ];
  });
};
