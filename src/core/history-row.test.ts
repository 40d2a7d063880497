// History rows are read strictly (R2): whatever is not what was written is HISTORY_CORRUPT, and never a guess.

import { expect, test } from "vitest";
import { decodeHistory, decodeRow, encodeRow, type HistoryRow } from "./history-row.ts";
import { REPLAY_VERSION, type EventBody } from "./history-events.ts";

const BODIES: readonly EventBody[] = [
  { kind: "TimerFired", scheduled: 2 },
  { kind: "OrchestrationCompleted", output: "1" },
];
const row = (first: number, data = encodeRow(5, BODIES)): HistoryRow => ({
  first,
  last: first + 1,
  data,
});

test("what was written is read, each event with its number and its time", () => {
  expect(decodeRow(row(7))).toEqual([
    { ...BODIES[0], sequence: 7, at: 5, version: REPLAY_VERSION },
    { ...BODIES[1], sequence: 8, at: 5, version: REPLAY_VERSION },
  ]);
});

const text = JSON.stringify;
const whole = { v: REPLAY_VERSION, at: 5, e: BODIES };
test.each([
  ["is not JSON", "{"],
  ["is no row", "null"],
  ["is of a newer version", text({ ...whole, v: REPLAY_VERSION + 1 })],
  ["has no time", text({ ...whole, at: "5" })],
  ["has an event too few", text({ ...whole, e: BODIES.slice(1) })],
  ["has an event too many", text({ ...whole, e: [...BODIES, ...BODIES] })],
  [
    "has an event of a kind that nobody knows",
    text({ ...whole, e: [{ kind: "Dreamt" }, BODIES[1]] }),
  ],
  ["has something that is no event", text({ ...whole, e: [null, BODIES[1]] })],
])("a row that %s is refused", (_, data) => {
  expect(() => decodeRow(row(1, data))).toThrow(
    expect.objectContaining({ code: "HISTORY_CORRUPT" }),
  );
});

test("rows that leave a gap, or lie over each other, are refused", () => {
  expect(decodeHistory([row(1), row(3)])).toHaveLength(4);
  for (const rows of [
    [row(1), row(4)],
    [row(1), row(2)],
  ]) {
    expect(() => decodeHistory(rows)).toThrow(expect.objectContaining({ code: "HISTORY_CORRUPT" }));
  }
});
