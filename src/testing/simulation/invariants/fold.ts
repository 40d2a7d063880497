// History fold: computes the open calls, the end and the visible state from a history.
//   - The code is independent of the replay core, so that it does not share the core's bugs.

import type { StoredAttribute, StoredAttributes } from "../../../core/define/attributes.ts";
import type {
  ActivityScheduled,
  AskSent,
  ChildScheduled,
  EventKind,
  HistoryEvent,
  StepScheduled,
  TimerCreated,
} from "../../../core/history/events.ts";

type Asked = ActivityScheduled | StepScheduled | TimerCreated | ChildScheduled | AskSent;
export type OpenCall = Asked & { readonly sequence: number };

/**
 * The event kinds that each outcome may belong to. A wait is not listed: the message that ends it names no
 * wait.
 */
export const ANSWERS: Readonly<Partial<Record<EventKind, readonly EventKind[]>>> = {
  ActivityCompleted: ["ActivityScheduled"],
  ActivityFailed: ["ActivityScheduled"],
  ActivityCancelRequested: ["ActivityScheduled"],
  StepCompleted: ["StepScheduled"],
  StepFailed: ["StepScheduled"],
  StepCancelRequested: ["StepScheduled"],
  TimerFired: ["TimerCreated"],
  TimerCancelled: ["TimerCreated"],
  EventSubscriptionCancelled: ["EventSubscribed", "CallbackCreated"],
  ChildCompleted: ["ChildScheduled"],
  ChildFailed: ["ChildScheduled"],
  ChildCancelRequested: ["ChildScheduled"],
  SendCompleted: ["EventRaised", "DetachedStarted"],
  SendFailed: ["EventRaised", "DetachedStarted"],
  AskCompleted: ["AskSent"],
  AskFailed: ["AskSent"],
  AskCancelled: ["AskSent"],
  RequestsClosed: ["RequestsServed"],
};
const TERMINAL: readonly EventKind[] = [
  "OrchestrationCompleted",
  "OrchestrationFailed",
  "OrchestrationContinuedAsNew",
];

export function isTerminalKind(kind: EventKind): boolean {
  return TERMINAL.includes(kind);
}

/** Calls without an outcome, in the order of the calls. */
export function openCalls(events: readonly HistoryEvent[]): readonly OpenCall[] {
  const open = new Map<number, OpenCall>();
  for (const event of events) {
    switch (event.kind) {
      case "ActivityScheduled":
      case "StepScheduled":
      case "TimerCreated":
      case "ChildScheduled":
      case "AskSent":
        open.set(event.sequence, event);
        break;
      default:
        if ("scheduled" in event && ANSWERS[event.kind] !== undefined) open.delete(event.scheduled);
    }
  }
  return [...open.values()];
}

export interface VisibleState {
  readonly status: string | null;
  readonly keyValues: ReadonlyMap<string, string>;
  readonly attributes: StoredAttributes;
}

export function visibleState(events: readonly HistoryEvent[]): VisibleState {
  let status: string | null = null;
  const keyValues = new Map<string, string>();
  const attributes: Record<string, StoredAttribute> = {};
  for (const event of events) {
    if (event.kind === "OrchestrationStarted") {
      status = event.status ?? null;
      for (const [key, value] of event.keyValues ?? []) keyValues.set(key, value);
      Object.assign(attributes, event.attributes ?? {});
    } else if (event.kind === "StatusSet") status = event.status;
    else if (event.kind === "KeyValueSet") keyValues.set(event.key, event.value);
    else if (event.kind === "KeyValueCleared") {
      if (event.key === undefined) keyValues.clear();
      else keyValues.delete(event.key);
    } else if (event.kind === "AttributesSet") {
      for (const [name, value] of Object.entries(event.attributes)) {
        if (value === null) delete attributes[name];
        else attributes[name] = value;
      }
    }
  }
  return { status, keyValues, attributes };
}

/**
 * Whether the instance ended without running its code: by an operator, or by a cancel when it could not
 * run.
 */
export function isEndedFromOutside(events: readonly HistoryEvent[]): boolean {
  const last = events.at(-1);
  if (last?.kind !== "OrchestrationFailed") return false;
  return last.outcome === "terminated" || last.failure.category === "configuration";
}
