// The states and timeouts of one attempt, on virtual time.

import { expect, test } from "vitest";
import { DescribedAttempt } from "../../../../src/core/attempts/attempt-context.ts";
import type { FailedResult } from "../../../../src/core/attempts/run-attempt.ts";
import {
  RunningAttempt,
  type AttemptTimeouts,
} from "../../../../src/core/attempts/running-attempt.ts";
import type { WorkFrame } from "../../../../src/core/context/async-context.ts";
import { TimerWheel } from "../../../../src/core/time/timer-wheel.ts";
import { VirtualEnvironment } from "../../../../src/testing/virtual-environment.ts";

const call = {
  instanceId: "order-7",
  runId: "r1",
  execution: 1,
  orchestration: "order",
  orchestrationVersion: "1.0.0",
  name: "charge",
  sequence: 2,
  priority: 3,
};

function setup(kind: WorkFrame["kind"] = "activity") {
  const environment = new VirtualEnvironment();
  const monotonic = (): number => environment.monotonic();
  const wheel = new TimerWheel({
    now: monotonic,
    setTimer: (delayMs, fn) => environment.setTimer(delayMs, fn),
  });
  const description = new DescribedAttempt(kind, call, { attempt: 1, worker: "w" });
  const attempt = new RunningAttempt(description, { wheel, monotonic });
  const aborts: unknown[] = [];
  attempt.handle = { abort: (reason) => void aborts.push(reason) };
  const outcomes: string[] = [];
  attempt.watch = { enter: (fn) => fn(), over: (outcome) => void outcomes.push(outcome) };
  const timeouts: FailedResult[] = [];
  const begin = (limits: AttemptTimeouts | null): void =>
    attempt.begin(limits, (result) => void timeouts.push(result));
  return { environment, wheel, attempt, aborts, outcomes, timeouts, begin };
}

test("an attempt waits, runs and ends", () => {
  const { attempt, begin, outcomes } = setup();
  expect([attempt.state, attempt.isOver]).toEqual(["waiting", false]);
  begin(null);
  expect([attempt.state, attempt.isOver]).toEqual(["running", false]);
  expect(attempt.end("completed")).toBe(true);
  expect([attempt.state, attempt.isOver]).toEqual(["completed", true]);
  expect(outcomes).toEqual(["completed"]);
});

test("a timeout aborts the code and gives a failure, to the millisecond", async () => {
  const { environment, attempt, begin, aborts, outcomes, timeouts } = setup();
  begin({ timeoutMs: 5_000 });
  await environment.advance(4_999);
  expect(attempt.state).toBe("running");
  await environment.advance(1);
  expect(attempt.state).toBe("timedOut");
  const message = "timeout: activity timed out";
  expect(aborts).toMatchObject([{ code: "TIMEOUT", message }]);
  expect(timeouts).toMatchObject([
    { kind: "failed", retryAfterMs: null, failure: { kind: "timeout", message, retryable: true } },
  ]);
  expect(outcomes).toEqual(["timedOut"]);
});

test("a timeout names a step as a step", async () => {
  const { environment, begin, timeouts } = setup("step");
  begin({ timeoutMs: 1 });
  await environment.advance(1);
  expect(timeouts).toMatchObject([{ failure: { message: "timeout: step timed out" } }]);
});

test("timeouts do not run while the attempt waits", async () => {
  const { environment, attempt, begin, timeouts } = setup();
  await environment.advance(60_000);
  expect(attempt.state).toBe("waiting");
  begin({ timeoutMs: 1_000, heartbeatTimeoutMs: 1_000 });
  await environment.advance(999);
  expect(timeouts).toEqual([]);
  await environment.advance(1);
  expect(timeouts).toHaveLength(1);
});

test("a heartbeat moves the heartbeat timeout, and leaves the timeout alone", async () => {
  const { environment, attempt, begin, timeouts } = setup();
  begin({ timeoutMs: 10_000, heartbeatTimeoutMs: 1_000 });
  for (let i = 0; i < 5; i++) {
    await environment.advance(900);
    expect(attempt.beat()).toBe(true);
  }
  await environment.advance(999);
  expect(attempt.state).toBe("running");
  await environment.advance(1);
  expect(attempt.state).toBe("timedOut");
  const message = "timeout: activity heartbeat timed out";
  expect(timeouts).toMatchObject([{ failure: { message } }]);
});

test("a heartbeat costs no timer: there is one per timeout", async () => {
  const { environment, wheel, attempt, begin } = setup();
  begin({ timeoutMs: 10_000, heartbeatTimeoutMs: 1_000 });
  for (let i = 0; i < 1_000; i++) attempt.beat();
  expect(wheel.held).toBe(2);
  await environment.advance(1_500);
  attempt.beat();
  expect(wheel.size).toBe(0); // the heartbeat timeout passed at 1,000 ms and ended both
});

test.each([
  ["a result", (attempt: RunningAttempt) => attempt.end("completed"), "completed"],
  ["an abort", (attempt: RunningAttempt) => attempt.abort(new Error("gone")), "cancelled"],
] as const)("%s that comes first wins over everything later", async (_, first, state) => {
  const { environment, wheel, attempt, begin, aborts, outcomes, timeouts } = setup();
  begin({ timeoutMs: 1_000, heartbeatTimeoutMs: 500 });
  expect(first(attempt)).toBe(true);
  const abortedBefore = aborts.length;
  expect(wheel.size).toBe(0);
  expect(attempt.end("failed")).toBe(false);
  expect(attempt.abort(new Error("late"))).toBe(false);
  await environment.advance(10_000);
  expect(attempt.state).toBe(state);
  expect(aborts).toHaveLength(abortedBefore);
  expect([outcomes, timeouts]).toEqual([[state], []]);
});

test("a timeout that comes first wins over the result, and over the other timeout", async () => {
  const { environment, attempt, begin, aborts, outcomes, timeouts } = setup();
  begin({ timeoutMs: 1_000, heartbeatTimeoutMs: 1_000 });
  await environment.advance(1_000);
  expect(attempt.end("completed")).toBe(false);
  expect(attempt.abort(new Error("late"))).toBe(false);
  expect(attempt.state).toBe("timedOut");
  expect([aborts.length, outcomes, timeouts.length]).toEqual([1, ["timedOut"], 1]);
});

test("heartbeats after the end are ignored", async () => {
  const { environment, attempt, begin, timeouts } = setup();
  begin({ heartbeatTimeoutMs: 1_000 });
  attempt.end("failed");
  expect(attempt.beat()).toBe(false);
  await environment.advance(5_000);
  expect([attempt.state, timeouts]).toEqual(["failed", []]);
});

test("an attempt that was aborted while it waited does not begin", async () => {
  const { environment, attempt, begin, timeouts } = setup();
  attempt.abort(new Error("cancelled"));
  begin({ timeoutMs: 1_000 });
  await environment.advance(5_000);
  expect([attempt.state, timeouts]).toEqual(["cancelled", []]);
});

test("stopped timeouts do not end the attempt", async () => {
  const { environment, attempt, begin } = setup();
  begin({ timeoutMs: 1_000, heartbeatTimeoutMs: 500 });
  attempt.stopTimeouts();
  await environment.advance(5_000);
  expect(attempt.state).toBe("running");
});
