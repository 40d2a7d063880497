// What an append writes to a stream: each value of a run once, in order, and none after the stream was closed
// (shared.streams.1).

import { expect, test } from "vitest";
import type { AppendItem } from "../../../../src/core/provider/streams.ts";
import {
  planAppend,
  STREAM_CLOSED,
  type StoredStreamCall,
} from "../../../../src/core/provider/shared/streams.ts";

const append = (position: number, ...values: readonly string[]): AppendItem =>
  ({
    ...{ kind: "append", run: "run", position, values },
    task: { key: 1, execution: 3, sequence: 4, token: 5 },
  }) as unknown as AppendItem;
const open = { next: 10, isClosed: false };
const closed = { next: 10, isClosed: true };
const call: StoredStreamCall = { run: "run", since: 6, runSince: 8, written: 2 };
const items = (first: number, ...values: readonly string[]) => ({
  ...{ first, count: values.length, execution: 3, call: 4, kind: "items" },
  data: JSON.stringify(values),
});

test("the first append of a call begins its run at the end of the stream", () => {
  expect(planAppend(append(0, "a", "b"), open, null)).toEqual({
    ...{ kind: "write", chunks: [items(10, "a", "b")], next: 12, beginsRun: true },
    call: { run: "run", since: 10, runSince: 10, written: 2 },
  });
});

test("a further append continues its run", () => {
  expect(planAppend(append(2, "c"), open, call)).toEqual({
    ...{ kind: "write", chunks: [items(10, "c")], next: 11, beginsRun: false },
    call: { run: "run", since: 6, runSince: 8, written: 3 },
  });
});

test("values that are already stored are not written twice", () => {
  expect(planAppend(append(0, "a", "b"), open, call)).toEqual({ kind: "done" });
  expect(planAppend(append(1, "b"), closed, call)).toEqual({ kind: "done" });
  expect(planAppend(append(1, "b", "c"), open, call)).toMatchObject({
    ...{ chunks: [items(10, "c")], next: 11 },
    call: { written: 3 },
  });
});

test("shared.streams.1: an append after missing values is refused", () => {
  const refused = { kind: "refused", code: "LEASE_LOST" };
  expect(planAppend(append(3, "d"), open, call)).toEqual(refused);
  expect(planAppend(append(1, "b"), open, null)).toEqual(refused);
});

test("a closed stream takes no values", () => {
  expect(planAppend(append(2, "c"), closed, call)).toEqual(STREAM_CLOSED);
  expect(planAppend(append(0, "a"), closed, null)).toEqual(STREAM_CLOSED);
});

test("a new run of a call resets what the earlier run wrote", () => {
  const earlier = { ...call, run: "earlier" };
  const reset = { first: 10, count: 1, execution: 3, call: 4, kind: "reset", data: "6" };
  expect(planAppend(append(0, "a"), open, earlier)).toEqual({
    ...{ kind: "write", chunks: [reset, items(11, "a")], next: 12, beginsRun: true },
    call: { run: "run", since: 6, runSince: 11, written: 1 },
  });
});
