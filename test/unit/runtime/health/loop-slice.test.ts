// The loop slice: both users get a share of the time.

import { expect, test } from "vitest";
import { LoopSlice } from "../../../../src/runtime/health/loop-slice.ts";

/** A slice on a clock that the test moves. `turn` runs the macrotasks that were requested before it. */
function clockedSlice(): { slice: LoopSlice; pass: (ms: number) => void; turn: () => void } {
  let now = 0;
  let requested: (() => void)[] = [];
  const slice = new LoopSlice({
    monotonic: () => now,
    immediate: (fn) => void requested.push(fn),
  });
  const turn = (): void => {
    const due = requested;
    requested = [];
    for (const fn of due) fn();
  };
  return { slice, pass: (ms) => (now += ms), turn };
}

test("LS1: nothing begins after the slice until the event loop has turned", () => {
  const { slice, pass, turn } = clockedSlice();
  expect(slice.mayBegin("deliveries")).toBe(true);
  pass(4);
  expect(slice.mayBegin("entries")).toBe(true);
  pass(2);
  expect(slice.mayBegin("deliveries")).toBe(false);
  expect(slice.mayBegin("entries")).toBe(false);
  turn();
  expect(slice.mayBegin("deliveries")).toBe(true);
});

test("LS2: a user that was refused gets half of the next slice", () => {
  const { slice, pass, turn } = clockedSlice();
  expect(slice.mayBegin("deliveries")).toBe(true);
  pass(6);
  expect(slice.mayBegin("deliveries")).toBe(false);
  expect(slice.mayBegin("entries")).toBe(false);
  turn();
  expect(slice.mayBegin("deliveries")).toBe(true);
  pass(3);
  expect(slice.mayBegin("deliveries")).toBe(false);
  expect(slice.mayBegin("entries")).toBe(true);
  pass(1);
  expect(slice.mayBegin("entries")).toBe(true);
  pass(2);
  expect(slice.mayBegin("entries")).toBe(false);
});

test("LS3: a user that was refused begins one piece even if the other user has taken the whole slice", () => {
  const { slice, pass, turn } = clockedSlice();
  expect(slice.mayBegin("deliveries")).toBe(true);
  pass(6);
  expect(slice.mayBegin("entries")).toBe(false);
  turn();
  expect(slice.mayBegin("deliveries")).toBe(true);
  pass(50);
  expect(slice.mayBegin("entries")).toBe(true);
  expect(slice.mayBegin("entries")).toBe(false);
});
