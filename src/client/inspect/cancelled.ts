// What a cancel request did to an instance: when the instance took it, what it interrupted, and whether the cleanup is
// complete. All of it follows from the history.

import type { HistoryEvent } from "../../core/history/events.ts";
import type { Call } from "../../core/history/projection.ts";
import { defined } from "../../core/values/defined.ts";
import type { OpenHistory } from "./open-history.ts";

/** A call that was open when its instance took a cancel request. */
export interface InterruptedCall {
  readonly kind: Call["kind"];
  /** The name of the activity, step, child, event, callback or request; "timer" for a timer. */
  readonly name: string;
  /** The event that scheduled the call. */
  readonly sequence: number;
}

/** The cancel request of an instance, and what it did. */
export interface CancelInfo {
  readonly reason: string;
  readonly by?: string;
  /** When the instance took the request. Absent until then, and in lists. */
  readonly at?: Date;
  /**
   * The calls that were open when the instance took the request, in the order of their calls. Calls behind a shield and
   * children that are abandoned are listed too; they go on. Absent until then, and in lists.
   */
  readonly interrupted?: readonly InterruptedCall[];
  /**
   * Set when the instance has ended. True: its code ran to its end after the request, and every compensation succeeded.
   * False: a compensation failed, the cleanup was terminated, or a blocked instance was ended without its code.
   */
  readonly cleanedUp?: boolean;
}

/** Adds what the history says. */
export function withHistory(info: CancelInfo, { cancel, last }: OpenHistory): CancelInfo {
  if (cancel === undefined) return info;
  const { request, interrupted } = cancel;
  const at = new Date(request.at);
  const end = last?.kind === "OrchestrationFailed" ? last : undefined;
  const cleanedUp = end === undefined ? undefined : isCleanedUp(cancel, end);
  return { ...info, at, interrupted: interrupted.map(interruptedCall), ...defined({ cleanedUp }) };
}

function isCleanedUp(
  { request, interrupted }: NonNullable<OpenHistory["cancel"]>,
  end: HistoryEvent & { readonly kind: "OrchestrationFailed" },
): boolean {
  if (end.outcome !== "cancelled" || end.compensationFailures !== undefined) return false;
  // Code that ends with open calls closes them with events. The store ends a blocked instance without any.
  const isEndedByStore = end.sequence === request.sequence + 1;
  return !isEndedByStore || interrupted.every(isAbandoned);
}

function isAbandoned({ scheduled }: Call): boolean {
  return scheduled.kind === "ChildScheduled" && scheduled.onParentClose === "abandon";
}

function interruptedCall({ kind, scheduled }: Call): InterruptedCall {
  return { kind, name: nameOf(scheduled), sequence: scheduled.sequence };
}

function nameOf(scheduled: Call["scheduled"]): string {
  if (scheduled.kind === "TimerCreated") return "timer";
  return scheduled.kind === "RequestsServed" ? scheduled.names.join(", ") : scheduled.name;
}
