// History events: the facts from which replay rebuilds an execution, as a discriminated union.
//   - An event is a *delivery* (the engine delivered something to the code) or a *command* (the code
//       requested something). Events are in the order in which they happened (semantics 3).
//   - Sequence numbers start at 1 and have no gaps. The first event is OrchestrationStarted (I4).
//   - A command contains everything that is needed to execute it, so that the effects of a turn depend on its
//       events only (I5, I15).
//   - Within one replay version fields are only added. They are never renamed and never change their meaning.

import type { StoredAttribute, StoredAttributes } from "../define/attributes.ts";
import type { Failure } from "../errors/failure.ts";
import type {
  ChildCancelRequested,
  ChildCompleted,
  ChildFailed,
  ChildScheduled,
  DetachedStarted,
} from "./child-events.ts";
import type {
  AskCancelled,
  AskCompleted,
  AskFailed,
  AskSent,
  CallbackCreated,
  EventRaised,
  RequestAnswered,
  RequestReceived,
  RequestRefused,
  RequestsChanged,
  RequestsClosed,
  RequestsServed,
  SendCompleted,
  SendFailed,
  SendObserved,
} from "./message-events.ts";
import type { Repair, Rewound } from "./repair-records.ts";
import type {
  ActivityCancelRequested,
  ActivityCompleted,
  ActivityFailed,
  ActivityScheduled,
  StepAttemptFailed,
  StepCancelRequested,
  StepCompleted,
  StepFailed,
  StepScheduled,
} from "./work-events.ts";

export type * from "./child-events.ts";
export type * from "./message-events.ts";
export type * from "./repair-records.ts";
export type * from "./work-events.ts";

/** A call of another instance's execution: a child that was called, or a request. */
export interface ParentLink {
  readonly id: string;
  readonly runId: string;
  readonly execution: number;
  readonly sequence: number;
}

export interface OrchestrationStarted {
  readonly kind: "OrchestrationStarted";
  readonly name: string;
  readonly orchestrationVersion: string;
  readonly input: string;
  readonly runId: string;
  readonly seed: string;
  readonly parent?: ParentLink;
  /** The trace context of the start, as a W3C traceparent. Only observers use it. */
  readonly traceParent?: string;
  /** Codec text of the context (start-context.1). Absent: none. */
  readonly context?: string;
  readonly attributes?: StoredAttributes;
  /** The custom status and the key-values at the start of this execution (I15). */
  readonly status?: string;
  readonly keyValues?: readonly StoredKeyValue[];
  /** The streams that earlier executions closed (stream-calls.2). */
  readonly closedStreams?: readonly string[];
  /**
   * The state that an interpreter of flows carries from one execution to the next. `input` stays the user's
   * input.
   */
  readonly state?: string;
  /**
   * Set in a message: the receiver must check `input` against the schema of its definition. The turn that
   * receives the start records the schema's output, without this member (received.1).
   */
  readonly unchecked?: true;
  readonly queueKey?: string; // of the call of a job
  /** Set if the schema refused `input`: why. The execution then ends without running its code. */
  readonly refused?: Failure;
  /** Set if the events after this one were copied from an earlier execution of the instance (semantics 21b). */
  readonly rewound?: Rewound;
  /** The repairs that led to this execution, oldest first. */
  readonly repairs?: readonly Repair[];
}
/** A key, its value as codec text, and the time when it was set. */
export type StoredKeyValue = readonly [key: string, value: string, at: number];
export interface OrchestrationCompleted {
  readonly kind: "OrchestrationCompleted";
  readonly output: string;
}
export interface OrchestrationFailed {
  readonly kind: "OrchestrationFailed";
  readonly outcome: "failed" | "cancelled" | "terminated";
  readonly failure: Failure;
  /** The failures of compensations, in the order in which they ran. */
  readonly compensationFailures?: readonly Failure[];
  /** The last event that was delivered before the code threw, if compensations received events after it. */
  readonly thrownAfter?: number;
}
export interface OrchestrationCancelRequested {
  readonly kind: "OrchestrationCancelRequested";
  readonly reason: string;
  readonly by?: string;
}
export interface OrchestrationContinuedAsNew {
  readonly kind: "OrchestrationContinuedAsNew";
  readonly input: string;
  readonly orchestrationVersion?: string;
  readonly state?: string;
}

/** Set on commands of a flow: the path of the node that issued the command, such as `fork.mail/send`. */
export interface OfNode {
  readonly node?: string;
}

export interface TimerCreated extends OfNode {
  readonly kind: "TimerCreated";
  readonly due: number;
  /** Set if the code gave a duration. The store adds it to its own clock (I3). */
  readonly delayMs?: number;
}
export interface TimerFired {
  readonly kind: "TimerFired";
  readonly scheduled: number;
}
export interface TimerCancelled {
  readonly kind: "TimerCancelled";
  readonly scheduled: number;
}

export interface EventSubscribed extends OfNode {
  readonly kind: "EventSubscribed";
  readonly name: string;
  readonly since?: "now";
  readonly details?: string;
  /** Only code raises this event, so a dashboard does not offer to. Replay ignores it. */
  readonly internal?: true;
  /**
   * The unread event that the wait takes, if it is not the oldest one; 0: the wait takes none of the unread
   * events, because its schema refuses them.
   */
  readonly taken?: number;
  /** The schema's output for the unread event that the wait takes, if it differs from the event's data. */
  readonly output?: string;
  /** The unread events that the schema refuses for the first time, and why. */
  readonly refused?: readonly RefusedEvent[];
}
/** `event`: the sequence number of the EventReceived. */
export interface RefusedEvent {
  readonly event: number;
  readonly failure: Failure;
}
export interface EventReceived {
  readonly kind: "EventReceived";
  readonly name: string;
  readonly data: string;
  /** The sender's key. `continueAsNew` puts an unread message back with its key. */
  readonly key?: string;
  /** The wait that receives the event, if the schemas of older open waits refuse it. */
  readonly wait?: number;
  /** The schema's output for the data, if it differs from `data`. The code receives it. */
  readonly output?: string;
  /** Set if waits are open and the schema of each refuses the event: why. The event stays unread. */
  readonly refused?: Failure;
  /** Codec text of the headers with which the value of a callback arrived. */
  readonly headers?: string;
}
export interface EventSubscriptionCancelled {
  readonly kind: "EventSubscriptionCancelled";
  readonly scheduled: number;
}

export interface StatusSet {
  readonly kind: "StatusSet";
  /** Null removes the status. */
  readonly status: string | null;
}
export interface KeyValueSet {
  readonly kind: "KeyValueSet";
  readonly key: string;
  readonly value: string;
}
export interface KeyValueCleared {
  readonly kind: "KeyValueCleared";
  /** Absent: all keys. */
  readonly key?: string;
}
export interface AttributesSet {
  readonly kind: "AttributesSet";
  /** Merged into the existing attributes. Null removes an attribute. */
  readonly attributes: Readonly<Record<string, StoredAttribute | null>>;
}

/**
 * Records that the code took the new path of a change. It is not a command: replay does not compare its
 * position.
 */
export interface PatchMarked {
  readonly kind: "PatchMarked";
  readonly change: string;
}

/** What the code requests, in call order. */
export type CommandBody =
  | ActivityScheduled
  | ActivityCancelRequested
  | StepScheduled
  | StepCancelRequested
  | TimerCreated
  | TimerCancelled
  | EventSubscribed
  | EventSubscriptionCancelled
  | CallbackCreated
  | ChildScheduled
  | ChildCancelRequested
  | DetachedStarted
  | EventRaised
  | SendObserved
  | AskSent
  | AskCancelled
  | RequestsServed
  | RequestsClosed
  | RequestAnswered
  | RequestRefused
  | StatusSet
  | KeyValueSet
  | KeyValueCleared
  | AttributesSet;

/** The end of an execution; always its last event. */
export type TerminalBody =
  OrchestrationCompleted | OrchestrationFailed | OrchestrationContinuedAsNew;

/** What the engine delivers to the code, one event at a time. */
export type DeliveryBody =
  | OrchestrationStarted
  | OrchestrationCancelRequested
  | ActivityCompleted
  | ActivityFailed
  | StepAttemptFailed
  | StepCompleted
  | StepFailed
  | TimerFired
  | EventReceived
  | ChildCompleted
  | ChildFailed
  | SendCompleted
  | SendFailed
  | AskCompleted
  | AskFailed
  | RequestReceived;

/** What the engine notes for replays. It is skipped when commands are compared. */
export type MarkBody = PatchMarked | RequestsChanged;

export type EventBody = CommandBody | DeliveryBody | TerminalBody | MarkBody;
/** The kinds of history events. */
export type EventKind = EventBody["kind"];

/** An event read from the store: its body, sequence number, time and replay version. */
export type HistoryEvent = EventBody & {
  readonly sequence: number;
  readonly at: number;
  readonly version: number;
  /** The release of Perdure that wrote the event. Absent: one from before 0.1.0 recorded releases. */
  readonly release?: string;
};

/** What an event of each kind is. The compiler compares the table with the unions above. */
const KINDS: Readonly<
  Record<CommandBody["kind"], "command"> &
    Record<DeliveryBody["kind"], "delivery"> &
    Record<TerminalBody["kind"], "terminal"> &
    Record<MarkBody["kind"], "mark">
> = {
  ActivityScheduled: "command",
  ActivityCancelRequested: "command",
  StepScheduled: "command",
  StepCancelRequested: "command",
  TimerCreated: "command",
  TimerCancelled: "command",
  EventSubscribed: "command",
  EventSubscriptionCancelled: "command",
  CallbackCreated: "command",
  ChildScheduled: "command",
  ChildCancelRequested: "command",
  DetachedStarted: "command",
  EventRaised: "command",
  SendObserved: "command",
  AskSent: "command",
  AskCancelled: "command",
  RequestsServed: "command",
  RequestsClosed: "command",
  RequestAnswered: "command",
  RequestRefused: "command",
  StatusSet: "command",
  KeyValueSet: "command",
  KeyValueCleared: "command",
  AttributesSet: "command",
  OrchestrationStarted: "delivery",
  OrchestrationCancelRequested: "delivery",
  ActivityCompleted: "delivery",
  ActivityFailed: "delivery",
  StepAttemptFailed: "delivery",
  StepCompleted: "delivery",
  StepFailed: "delivery",
  TimerFired: "delivery",
  EventReceived: "delivery",
  ChildCompleted: "delivery",
  ChildFailed: "delivery",
  SendCompleted: "delivery",
  SendFailed: "delivery",
  AskCompleted: "delivery",
  AskFailed: "delivery",
  RequestReceived: "delivery",
  OrchestrationCompleted: "terminal",
  OrchestrationFailed: "terminal",
  OrchestrationContinuedAsNew: "terminal",
  PatchMarked: "mark",
  RequestsChanged: "mark",
};

/** All kinds of events. */
export const EVENT_KINDS = Object.keys(KINDS) as readonly EventKind[];

export function isCommand(body: EventBody): body is CommandBody {
  return KINDS[body.kind] === "command";
}
export function isMark(body: EventBody): body is MarkBody {
  return KINDS[body.kind] === "mark";
}
export function isTerminal(body: EventBody): body is TerminalBody {
  return KINDS[body.kind] === "terminal";
}
/** Whether this code knows the kind. An event of an unknown kind blocks the instance (semantics 6). */
export function isKnownKind(kind: string): kind is EventKind {
  return Object.hasOwn(KINDS, kind);
}
