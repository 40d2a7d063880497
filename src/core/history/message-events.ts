// History events of messages between instances, and of requests with their answers (events.ts).

import type { Failure } from "../errors/failure.ts";
import type { ParentLink } from "./events.ts";
import type { MayBeReplaced } from "./repair-records.ts";

/** An event to another instance. */
export interface EventRaised {
  readonly kind: "EventRaised";
  readonly id: string;
  readonly name: string;
  readonly data: string;
  /** Absent: the call fails if the instance does not exist. */
  readonly ifMissing?: "keep";
  readonly keepForMs?: number;
  /** The code had not used the task when the turn ended, so only a failure is reported (outgoing-calls.2). */
  readonly quiet?: true;
}
/** The code uses the task of a quiet message or start after the turn that sent it. */
export interface SendObserved {
  readonly kind: "SendObserved";
  /** The sequence number of EventRaised or DetachedStarted. */
  readonly observed: number;
}
/** The event was delivered or kept, or the detached instance was started. */
export interface SendCompleted {
  readonly kind: "SendCompleted";
  readonly scheduled: number;
  /** Set if `onConflict` used an instance that existed. */
  readonly existing?: true;
}
/** The event or the detached start was refused. */
export interface SendFailed {
  readonly kind: "SendFailed";
  readonly scheduled: number;
  readonly failure: Failure;
}

/** The code waits for a call from outside (core/replay/callback-calls.ts). */
export interface CallbackCreated {
  readonly kind: "CallbackCreated";
  readonly name: string;
  /** Codec text of CallbackAddress. */
  readonly address: string;
  /** When the wait times out. Absent: never. */
  readonly expiresAt?: number;
  /** A schema checks the value. */
  readonly checked?: true;
}

/** A request to another instance. */
export interface AskSent {
  readonly kind: "AskSent";
  readonly id: string;
  readonly name: string;
  readonly input: string;
  /** Starts the instance if it does not exist. */
  readonly start?: AskStarted;
  /** The instances whose handlers wait for this answer, for entities: a call must not come back to one of them. */
  readonly chain?: readonly string[];
}
/** How an ask starts its receiver. */
export interface AskStarted {
  readonly name: string;
  readonly orchestrationVersion?: string;
  readonly input: string;
  /** Restart an instance that has ended. Absent: the ask fails. */
  readonly ifEnded?: "restart";
  /** As for `ChildScheduled`. */
  readonly context?: string;
}
export interface AskCompleted extends MayBeReplaced {
  readonly kind: "AskCompleted";
  readonly scheduled: number;
  readonly output: string;
}
export interface AskFailed {
  readonly kind: "AskFailed";
  readonly scheduled: number;
  readonly failure: Failure;
  /** Set if the receiver's code refused the request or failed. Absent: the request did not reach its code. */
  readonly outcome?: "refused" | "failed";
}
/** The answer is no longer needed. A request that has not been received is withdrawn. */
export interface AskCancelled {
  readonly kind: "AskCancelled";
  readonly scheduled: number;
}

/** The code accepts requests of these names from now on. */
export interface RequestsServed {
  readonly kind: "RequestsServed";
  readonly names: readonly string[];
  /** The JSON Schemas of the inputs by name, as far as they are known, for forms (json-schemas.1). */
  readonly schemas?: string;
}
/**
 * Records that a deploy changed the names that an open loop or handler accepts. It is not a command: replay does not
 * compare its position.
 */
export interface RequestsChanged {
  readonly kind: "RequestsChanged";
  /** The sequence number of RequestsServed. */
  readonly served: number;
  readonly names: readonly string[];
}
export interface RequestsClosed {
  readonly kind: "RequestsClosed";
  readonly scheduled: number;
}
export interface RequestReceived {
  readonly kind: "RequestReceived";
  readonly name: string;
  /** The request id. */
  readonly id: string;
  /** The input that the code receives: the output of the schema, if the request has one. */
  readonly input: string;
  /** The input as it was sent, if the schema changed it. */
  readonly sent?: string;
  /** Absent: a client asks. */
  readonly from?: ParentLink;
  readonly chain?: readonly string[];
}
export interface RequestAnswered {
  readonly kind: "RequestAnswered";
  /** The sequence number of RequestReceived. */
  readonly received: number;
  readonly output: string;
  /** The state of an entity after this answer, where a replay needs it (published-state.ts). */
  readonly state?: string;
}
export interface RequestRefused {
  readonly kind: "RequestRefused";
  readonly received: number;
  /** "refused": the code refused the request. "failed": its handler threw. */
  readonly outcome: "refused" | "failed";
  readonly failure: Failure;
}
