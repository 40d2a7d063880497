// Invariants that every history must satisfy, in every scenario (I4, I6, I7, semantics 7).

import type { EventKind, HistoryEvent } from "../../../src/index.ts";

/** Maps each answering event kind to the kind it answers. Messages are absent: they do not name their subscription. */
const ANSWERS: Readonly<Partial<Record<EventKind, EventKind>>> = {
  ActivityCompleted: "ActivityScheduled",
  ActivityFailed: "ActivityScheduled",
  ActivityCancelRequested: "ActivityScheduled",
  StepCompleted: "StepScheduled",
  StepFailed: "StepScheduled",
  StepCancelRequested: "StepScheduled",
  TimerFired: "TimerCreated",
  TimerCancelled: "TimerCreated",
  EventSubscriptionCancelled: "EventSubscribed",
  ChildCompleted: "ChildScheduled",
  ChildFailed: "ChildScheduled",
  ChildCancelRequested: "ChildScheduled",
  AskCompleted: "AskSent",
  AskFailed: "AskSent",
  AskCancelled: "AskSent",
  RequestsClosed: "RequestsServed",
};
const TERMINAL: readonly EventKind[] = [
  "OrchestrationCompleted",
  "OrchestrationFailed",
  "OrchestrationContinuedAsNew",
];

/** Lists the violated invariants of one execution's history. An empty list means that the history is sound. */
export function faults(events: readonly HistoryEvent[]): readonly string[] {
  return [
    ...shapeFaults(events),
    ...answerFaults(events),
    ...attemptFaults(events),
    ...(endedByItsCode(events) ? leftoverFaults(events) : []),
  ];
}

function shapeFaults(events: readonly HistoryEvent[]): string[] {
  const found: string[] = [];
  let at = 0;
  for (const [index, event] of events.entries()) {
    const { sequence, kind } = event;
    if (sequence !== index + 1) found.push(`event ${index + 1} has sequence ${sequence}`);
    if ((index === 0) !== (kind === "OrchestrationStarted")) found.push(`${sequence} is ${kind}`);
    if (TERMINAL.includes(kind) && index !== events.length - 1) {
      found.push(`${kind} is event ${sequence} of ${events.length}`);
    }
    if (event.at < at) found.push(`event ${sequence} is older than its predecessor`);
    at = event.at;
  }
  const cancels = events.filter((event) => event.kind === "OrchestrationCancelRequested");
  if (cancels.length > 1) found.push("the history has more than one cancel request");
  return found;
}

function answerFaults(events: readonly HistoryEvent[]): string[] {
  const found: string[] = [];
  const answered = new Set<number>();
  for (const event of events) {
    if (!("scheduled" in event)) continue;
    const asked = events[event.scheduled - 1];
    const expected = answeredBy(event.kind);
    if (event.scheduled >= event.sequence || !expected.includes(asked?.kind)) {
      found.push(`event ${event.sequence} (${event.kind}) answers ${asked?.kind ?? "nothing"}`);
    }
    if (answered.has(event.scheduled)) {
      found.push(`event ${event.scheduled} is answered again by ${event.sequence} (${event.kind})`);
    }
    if (event.kind !== "StepAttemptFailed") answered.add(event.scheduled);
  }
  return found;
}

function answeredBy(kind: EventKind): readonly (EventKind | undefined)[] {
  if (kind === "StepAttemptFailed") return ["StepScheduled"];
  if (kind === "EventSubscriptionCancelled") return ["EventSubscribed", "CallbackCreated"];
  if (kind === "SendCompleted" || kind === "SendFailed") return ["EventRaised", "DetachedStarted"];
  return [ANSWERS[kind]];
}

/** The attempts of a step must be numbered from 1 without a gap, and its outcome must state their total. */
function attemptFaults(events: readonly HistoryEvent[]): string[] {
  const found: string[] = [];
  const failed = new Map<number, number>();
  for (const event of events) {
    if (event.kind === "StepAttemptFailed") {
      const before = failed.get(event.scheduled) ?? 0;
      if (event.attempt !== before + 1)
        found.push(`event ${event.sequence}: attempt ${before + 1}`);
      failed.set(event.scheduled, event.attempt);
    }
    if (event.kind === "StepCompleted" || event.kind === "StepFailed") {
      const attempts = (failed.get(event.scheduled) ?? 0) + 1;
      if (event.attempts !== attempts) found.push(`event ${event.sequence}: ${attempts} attempts`);
    }
  }
  return found;
}

function endedByItsCode(events: readonly HistoryEvent[]): boolean {
  const last = events.at(-1);
  if (last === undefined || !TERMINAL.includes(last.kind)) return false;
  return !isEndedFromOutside(events);
}

/** True if the store wrote the end: the instance was terminated, or cancelled while its code could not run. */
export function isEndedFromOutside(events: readonly HistoryEvent[]): boolean {
  const last = events.at(-1);
  if (last?.kind !== "OrchestrationFailed") return false;
  return last.outcome === "terminated" || last.failure.category === "configuration";
}

/** Every task open at the end of the code must be cancelled, except abandoned children (semantics 7). */
function leftoverFaults(events: readonly HistoryEvent[]): string[] {
  const answered = new Set(
    events.flatMap((event) => ("scheduled" in event ? event.scheduled : [])),
  );
  const open = events.filter((event) => {
    const asks = Object.values(ANSWERS).includes(event.kind) && event.kind !== "EventSubscribed";
    if (!asks || answered.has(event.sequence)) return false;
    return event.kind !== "ChildScheduled" || event.onParentClose !== "abandon";
  });
  return open.map((event) => `event ${event.sequence} (${event.kind}) was left open`);
}
