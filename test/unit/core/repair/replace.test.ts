// Replaced outcomes: which calls can get a value of an operator, and where it stands (repair.replace.1).

import { expect, test } from "vitest";
import type { EventBody } from "../../../../src/core/history/events.ts";
import { checkReplacements, replaceOutcomes } from "../../../../src/core/repair/replace.ts";
import {
  called,
  calledFailed,
  ran,
  ranCancelled,
  ranDone,
  ranFailed,
  slept,
  stepped,
  steppedFailed,
} from "../../../replay/bodies.ts";
import { ASK, AT, askDone, historyOf } from "./support.ts";

const encode = (value: unknown) => `text of ${String(value)}`;
const replace = (
  bodies: readonly EventBody[],
  list: readonly { sequence: number; output: unknown }[],
  before = 99,
) => replaceOutcomes(historyOf(...bodies), list, before, encode);

test("without replacements the history stays as it is", () => {
  const events = historyOf(ran("a"));
  const result = replaceOutcomes(events, [], 2, encode);
  expect(result).toEqual({ events, calls: [] });
  expect(result.events).toBe(events);
});

test("repair.replace.1: a new outcome takes the place, time, release and attempts of the old one", () => {
  const error = new Error("x");
  const bodies = [
    ...[ran("a"), ranFailed(2, error, 3), stepped("s"), steppedFailed(4, error, 5)],
    ...[called("c", "i::2"), calledFailed(6, error), ASK, askDone(8)],
  ];
  const events = historyOf(...bodies).map((event) => ({ ...event, release: "0.1.0" }));
  const list = [2, 4, 6, 8].map((sequence) => ({ sequence, output: sequence }));
  const result = replaceOutcomes(events, list, 99, encode);
  expect(result.calls).toEqual([2, 4, 6, 8]);
  expect(result.events).toHaveLength(9);
  const row = (sequence: number) => ({
    ...{ sequence, at: AT + sequence - 1, version: 1, release: "0.1.0" },
    ...{ scheduled: sequence - 1, output: `text of ${sequence - 1}`, replaced: true },
  });
  expect(result.events.filter((_, index) => [2, 4, 6, 8].includes(index))).toEqual([
    { kind: "ActivityCompleted", attempts: 3, ...row(3) },
    { kind: "StepCompleted", attempts: 5, ...row(5) },
    { kind: "ChildCompleted", ...row(7) },
    { kind: "AskCompleted", ...row(9) },
  ]);
  expect(result.events[1]).toEqual(events[1]);
});

test("a call can be named by the event with its outcome", () => {
  const bodies = [ran("a"), ran("b"), ranDone(3, "old")];
  expect(replace(bodies, [{ sequence: 4, output: "new" }]).calls).toEqual([3]);
});

test("repair.replace.1: an open call and a cancelled one get their outcomes after all other events", () => {
  const bodies = [ran("a"), ran("b"), ranCancelled(3), slept(5)];
  const list = [
    { sequence: 2, output: "A" },
    { sequence: 3, output: "B" },
  ];
  const { events, calls } = replace(bodies, list);
  expect(calls).toEqual([2, 3]);
  const last = { at: AT + 4, version: 1, attempts: 0, replaced: true };
  expect(events.slice(5)).toEqual([
    { kind: "ActivityCompleted", scheduled: 2, output: "text of A", sequence: 6, ...last },
    { kind: "ActivityCompleted", scheduled: 3, output: "text of B", sequence: 7, ...last },
  ]);
  expect(events[3]).toMatchObject({ kind: "ActivityCancelRequested" });
});

test("a call after the cut, a call named twice and another event are refused", () => {
  const bodies = [ran("a"), slept(5), ran("b"), ranDone(2)];
  const one = (sequence: number) => ({ sequence, output: 1 });
  expect(() => replace(bodies, [one(4)], 4)).toThrow("after the cut before event 4");
  expect(replace(bodies, [one(4)], 5).calls).toEqual([4]);
  expect(() => replace(bodies, [one(2), one(5)])).toThrow("event 2 twice");
  expect(() => replace(bodies, [one(3)])).toThrow("event 3 is TimerCreated");
  expect(() => replace(bodies, [one(40)])).toThrow("event 40 is not in the history");
});

test("a list of replacements is checked member by member", () => {
  checkReplacements([]);
  checkReplacements([{ sequence: 2, output: undefined }]);
  const bad: readonly (readonly [unknown, string])[] = [
    [undefined, "must be a list"],
    [{ sequence: 2, output: 1 }, "must be a list"],
    [[null], "each member"],
    [[7], "each member"],
    [["text"], "each member"],
    [[{ sequence: 2 }], "each member"],
    [[{ output: 1 }], "each member"],
    [[{ sequence: 1, output: 1 }], "sequence of replace"],
    [[{ sequence: 2.5, output: 1 }], "sequence of replace"],
    [[{ sequence: 2, output: 1, value: 3 }], "value"],
  ];
  for (const [list, message] of bad) expect(() => checkReplacements(list)).toThrow(message);
});
