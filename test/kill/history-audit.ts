// The audit of a history: whether it could have been written by one process that never died (I4, P3, P5).
// Faults are sentences; a sound history has none.

import type { HistoryEvent } from "../../src/index.ts";

const OUTCOMES: Readonly<Record<string, readonly string[]>> = {
  ActivityScheduled: ["ActivityCompleted", "ActivityFailed", "ActivityCancelRequested"],
  StepScheduled: ["StepCompleted", "StepFailed", "StepCancelRequested"],
  TimerCreated: ["TimerFired", "TimerCancelled"],
  EventSubscribed: ["EventSubscriptionCancelled"],
  ChildScheduled: ["ChildCompleted", "ChildFailed", "ChildCancelRequested"],
};
/** Waits are ended by EventReceived, which names none of them. */
const NEEDS_OUTCOME = ["ActivityScheduled", "StepScheduled", "TimerCreated", "ChildScheduled"];
const TERMINAL = ["OrchestrationCompleted", "OrchestrationFailed", "OrchestrationContinuedAsNew"];

/** Of one ended execution. */
export function historyFaults(events: readonly HistoryEvent[]): string[] {
  return [...frameFaults(events), ...outcomeFaults(events), ...timeFaults(events)];
}

function frameFaults(events: readonly HistoryEvent[]): string[] {
  const faults: string[] = [];
  events.forEach((event, index) => {
    const place = `${event.sequence} ${event.kind}`;
    if (event.sequence !== index + 1) faults.push(`${place} stands at place ${index + 1}`);
    if ((event.kind === "OrchestrationStarted") !== (index === 0)) {
      faults.push(index === 0 ? `it begins with ${place}` : `it starts again at ${place}`);
    }
    if (TERMINAL.includes(event.kind) !== (index === events.length - 1)) {
      faults.push(
        TERMINAL.includes(event.kind) ? `${place} is not the end` : `${place} is the end`,
      );
    }
  });
  return faults;
}

function outcomeFaults(events: readonly HistoryEvent[]): string[] {
  const faults: string[] = [];
  const outcomes = new Map<number, string>();
  const attempts = new Map<number, number>();
  for (const event of events) {
    if (!("scheduled" in event)) continue;
    const { scheduled, kind } = event;
    const asked = events[scheduled - 1];
    const place = `${event.sequence} ${kind}`;
    if (asked === undefined || scheduled >= event.sequence) {
      faults.push(`${place} is about ${scheduled}, which does not come before it`);
    } else if (kind === "StepAttemptFailed") {
      const last = attempts.get(scheduled) ?? 0;
      if (event.attempt !== last + 1)
        faults.push(`${place} is attempt ${event.attempt} after ${last}`);
      attempts.set(scheduled, event.attempt);
    } else if (OUTCOMES[asked.kind]?.includes(kind) !== true) {
      faults.push(`${place} is about ${scheduled}, which is ${asked.kind}`);
    } else if (outcomes.has(scheduled)) {
      faults.push(`${place} is a second outcome of ${scheduled} after ${outcomes.get(scheduled)}`);
    } else outcomes.set(scheduled, kind);
  }
  for (const { kind, sequence } of events) {
    if (!NEEDS_OUTCOME.includes(kind) || outcomes.has(sequence)) continue;
    faults.push(`${sequence} ${kind} has no outcome`);
  }
  return faults;
}

function timeFaults(events: readonly HistoryEvent[]): string[] {
  const faults: string[] = [];
  events.forEach((event, index) => {
    const place = `${event.sequence} ${event.kind}`;
    const before = events[index - 1];
    if (before !== undefined && event.at < before.at) faults.push(`${place} goes back in time`);
    if (event.kind !== "TimerFired") return;
    const timer = events[event.scheduled - 1];
    if (timer?.kind !== "TimerCreated" || event.at >= timer.due) return;
    faults.push(`${place} is ${timer.due - event.at} ms early`);
  });
  return faults;
}
