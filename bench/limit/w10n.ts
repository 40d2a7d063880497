// W10n's limit: 1,000 instances of five steps with results of 20 kB, in groups of about 1 MB.

import { strict as assert } from "node:assert";
import { timeMs } from "../measure.ts";
import { Payloads } from "../payload.ts";
import { PAYLOAD_CHARS, PAYLOAD_INSTANCES, STEPS, payloadRounds } from "../sizes.ts";
import { median } from "../statistics.ts";
import type { Run } from "../subject.ts";
import { stepOf, withRows, type Rows, type RowWrite } from "./rows.ts";

/** The engine bounds its groups by bytes too (core/commit). */
const GROUP = Math.floor(1_000_000 / PAYLOAD_CHARS);
const payloads = new Payloads(12);

export const run: Run = (setting) =>
  withRows(setting, async (rows) => {
    const n = PAYLOAD_INSTANCES;
    const stepsPerS: number[] = [];
    let done = 0;
    await round(rows, done++); // warm-up
    for (let i = 0; i < payloadRounds(setting); i++) stepsPerS.push(await round(rows, done++));
    assert.equal(await rows.ended(), done * n);
    return [{ metric: "stepsPerS", value: median(stepsPerS), n }];
  });

async function round(rows: Rows, index: number): Promise<number> {
  const count = PAYLOAD_INSTANCES;
  const keys = Array.from({ length: count }, (_, i) => index * count + i + 1);
  const inGroups = async (writes: readonly RowWrite[]): Promise<void> => {
    for (let i = 0; i < writes.length; i += GROUP) await rows.commit(writes.slice(i, i + GROUP));
  };
  const ms = await timeMs(async () => {
    await inGroups(keys.map((key) => ({ kind: "start", key })));
    for (let step = 0; step <= STEPS; step++) {
      const turn = (key: number): RowWrite =>
        stepOf(key, step, step === STEPS, payloads.text(PAYLOAD_CHARS));
      await inGroups(keys.map(turn));
    }
  });
  return ((count * STEPS) / ms) * 1_000;
}
