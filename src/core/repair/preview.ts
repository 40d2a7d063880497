// The preview of a rewind: what is kept, what is done again, and what already happened and is not undone.

import { isTerminal, type HistoryEvent } from "../history/events.ts";
import { projectHistory, type Call } from "../history/projection.ts";
import type { Past } from "./past.ts";

/** A call, or a message to another instance. */
export interface PastWork {
  readonly kind: "activity" | "step" | "child" | "ask" | "timer" | "event" | "start";
  readonly name: string;
  /** The event in the history of the earlier execution. */
  readonly sequence: number;
}

/** What a rewind does with one execution. */
export interface PastPreview {
  /** The events before this one are copied. */
  readonly before: number;
  /** Calls whose outcome is kept: they are not repeated. */
  readonly kept: readonly PastWork[];
  /** Calls before the cut that are done again, with the same idempotency keys. */
  readonly redone: readonly PastWork[];
  /** Work after the cut that has happened and is not undone. The code may do it again. */
  readonly happened: readonly PastWork[];
  /** Compensations, and cleanup after a cancel, that have run and are not undone. */
  readonly compensated: readonly PastWork[];
  /** The names of the events that go back to the mailbox, in order. */
  readonly returned: readonly string[];
}

/** `kept`: the open calls that are not done again, such as children that still run. */
export function previewOf(past: Past, kept: readonly number[]): PastPreview {
  const { before, copied, dropped, open, events } = past;
  const isKept = new Set(kept);
  const { calls } = projectHistory([...copied, ...dropped]);
  const isOpen = new Set(open.map(({ scheduled }) => scheduled.sequence));
  const inPast = [...calls.values()].filter(({ scheduled }) => scheduled.sequence < before);
  const happened = dropped.flatMap((event) => sideEffect(event, calls) ?? []);
  const compensationsFrom = codeEnd(dropped);
  return {
    before,
    kept: inPast
      .filter((call) => isSettled(call, isOpen, isKept))
      .flatMap((call) => workOf(call) ?? []),
    redone: open
      .filter(({ scheduled }) => !isKept.has(scheduled.sequence))
      .flatMap((call) => workOf(call) ?? []),
    happened: happened.filter(({ sequence }) => sequence <= compensationsFrom),
    compensated: happened.filter(({ sequence }) => sequence > compensationsFrom),
    returned: events.map(({ name }) => name),
  };
}

function isSettled(
  { scheduled, outcome }: Call,
  isOpen: ReadonlySet<number>,
  isKept: ReadonlySet<number>,
): boolean {
  const { sequence } = scheduled;
  return isOpen.has(sequence) ? isKept.has(sequence) : outcome?.status === "completed";
}

/** Null: a wait, which does nothing. */
function workOf({ kind, scheduled }: Call): PastWork | null {
  const { sequence } = scheduled;
  if (kind === "timer") return { kind, name: "timer", sequence };
  if (kind !== "activity" && kind !== "step" && kind !== "child" && kind !== "ask") return null;
  return "name" in scheduled ? { kind, name: scheduled.name, sequence } : null;
}

/** A call after the cut that may have had an effect. A call that never ran is not listed. */
function sideEffect(event: HistoryEvent, calls: ReadonlyMap<number, Call>): PastWork | null {
  const { sequence } = event;
  if (event.kind === "EventRaised") return { kind: "event", name: event.name, sequence };
  if (event.kind === "DetachedStarted") return { kind: "start", name: event.name, sequence };
  const call = calls.get(sequence);
  if (call === undefined || call.kind === "timer") return null;
  const { outcome } = call;
  return outcome === undefined || outcome.status === "cancelled" ? null : workOf(call);
}

/**
 * The last event before compensations or the cleanup after a cancel. If the code failed, it is known only at the end of the
 * execution. `events`: the last events of an execution.
 */
export function codeEnd(events: readonly HistoryEvent[]): number {
  const end = events.at(-1);
  if (end !== undefined && isTerminal(end) && end.kind !== "OrchestrationFailed") return Infinity;
  if (end?.kind === "OrchestrationFailed" && end.outcome === "failed") {
    return end.thrownAfter ?? Infinity;
  }
  const cancel = events.find(({ kind }) => kind === "OrchestrationCancelRequested");
  return cancel?.sequence ?? Infinity;
}
