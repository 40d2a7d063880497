// The audit of a history: could one process that never died have written it (I4, P3, P5)?

import type { HistoryEvent } from "../../../../src/index.ts";
import type { Fault } from "../faults.ts";

const OUTCOMES: Readonly<Record<string, readonly string[]>> = {
  ActivityScheduled: ["ActivityCompleted", "ActivityFailed", "ActivityCancelRequested"],
  StepScheduled: ["StepCompleted", "StepFailed", "StepCancelRequested"],
  TimerCreated: ["TimerFired", "TimerCancelled"],
  EventSubscribed: ["EventSubscriptionCancelled"],
  ChildScheduled: ["ChildCompleted", "ChildFailed", "ChildCancelRequested"],
  DetachedStarted: ["SendCompleted", "SendFailed"],
  EventRaised: ["SendCompleted", "SendFailed"],
  AskSent: ["AskCompleted", "AskFailed", "AskCancelled"],
  RequestsServed: ["RequestsClosed"],
};
/** EventReceived ends a wait without naming it, so a wait needs no outcome here. */
const NEEDS_OUTCOME = ["ActivityScheduled", "StepScheduled", "TimerCreated", "ChildScheduled"];
const TERMINAL = ["OrchestrationCompleted", "OrchestrationFailed", "OrchestrationContinuedAsNew"];

/** Checks the history of one ended execution. */
export function historyFaults(events: readonly HistoryEvent[]): Fault[] {
  return [...frameFaults(events), ...outcomeFaults(events), ...timeFaults(events)];
}

function frameFaults(events: readonly HistoryEvent[]): Fault[] {
  const faults: Fault[] = [];
  events.forEach((event, index) => {
    const place = `${event.sequence} ${event.kind}`;
    if (event.sequence !== index + 1) {
      faults.push(unsound(`${place} is at position ${index + 1}`));
    }
    const starts = event.kind === "OrchestrationStarted";
    if (starts && index > 0) faults.push(duplicated(`the execution starts again at ${place}`));
    if (!starts && index === 0) faults.push(unsound(`the history begins with ${place}`));
    const ends = TERMINAL.includes(event.kind);
    const isLast = index === events.length - 1;
    if (ends && !isLast) faults.push(duplicated(`${place} is terminal, but not the last event`));
    if (!ends && isLast) faults.push(unsound(`${place} is the last event, but not terminal`));
  });
  return faults;
}

function outcomeFaults(events: readonly HistoryEvent[]): Fault[] {
  const faults: Fault[] = [];
  const outcomes = new Map<number, string>();
  const attempts = new Map<number, number>();
  for (const event of events) {
    if (!("scheduled" in event)) continue;
    const { scheduled, kind } = event;
    const scheduledEvent = events[scheduled - 1];
    const place = `${event.sequence} ${kind}`;
    if (scheduledEvent === undefined || scheduled >= event.sequence) {
      faults.push(unsound(`${place} refers to ${scheduled}, which does not precede it`));
    } else if (kind === "StepAttemptFailed") {
      const last = attempts.get(scheduled) ?? 0;
      if (event.attempt !== last + 1) {
        faults.push(
          duplicated(`${place} is attempt ${event.attempt}, but the previous attempt was ${last}`),
        );
      }
      attempts.set(scheduled, event.attempt);
    } else if (OUTCOMES[scheduledEvent.kind]?.includes(kind) !== true) {
      faults.push(unsound(`${place} refers to ${scheduled}, which is ${scheduledEvent.kind}`));
    } else if (outcomes.has(scheduled)) {
      const first = outcomes.get(scheduled);
      faults.push(duplicated(`${place} is a second outcome of ${scheduled} after ${first}`));
    } else outcomes.set(scheduled, kind);
  }
  for (const { kind, sequence } of events) {
    if (!NEEDS_OUTCOME.includes(kind) || outcomes.has(sequence)) continue;
    faults.push(unsound(`${sequence} ${kind} has no outcome`));
  }
  return faults;
}

function timeFaults(events: readonly HistoryEvent[]): Fault[] {
  const faults: Fault[] = [];
  events.forEach((event, index) => {
    const place = `${event.sequence} ${event.kind}`;
    const before = events[index - 1];
    if (before !== undefined && event.at < before.at) {
      faults.push(unsound(`${place} is earlier than the event before it`));
    }
    if (event.kind !== "TimerFired") return;
    const timer = events[event.scheduled - 1];
    if (timer?.kind !== "TimerCreated" || event.at >= timer.due) return;
    faults.push(unsound(`${place} is ${timer.due - event.at} ms early`));
  });
  return faults;
}

function unsound(what: string): Fault {
  return { kind: "unsound", what };
}

function duplicated(what: string): Fault {
  return { kind: "duplicated", what };
}
