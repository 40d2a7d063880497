// History: the facts an execution is rebuilt from, as a discriminated union.
//   H1. An event is either a *delivery* (something happened to the code) or a *command* (the code asked
//       for something); the order of both is the order in which they happened (semantics 3).
//   H2. Sequence numbers are dense from 1; the first event is OrchestrationStarted (I4).
//   H3. A command's event holds everything needed to carry it out, so that what a turn does is a function
//       of its events alone (I5, I15).
//   H4. Stored shapes only grow: a field is never renamed or given another meaning under one version.

import type { Failure } from "./failure.ts";
import type { RetryPolicy } from "./retry-policy.ts";

/** The version of the replay rules that wrote an event; a runtime states which ones it understands. */
export const REPLAY_VERSION = 1;

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
  /** The trace in which it was started, as W3C's traceparent; for observers alone. */
  readonly traceParent?: string;
  readonly attributes?: Readonly<Record<string, string>>;
  /** Custom status and key-values as they stood when this execution began (I15). */
  readonly status?: string;
  readonly keyValues?: readonly StoredKeyValue[];
  /** Payload of what an interpreter carries from one execution to the next; `input` stays the user's own. */
  readonly state?: string;
}
/** A key, its payload and when it was set. */
export type StoredKeyValue = readonly [key: string, value: string, at: number];
export interface OrchestrationCompleted {
  readonly kind: "OrchestrationCompleted";
  readonly output: string;
}
export interface OrchestrationFailed {
  readonly kind: "OrchestrationFailed";
  readonly outcome: "failed" | "cancelled" | "terminated";
  readonly failure: Failure;
  /** What went wrong in deferred compensations, in the order they ran. */
  readonly compensationFailures?: readonly Failure[];
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

/** The part of a flow that asks for something: its node, as a path such as `fork.mail/send`. */
export interface OfNode {
  readonly node?: string;
}

/** What `ctx.run` may ask for beyond name and input; defaults of the activity are already applied. */
export interface ActivityOptions {
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
  readonly scheduleToCloseMs?: number;
  readonly heartbeatTimeoutMs?: number;
  readonly session?: string;
  readonly tags?: readonly string[];
  readonly priority?: number;
}
export interface ActivityScheduled extends ActivityOptions, OfNode {
  readonly kind: "ActivityScheduled";
  readonly name: string;
  readonly input: string;
  /** What the flow's author noted on the node and on the flow; shown to the activity. */
  readonly metadata?: NodeMetadata;
}
export interface NodeMetadata {
  readonly node?: unknown;
  readonly flow?: unknown;
}
export interface ActivityCompleted {
  readonly kind: "ActivityCompleted";
  readonly scheduled: number;
  readonly output: string;
  readonly attempts: number;
}
export interface ActivityFailed {
  readonly kind: "ActivityFailed";
  readonly scheduled: number;
  readonly failure: Failure;
  readonly attempts: number;
}
export interface ActivityCancelRequested {
  readonly kind: "ActivityCancelRequested";
  readonly scheduled: number;
  readonly reason: string;
}

export interface StepScheduled {
  readonly kind: "StepScheduled";
  readonly name: string;
  /** It runs in a transaction of the store's (`ctx.tx`). */
  readonly transaction?: true;
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
}
export interface StepAttemptFailed {
  readonly kind: "StepAttemptFailed";
  readonly scheduled: number;
  readonly attempt: number;
  readonly failure: Failure;
  readonly due: number;
}
export interface StepCompleted {
  readonly kind: "StepCompleted";
  readonly scheduled: number;
  readonly output: string;
  readonly attempts: number;
}
export interface StepFailed {
  readonly kind: "StepFailed";
  readonly scheduled: number;
  readonly failure: Failure;
  readonly attempts: number;
}
export interface StepCancelRequested {
  readonly kind: "StepCancelRequested";
  readonly scheduled: number;
  readonly reason: string;
}

export interface TimerCreated extends OfNode {
  readonly kind: "TimerCreated";
  readonly due: number;
  /** Set when the code gave a duration: the store adds it to its own clock (I3). */
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
  /** Only code sends it; for people who look, not for replay. */
  readonly internal?: true;
}
export interface EventReceived {
  readonly kind: "EventReceived";
  readonly name: string;
  readonly data: string;
  /** The sender's own key, kept so that `continueAsNew` can put the message back with it. */
  readonly key?: string;
}
export interface EventSubscriptionCancelled {
  readonly kind: "EventSubscriptionCancelled";
  readonly scheduled: number;
}

export interface ChildScheduled extends OfNode {
  readonly kind: "ChildScheduled";
  readonly name: string;
  readonly orchestrationVersion?: string;
  readonly id: string;
  /** Whether the caller chose the id; an id of ours is never compared in replay. */
  readonly explicitId?: true;
  readonly input: string;
  readonly onParentClose?: "abandon";
  /** Absent: the parent's. */
  readonly priority?: number;
}
export interface ChildCompleted {
  readonly kind: "ChildCompleted";
  readonly scheduled: number;
  readonly output: string;
}
export interface ChildFailed {
  readonly kind: "ChildFailed";
  readonly scheduled: number;
  readonly outcome: "failed" | "cancelled" | "terminated";
  readonly failure: Failure;
}
export interface ChildCancelRequested {
  readonly kind: "ChildCancelRequested";
  readonly scheduled: number;
  readonly reason: string;
}
export interface DetachedStarted {
  readonly kind: "DetachedStarted";
  readonly name: string;
  readonly orchestrationVersion?: string;
  readonly id: string;
  readonly input: string;
  /** Absent: the priority of the instance that starts it. */
  readonly priority?: number;
}

export interface StatusSet {
  readonly kind: "StatusSet";
  /** Null takes the status away. */
  readonly status: string | null;
}
export interface KeyValueSet {
  readonly kind: "KeyValueSet";
  readonly key: string;
  readonly value: string;
}
export interface KeyValueCleared {
  readonly kind: "KeyValueCleared";
  /** Absent: all of them. */
  readonly key?: string;
}
export interface AttributesSet {
  readonly kind: "AttributesSet";
  /** Merged into what is there; null takes one away. */
  readonly attributes: Readonly<Record<string, string | null>>;
}

/** Notes that the code took the new path of a change; no command: its place is not compared. */
export interface PatchMarked {
  readonly kind: "PatchMarked";
  readonly change: string;
}

/** What the code asks for, in call order. */
export type CommandBody =
  | ActivityScheduled
  | ActivityCancelRequested
  | StepScheduled
  | StepCancelRequested
  | TimerCreated
  | TimerCancelled
  | EventSubscribed
  | EventSubscriptionCancelled
  | ChildScheduled
  | ChildCancelRequested
  | DetachedStarted
  | StatusSet
  | KeyValueSet
  | KeyValueCleared
  | AttributesSet;

/** What ends an execution; always its last event. */
export type TerminalBody =
  OrchestrationCompleted | OrchestrationFailed | OrchestrationContinuedAsNew;

/** What happens to the code, delivered one at a time. */
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
  | ChildFailed;

export type EventBody = CommandBody | DeliveryBody | TerminalBody | PatchMarked;
/** The kinds of history events. */
export type EventKind = EventBody["kind"];

/** An event as read back: its body, its place, its time and the version that wrote it. */
export type HistoryEvent = EventBody & {
  readonly sequence: number;
  readonly at: number;
  readonly version: number;
};

const COMMAND_KINDS: Readonly<Record<CommandBody["kind"], true>> = {
  ActivityScheduled: true,
  ActivityCancelRequested: true,
  StepScheduled: true,
  StepCancelRequested: true,
  TimerCreated: true,
  TimerCancelled: true,
  EventSubscribed: true,
  EventSubscriptionCancelled: true,
  ChildScheduled: true,
  ChildCancelRequested: true,
  DetachedStarted: true,
  StatusSet: true,
  KeyValueSet: true,
  KeyValueCleared: true,
  AttributesSet: true,
};
const TERMINAL_KINDS: Readonly<Record<TerminalBody["kind"], true>> = {
  OrchestrationCompleted: true,
  OrchestrationFailed: true,
  OrchestrationContinuedAsNew: true,
};
const DELIVERY_KINDS: Readonly<Record<DeliveryBody["kind"], true>> = {
  OrchestrationStarted: true,
  OrchestrationCancelRequested: true,
  ActivityCompleted: true,
  ActivityFailed: true,
  StepAttemptFailed: true,
  StepCompleted: true,
  StepFailed: true,
  TimerFired: true,
  EventReceived: true,
  ChildCompleted: true,
  ChildFailed: true,
};

/** Every kind of event there is. */
export const EVENT_KINDS: readonly EventKind[] = [
  ...(Object.keys(COMMAND_KINDS) as CommandBody["kind"][]),
  ...(Object.keys(DELIVERY_KINDS) as DeliveryBody["kind"][]),
  ...(Object.keys(TERMINAL_KINDS) as TerminalBody["kind"][]),
  "PatchMarked",
];

export function isCommand(body: EventBody): body is CommandBody {
  return Object.hasOwn(COMMAND_KINDS, body.kind);
}
export function isTerminal(body: EventBody): body is TerminalBody {
  return Object.hasOwn(TERMINAL_KINDS, body.kind);
}
/** Whether this code knows the kind at all: what it does not know blocks the instance (semantics 6). */
export function isKnownKind(kind: string): kind is EventKind {
  return (
    kind === "PatchMarked" ||
    Object.hasOwn(COMMAND_KINDS, kind) ||
    Object.hasOwn(DELIVERY_KINDS, kind) ||
    Object.hasOwn(TERMINAL_KINDS, kind)
  );
}
