// Inbox: what waits to be told to an instance.
//   B1. A message is deleted in the transaction that records its effect, and in no other (I6), except that
//       the end of an execution deletes what was addressed to that execution alone.
//   B2. Order within an inbox: the start, a pending cancel, then (visibleAt, id); within one event name it is the id
//       alone (semantics 4b, P7). However many messages wait, the start and the cancel are handed over first.
//   B3. `key` de-duplicates: a second message with the same key for the same instance is not stored.
//   B4. Messages of kind "event" outlive the execution they met; all others name the execution they are for.

import type { MaybeDamaged } from "../checksum.ts";

/** Why an instance is woken. `data` is the JSON text of the event it becomes, or an event's payload. */
export type MessageKind =
  | "start" // OrchestrationStarted
  | "activity" // ActivityCompleted | ActivityFailed
  | "step" // StepCompleted | StepFailed | StepAttemptFailed, when its turn could not be committed
  | "child" // ChildCompleted | ChildFailed
  | "cancel" // OrchestrationCancelRequested
  | "event" // a payload; `name` says which
  | "timer" // TimerFired of `sequence`
  | "deadline" // scheduleToClose of activity `sequence` is over
  | "stepRetry" // the next attempt of step `sequence` is due
  | "cancelTimeout" // the clean-up after a cancel has lasted too long
  | "wake"; // nothing new: look at the instance, its owner died with steps open

/** An item of an inbox. */
export interface Message extends MaybeDamaged {
  readonly id: number;
  readonly kind: MessageKind;
  readonly execution: number | null;
  readonly sequence: number | null;
  readonly name: string | null;
  readonly data: string;
  readonly key: string | null;
  readonly visibleAt: number;
}

/** Which events of an inbox to read. */
export interface EventsRequest {
  readonly key: number;
  /** The id of the last message already seen; null: none. Ids can be negative. */
  readonly after: number | null;
  readonly limit: number;
  /** Bounds the data of one answer; the first message is always included. */
  readonly bytesMax: number;
}
/** Messages of kind "event", in the order in which they were sent. */
export interface EventsPage {
  readonly messages: readonly Message[];
  readonly more: boolean;
}

/** A message an instance writes to itself for later; deleted by (kind, sequence) when it is not needed. */
export interface NewTimer {
  readonly kind: "timer" | "deadline" | "stepRetry" | "cancelTimeout";
  readonly sequence: number;
  /** Added to the store's clock in the statement (I3). Exactly one of the two is set. */
  readonly delayMs?: number;
  readonly dueAt?: number;
  readonly data?: string;
}
/** Which timer is meant. */
export interface TimerReference {
  readonly kind: NewTimer["kind"];
  readonly sequence: number;
}

/** A message to another instance, found by id; `runId` keeps it from a namesake started later. */
export interface OutgoingMessage {
  readonly to: { readonly id: string; readonly runId?: string };
  readonly kind: "activity" | "child" | "cancel" | "event";
  readonly execution: number | null;
  readonly sequence: number | null;
  readonly name?: string;
  readonly data: string;
  readonly key: string | null;
}

/** An unread event that a new execution inherits. */
export interface KeptMessage {
  readonly name: string;
  readonly data: string;
  readonly key: string | null;
}
