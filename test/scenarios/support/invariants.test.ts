// Tests the invariant checker: each test case breaks one invariant, and the checker must report it.

import { expect, test } from "vitest";
import type { HistoryEvent } from "../../../src/index.ts";
import { faults } from "./invariants.ts";

const stamp = { at: 1, version: 1 };
type Body = Omit<HistoryEvent, "sequence" | "at" | "version">;

/** Adds sequence numbers and times to the bodies. */
function history(...bodies: readonly (Body & { at?: number; sequence?: number })[]) {
  return bodies.map((body, index) => ({ ...stamp, sequence: index + 1, ...body }) as HistoryEvent);
}

const started = { kind: "OrchestrationStarted" } as Body;
const timer = { kind: "TimerCreated", due: 5 } as Body;
const fired = { kind: "TimerFired", scheduled: 2 } as Body;
const completed = { kind: "OrchestrationCompleted", output: "1" } as Body;

test("a sound history has no faults", () => {
  expect(faults(history(started, timer, fired, completed))).toEqual([]);
  expect(faults(history(started, timer))).toEqual([]);
  expect(faults([])).toEqual([]);
});

test.each<[string, readonly HistoryEvent[]]>([
  ["a gap", history(started, { ...timer, sequence: 3 } as Body)],
  ["no start", history(timer)],
  ["two starts", history(started, started)],
  ["an event after the end", history(started, completed, timer)],
  ["an event older than its predecessor", history({ ...started, at: 9 } as Body, timer)],
  ["two outcomes of one call", history(started, timer, fired, fired)],
  [
    "an outcome after a cancel",
    history(started, timer, { kind: "TimerCancelled", scheduled: 2 } as Body, fired),
  ],
  [
    "an outcome of another kind",
    history(started, timer, { kind: "ActivityCompleted", scheduled: 2 } as Body),
  ],
  ["an outcome of an unknown call", history(started, { ...fired, scheduled: 7 } as Body)],
  ["a timer left open at the end", history(started, timer, completed)],
  [
    "two cancel requests",
    history(
      started,
      { kind: "OrchestrationCancelRequested", reason: "a" } as Body,
      { kind: "OrchestrationCancelRequested", reason: "b" } as Body,
    ),
  ],
  [
    "a missing attempt number",
    history(
      started,
      { kind: "StepScheduled", name: "s" } as Body,
      { kind: "StepAttemptFailed", scheduled: 2, attempt: 2 } as Body,
    ),
  ],
  [
    "an outcome that counts too few attempts",
    history(
      started,
      { kind: "StepScheduled", name: "s" } as Body,
      { kind: "StepAttemptFailed", scheduled: 2, attempt: 1 } as Body,
      { kind: "StepCompleted", scheduled: 2, attempts: 1, output: "1" } as Body,
    ),
  ],
])("%s is a fault", (_name, events) => {
  expect(faults(events)).not.toEqual([]);
});

test("an abandoned child and a subscription may be open at the end", () => {
  const child = { kind: "ChildScheduled", name: "c", id: "c", onParentClose: "abandon" } as Body;
  const wait = { kind: "EventSubscribed", name: "e" } as Body;
  expect(faults(history(started, child, wait, completed))).toEqual([]);
});
