// The past at a cut: what the next execution begins with.
//   - repair.past.1: Events before the cut are copied. Commands after it are dropped: the code issues them again.
//   - repair.past.2: A successful outcome after the cut of a call before the cut is kept, in order: the next execution
//       receives it through its inbox. So completed parallel work is not repeated. A failed outcome is dropped, and the
//       call is done again. The same holds for outcomes that wait in the inbox of a blocked instance.
//   - repair.past.3: An event that was received after the cut goes back to the mailbox, in order. The value of a callback
//       goes back if its callback is before the cut.
//   - repair.past.4: Requests that were received after the cut do not come back: each asker has an answer, or the error
//       that the execution ended.
//   - repair.past.5: A message to another instance was written together with its event, so it is not sent again. If its
//       outcome is unknown, because the execution ended in the same turn, it counts as delivered. A message that was
//       refused is sent again.

import { invalidArgument } from "../checks.ts";
import {
  isTerminal,
  type CallbackCreated,
  type ChildScheduled,
  type HistoryEvent,
  type OrchestrationStarted,
  type SendCompleted,
} from "../history/events.ts";
import { bodyOf } from "../history/rows.ts";
import { openCalls, projectHistory, type Call, type Projection } from "../history/projection.ts";
import { callbackSequence, isCallbackMessage } from "../ids/callback-messages.ts";
import type { KeptOutcome } from "../provider/control.ts";
import type { KeptMessage, Message, MessageKind } from "../provider/messages.ts";

export interface Past {
  /** The first event of the execution. */
  readonly started: OrchestrationStarted;
  readonly before: number;
  /** The events before the cut (repair.past.1). */
  readonly copied: readonly HistoryEvent[];
  /** The events from the cut on. */
  readonly dropped: readonly HistoryEvent[];
  /** repair.past.2, in order. */
  readonly outcomes: readonly KeptOutcome[];
  /** repair.past.3, in order. */
  readonly events: readonly KeptMessage[];
  /** The calls before the cut that have no outcome before the cut, in the order of their calls. */
  readonly open: readonly Call[];
  readonly state: Projection["state"];
}

/** Whether the code of the execution ran. */
export function hasPast([started]: readonly HistoryEvent[]): boolean {
  if (started?.kind !== "OrchestrationStarted") return false;
  return started.unchecked !== true && started.refused === undefined;
}

/** Throws INVALID_ARGUMENT if the execution has no past that can be continued from there. */
export function pastBefore(events: readonly HistoryEvent[], before: number): Past {
  const copied = events.filter(({ sequence }) => sequence < before);
  const dropped = events.filter(({ sequence }) => sequence >= before);
  const [started] = copied;
  if (started?.kind !== "OrchestrationStarted") {
    throw invalidArgument("The execution has no history yet.");
  }
  if (!hasPast(events)) {
    const message =
      "The execution ended before its code ran, so there is no past to continue; restart the instance.";
    throw invalidArgument(message);
  }
  const end = copied.at(-1);
  if (end !== undefined && isTerminal(end)) {
    throw invalidArgument("before must not be after the event that ended the execution.");
  }
  const projection = projectHistory(copied);
  const outcomes = [
    ...dropped.flatMap((event) => keptOutcome(event, before) ?? []),
    ...sentMessages(events, before),
  ];
  const putBack = dropped.flatMap((event) => putBackEvent(event, before) ?? []);
  const open = openCalls(projection);
  return {
    started,
    before,
    copied,
    dropped,
    outcomes,
    events: putBack,
    open,
    state: projection.state,
  };
}

/** The open calls of children, with the event that scheduled each. */
export function openChildren(
  past: Past,
): readonly (ChildScheduled & { readonly sequence: number })[] {
  const kept = new Set(past.outcomes.map(({ sequence }) => sequence));
  return past.open.flatMap(({ scheduled }) =>
    scheduled.kind === "ChildScheduled" && !kept.has(scheduled.sequence) ? [scheduled] : [],
  );
}

/** The call of an open callback without a value. Its address was closed for good when the execution ended. */
export function closedCallback({
  open,
  events,
}: Pick<Past, "open" | "events">): (CallbackCreated & { readonly sequence: number }) | null {
  for (const { kind, scheduled } of open) {
    if (kind !== "callback" || scheduled.kind !== "CallbackCreated") continue;
    if (!events.some(({ name }) => name.endsWith(`:${scheduled.sequence}`))) return scheduled;
  }
  return null;
}

const MESSAGE_OF = {
  ActivityCompleted: "activity",
  StepCompleted: "step",
  ChildCompleted: "child",
  AskCompleted: "answer",
  SendCompleted: "sent",
} as const;

function keptOutcome(event: HistoryEvent, before: number): KeptOutcome | null {
  if (event.kind === "TimerFired") {
    const { scheduled: sequence } = event;
    return sequence < before ? { kind: "timer", sequence, data: "" } : null;
  }
  switch (event.kind) {
    case "ActivityCompleted":
    case "StepCompleted":
    case "ChildCompleted":
    case "AskCompleted":
    case "SendCompleted": {
      const { scheduled: sequence } = event;
      if (sequence >= before) return null;
      return { kind: MESSAGE_OF[event.kind], sequence, data: JSON.stringify(bodyOf(event)) };
    }
    default:
      return null;
  }
}

/** repair.past.5 */
function sentMessages(events: readonly HistoryEvent[], before: number): readonly KeptOutcome[] {
  const settled = new Set(
    events.flatMap((event) =>
      event.kind === "SendCompleted" || event.kind === "SendFailed" ? event.scheduled : [],
    ),
  );
  const copied = events.filter(({ sequence }) => sequence < before);
  const observed = new Set(
    copied.flatMap((event) => (event.kind === "SendObserved" ? event.observed : [])),
  );
  return copied.flatMap((event) => {
    const { sequence } = event;
    if (event.kind !== "EventRaised" || settled.has(sequence)) return [];
    if (event.quiet === true && !observed.has(sequence)) return []; // the code does not wait for it
    const body: SendCompleted = { kind: "SendCompleted", scheduled: sequence };
    return [{ kind: "sent", sequence, data: JSON.stringify(body) }];
  });
}

/** Whether a message of this kind carries the outcome of a call. */
export function isOutcome(kind: MessageKind): boolean {
  return (Object.values(MESSAGE_OF) as readonly string[]).includes(kind);
}

/** Whether the message says that a message of the instance was refused. */
export function isRefusedSend({ kind, data }: Message): boolean {
  return kind === "sent" && kindOf(data) === "SendFailed";
}

/** The outcome that a message of the inbox becomes; null: it is not a success of a call before the cut. */
export function pendingOutcome(message: Message, before: number): KeptOutcome | null {
  const { sequence, data } = message;
  if (sequence === null || sequence >= before) return null;
  const kind = kindOf(data);
  const found = Object.entries(MESSAGE_OF).find(([event]) => event === kind);
  return found === undefined ? null : { kind: found[1], sequence, data };
}

function kindOf(data: string): unknown {
  try {
    return (JSON.parse(data) as { readonly kind?: unknown } | null)?.kind;
  } catch {
    return undefined; // the call is done again
  }
}

/** Null: it does not come back, as requests do not (repair.past.4). */
function putBackEvent(event: HistoryEvent, before: number): KeptMessage | null {
  if (event.kind !== "EventReceived") return null;
  const { name, data, key = null, headers } = event;
  if (!isCallbackMessage(name)) return { name, data, key };
  if (callbackSequence(name) >= before) return null;
  const value = { value: data, ...(headers === undefined ? {} : { headers }) };
  return { name, data: JSON.stringify(value), key };
}
