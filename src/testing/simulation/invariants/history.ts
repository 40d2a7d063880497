// Invariants of one history: 1, 2, 3, 4, 12 and 15 (violation.ts).

import { bodyOf, checkpointOf, encodeRow } from "../../../core/history/rows.ts";
import { ANSWERS, isTerminalKind } from "./fold.ts";
import type { InstanceSnapshot } from "./snapshot.ts";

/** 1. Event numbers are 1 to n without gaps or repetitions. The first event, and no other, is the start. */
export function denseNumbers({ events, record }: InstanceSnapshot): string[] {
  const found: string[] = [];
  for (const [index, { sequence, kind }] of events.entries()) {
    if (sequence !== index + 1) found.push(`event ${index + 1} has the number ${sequence}`);
    const isStart = kind === "OrchestrationStarted";
    if (isStart !== (index === 0)) found.push(`event ${sequence} must not be ${kind}`);
  }
  if (record.lastEvent !== events.length) {
    found.push(`its row counts ${record.lastEvent} events, but its history has ${events.length}`);
  }
  return found;
}

/** 2. Every completion belongs to exactly one open call, and no call has two completions. */
export function matchedCompletions({ events }: InstanceSnapshot): string[] {
  const found: string[] = [];
  const answered = new Map<number, string>();
  for (const event of events) {
    if (!("scheduled" in event)) continue;
    const { scheduled, sequence, kind } = event;
    const asked = events[scheduled - 1]?.kind;
    const expected = kind === "StepAttemptFailed" ? ["StepScheduled"] : (ANSWERS[kind] ?? []);
    if (scheduled >= sequence || asked === undefined || !expected.includes(asked)) {
      found.push(
        `event ${sequence} (${kind}) completes call ${scheduled}, which is ${asked ?? "missing"}`,
      );
    }
    const earlier = answered.get(scheduled);
    if (earlier !== undefined)
      found.push(`call ${scheduled} has two outcomes: ${earlier} and ${sequence} ${kind}`);
    if (kind !== "StepAttemptFailed") answered.set(scheduled, `${sequence} ${kind}`);
  }
  return found;
}

/** 3. At most one event ends an execution, and it is the last event. An execution has at most one cancel. */
export function oneEnd({ events }: InstanceSnapshot): string[] {
  const ends = events.filter(({ kind }) => isTerminalKind(kind));
  const found = ends
    .filter(({ sequence }) => sequence !== events.length)
    .map(({ sequence, kind }) => `${kind} is event ${sequence} of ${events.length}`);
  const cancels = events.filter(({ kind }) => kind === "OrchestrationCancelRequested");
  if (cancels.length > 1) found.push(`it was cancelled ${cancels.length} times`);
  return found;
}

/** 4. A history only grows: earlier rows stay the same, byte for byte. */
export function appendOnly(now: InstanceSnapshot, before: InstanceSnapshot | null): string[] {
  if (before === null || before.record.key !== now.record.key) return [];
  if (now.record.execution < before.record.execution) {
    return [`execution ${before.record.execution} was followed by ${now.record.execution}`];
  }
  if (now.record.execution > before.record.execution) return [];
  return before.rows.flatMap((row, index) => {
    const kept = now.rows[index];
    if (kept?.first === row.first && kept.last === row.last && kept.data === row.data) return [];
    return [`the row of events ${row.first}–${row.last} has changed`];
  });
}

/** 12. Decoding and encoding a row gives the same text. */
export function stableText(now: InstanceSnapshot, before: InstanceSnapshot | null): string[] {
  const isSame = before?.record.execution === now.record.execution;
  const fresh = now.rows.slice(isSame ? before.rows.length : 0);
  return fresh.flatMap((row) => {
    const events = now.events.slice(row.first - 1, row.last);
    const { at = 0, release = null } = events[0] ?? {};
    const again = encodeRow(at, events.map(bodyOf), checkpointOf(row), release);
    return again === row.data
      ? []
      : [`events ${row.first}–${row.last} change when decoded and encoded again`];
  });
}

/** 15. A cancelled call has no other outcome: a late result is dropped without an event. */
export function noLateResult({ events }: InstanceSnapshot): string[] {
  const cancelled = new Set<number>();
  const found: string[] = [];
  for (const event of events) {
    if (!("scheduled" in event)) continue;
    if (cancelled.has(event.scheduled)) {
      found.push(
        `call ${event.scheduled} was cancelled, but has the outcome ${event.kind} (${event.sequence})`,
      );
    }
    if (CANCELS.includes(event.kind)) cancelled.add(event.scheduled);
  }
  return found;
}

const CANCELS: readonly string[] = [
  "ActivityCancelRequested",
  "StepCancelRequested",
  "ChildCancelRequested",
  "TimerCancelled",
  "AskCancelled",
  "RequestsClosed",
];
