// The inbox: messages that wait to be delivered to an instance.
//   - messages.1: A message is deleted only in the transaction that records its effect (I6). Exception:
//     the end of an execution deletes the messages for that execution.
//   - messages.2: The order within an inbox: the start, a pending cancel, then (visibleAt, id). Within
//     one event name the order is the id alone (semantics 4b, P7). The start and the cancel are always
//     delivered first, even if many messages wait.
//   - messages.3: `key` deduplicates: a second message with the same key for the same instance is not
//     stored.
//   - messages.4: Messages of kind "event" survive the execution in which they arrived. All others name
//     the execution they are for.

import type { MaybeDamaged } from "../values/checksum.ts";

/**
 * The kinds of messages. `data` is the JSON text of the event that the message becomes, or the payload of
 * an event.
 */
export type MessageKind =
  | "start" // OrchestrationStarted
  | "activity" // ActivityCompleted | ActivityFailed
  | "step" // StepCompleted | StepFailed | StepAttemptFailed, when its turn could not be committed
  | "child" // ChildCompleted | ChildFailed
  | "cancel" // OrchestrationCancelRequested
  | "answer" // AskCompleted | AskFailed
  | "sent" // SendCompleted | SendFailed: the result of a dispatched item
  | "event" // a payload; `name` says which
  | "timer" // TimerFired of `sequence`
  | "deadline" // scheduleToClose of an activity may be over (core/replay/deadline-alarm.ts)
  | "stepRetry" // the next attempt of step `sequence` is due
  | "cancelTimeout" // the cleanup after a cancellation took too long
  | "wake"; // nothing new: the previous owner died with open steps, so the instance must be leased

/** A message in an inbox. */
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
  /** The maximum size of the data in one page. The first message is always included. */
  readonly bytesMax: number;
}
/** Messages of kind "event", in the order in which they were sent. */
export interface EventsPage {
  readonly messages: readonly Message[];
  readonly more: boolean;
}

/**
 * A message that an instance sends to itself for later. If it is not needed anymore, it is deleted by
 * (kind, sequence).
 */
export interface NewTimer {
  readonly kind: "timer" | "deadline" | "stepRetry" | "cancelTimeout";
  readonly sequence: number;
  /** Added to the store's clock in the statement (I3). Exactly one of `delayMs` and `dueAt` is set. */
  readonly delayMs?: number;
  readonly dueAt?: number;
  readonly data?: string;
}
/** Identifies a timer. */
export interface TimerReference {
  readonly kind: NewTimer["kind"];
  readonly sequence: number;
}

/**
 * A message to another instance, found by id. `runId` prevents delivery to a later instance with the same
 * id.
 */
export interface OutgoingMessage {
  readonly to: { readonly id: string; readonly runId?: string };
  readonly kind: "activity" | "child" | "cancel" | "event" | "answer" | "sent";
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
