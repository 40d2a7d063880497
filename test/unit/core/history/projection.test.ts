// The projection folds a history into calls, unread events and state (projection.1, projection.2).

import { expect, test } from "vitest";
import type {
  EventBody,
  HistoryEvent,
  OrchestrationStarted,
} from "../../../../src/core/history/events.ts";
import { openCalls, projectHistory } from "../../../../src/core/history/projection.ts";

/** Events with sequence numbers from 1 and times that follow them. */
function history(...bodies: readonly EventBody[]): readonly HistoryEvent[] {
  return bodies.map((body, index) => ({
    ...body,
    sequence: index + 1,
    at: (index + 1) * 10,
    version: 1,
  }));
}

const STARTED: OrchestrationStarted = {
  kind: "OrchestrationStarted",
  name: "order",
  orchestrationVersion: "1.0.0",
  input: "null",
  runId: "run",
  seed: "seed",
};
const failure = {
  category: "application",
  name: "Error",
  message: "no",
  retryable: true,
} as const;
const activity = (name: string): EventBody => ({ kind: "ActivityScheduled", name, input: "1" });
const step = (name: string): EventBody => ({ kind: "StepScheduled", name });
const subscribe = (name: string): EventBody => ({ kind: "EventSubscribed", name });
const received = (name: string, data: string): EventBody => ({ kind: "EventReceived", name, data });

/** The status of each call, by the sequence number of the event that scheduled it. */
function statuses(events: readonly HistoryEvent[]): Readonly<Record<number, string>> {
  const calls = [...projectHistory(events).calls];
  return Object.fromEntries(
    calls.map(([sequence, { outcome }]) => [sequence, outcome?.status ?? "open"]),
  );
}

test("every kind of call is completed, failed, cancelled or open", () => {
  const events = history(
    STARTED,
    activity("a"),
    step("b"),
    { kind: "TimerCreated", due: 99 },
    { kind: "ChildScheduled", name: "c", id: "child", input: "1" },
    activity("d"),
    { kind: "ActivityCompleted", scheduled: 2, output: "7", attempts: 2 },
    { kind: "StepFailed", scheduled: 3, failure, attempts: 1 },
    { kind: "TimerCancelled", scheduled: 4 },
  );
  expect(statuses(events)).toEqual({
    2: "completed",
    3: "failed",
    4: "cancelled",
    5: "open",
    6: "open",
  });
  const { calls } = projectHistory(events);
  expect(calls.get(2)?.outcome).toMatchObject({ output: "7", event: { sequence: 7, at: 70 } });
  expect(openCalls(projectHistory(events)).map(({ kind }) => kind)).toEqual(["child", "activity"]);
});

test("the first outcome of a call counts (projection.2)", () => {
  const events = history(
    STARTED,
    activity("a"),
    { kind: "ActivityCancelRequested", scheduled: 2, reason: "enough" },
    { kind: "ActivityCompleted", scheduled: 2, output: "7", attempts: 1 },
  );
  expect(statuses(events)).toEqual({ 2: "cancelled" });
});

test("an outcome of an unknown call is ignored", () => {
  expect(statuses(history(STARTED, { kind: "TimerFired", scheduled: 9 }))).toEqual({});
});

test("failed attempts of a step leave it open", () => {
  const events = history(
    STARTED,
    step("b"),
    { kind: "StepAttemptFailed", scheduled: 2, attempt: 1, failure, due: 50 },
    { kind: "StepAttemptFailed", scheduled: 2, attempt: 2, failure, due: 90 },
  );
  const [call] = openCalls(projectHistory(events));
  expect(call?.failedAttempts.map(({ attempt }) => attempt)).toEqual([1, 2]);
});

test("a wait receives the oldest unread event of its name, and ends at its own event", () => {
  const events = history(STARTED, received("go", "1"), received("go", "2"), subscribe("go"));
  const { calls, unread } = projectHistory(events);
  expect(calls.get(4)?.outcome).toMatchObject({ output: "1", event: { sequence: 4 } });
  expect(unread.map(({ sequence }) => sequence)).toEqual([3]);
});

test("an event goes to the oldest open wait for its name; a cancelled wait receives no event", () => {
  const events = history(
    STARTED,
    subscribe("go"),
    subscribe("go"),
    subscribe("go"),
    { kind: "EventSubscriptionCancelled", scheduled: 2 },
    received("go", "1"),
    received("stop", "2"),
  );
  expect(statuses(events)).toEqual({ 2: "cancelled", 3: "completed", 4: "open" });
  const { calls, unread } = projectHistory(events);
  expect(calls.get(3)?.outcome).toMatchObject({ output: "1", event: { sequence: 6 } });
  expect(unread.map(({ name }) => name)).toEqual(["stop"]);
});

test("a wait since now leaves earlier events unread", () => {
  const wait: EventBody = { kind: "EventSubscribed", name: "go", since: "now" };
  const events = history(STARTED, received("go", "1"), wait, received("go", "2"));
  const { calls, unread } = projectHistory(events);
  expect(calls.get(3)?.outcome).toMatchObject({ output: "2" });
  expect(unread.map(({ data }) => data)).toEqual(["1"]);
});

test("unread events of several names keep their order of arrival", () => {
  const events = history(STARTED, received("b", "1"), received("a", "2"), received("b", "3"));
  expect(projectHistory(events).unread.map(({ sequence }) => sequence)).toEqual([2, 3, 4]);
});

test("the state has status, key-values and attributes after the last event", () => {
  const { state } = projectHistory(
    history(
      { ...STARTED, attributes: { tenant: "a", region: "eu" }, keyValues: [["k0", "0", 5]] },
      { kind: "StatusSet", status: '"half"' },
      { kind: "KeyValueSet", key: "k1", value: "1" },
      { kind: "KeyValueCleared", key: "k0" },
      { kind: "KeyValueSet", key: "k2", value: "2" },
      { kind: "AttributesSet", attributes: { tenant: "b", region: null } },
    ),
  );
  expect(state.status).toBe('"half"');
  expect(state.entries()).toEqual([
    ["k1", "1", 30],
    ["k2", "2", 50],
  ]);
  expect(state.attributes).toEqual({ tenant: "b" });
});

test("clearing without a key removes all key-values", () => {
  const { state } = projectHistory(
    history(STARTED, { kind: "KeyValueSet", key: "k", value: "1" }, { kind: "KeyValueCleared" }),
  );
  expect(state.entries()).toEqual([]);
});
