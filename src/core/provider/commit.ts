// Commit items: everything that is written, one shape a kind. A group of them is one transaction.
//   C1. Each item succeeds whole or is refused whole, whatever happens to its neighbours (I1).
//   C2. A refusal is an answer, not an error: the store's state says no. An error means that nothing of the
//       group is known to be written; `settle` tells what was (I14).
//   C3. An item that needs a lease names its token, a turn also the last event it was computed from; zero rows
//       changed is a refusal (I2).
//   C4. Tasks are inserted before cancelled ones are deleted: one that is scheduled and cancelled in the same
//       turn ends up deleted.

import type { PerdureError } from "../errors.ts";
import type { ParentLink, StoredKeyValue } from "../history-events.ts";
import type { HistoryRow } from "../history-row.ts";
import type { TerminalStatus } from "./instances.ts";
import type {
  KeptMessage,
  Message,
  NewTimer,
  OutgoingMessage,
  TimerReference,
} from "./messages.ts";
import type { StateChange } from "./state.ts";
import type { NewTask, TaskClaim } from "./tasks.ts";

/** What a start does when its id is taken. */
export type ConflictPolicy = "fail" | "useExisting" | "restart" | "terminateExisting";

/** A new instance and its start message. */
export interface NewInstance {
  readonly id: string;
  readonly runId: string;
  readonly name: string;
  readonly version: string | null;
  /** JSON text of OrchestrationStarted. */
  readonly started: string;
  readonly parent: ParentLink | null;
  readonly onParentClose: "cancel" | "abandon";
  readonly priority: number;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Creates an instance and queues its start. */
export interface StartItem extends NewInstance {
  readonly kind: "start";
  readonly onConflict: ConflictPolicy;
  /** The caller's own id for this call: a repetition returns the first one's outcome. */
  readonly requestId: string | null;
  /** What the request asks for; a repetition with another digest is refused (`isOtherRequest`). */
  readonly requestDigest?: string;
  readonly delayMs?: number;
  readonly dueAt?: number;
  /** JSON text of OrchestrationFailed for `terminateExisting`. */
  readonly terminated: string;
  /** Events that are in its mailbox from the first moment, in order; written with the start. */
  readonly events: readonly KeptMessage[];
  /** Born leased to a runtime in this process that can run it at once. */
  readonly lease: {
    readonly owner: string;
    readonly token: number;
    readonly leaseMs?: number;
  } | null;
}
/** What became of a start. */
export type StartResult =
  | {
      readonly kind: "started";
      readonly key: number;
      readonly execution: number;
      /** The start message, when the item asked for a lease and got it. */
      readonly leased: Message | null;
    }
  | { readonly kind: "existing"; readonly key: number; readonly execution: number }
  | {
      readonly kind: "refused";
      readonly code: "INSTANCE_EXISTS" | "INSTANCE_RUNNING" | "KEY_REUSED";
    };

/** What a turn makes of its instance. */
export type InstanceChange =
  | { readonly kind: "none" }
  | {
      readonly kind: "ended";
      readonly status: TerminalStatus;
      readonly output: string | null;
      readonly error: string | null;
    }
  | {
      readonly kind: "continued";
      /** JSON text of the next execution's OrchestrationStarted. */
      readonly started: string;
      readonly version: string | null;
      readonly unread: readonly KeptMessage[];
    };

/** One advance of one instance, all of it: what was delivered, what its code asked for, what came of it. */
export interface TurnItem {
  readonly kind: "turn";
  readonly commitId: number;
  readonly key: number;
  readonly execution: number;
  readonly token: number;
  /** The last event the turn was computed from. */
  readonly lastEvent: number;
  /** Set by the first turn of an execution. */
  readonly version: string | null;
  /** Which rules of replay wrote this history; kept with the version (semantics 22). */
  readonly replayVersion: number;
  readonly row: HistoryRow | null;
  readonly consumed: readonly number[];
  /**
   * `"park"`: the code takes no event now, so no event of the inbox makes the instance due. `"ready"`: the oldest one
   * does again. Absent: `"ready"` if the turn consumed a message. Without meaning in a turn that ends an execution.
   */
  readonly waitingEvents?: "park" | "ready";
  /** Tasks whose outcome this turn carries: their rows go with it, or the turn is refused. */
  readonly finished: readonly TaskClaim[];
  readonly tasks: readonly NewTask[];
  readonly cancelledTasks: readonly number[];
  readonly timers: readonly NewTimer[];
  readonly cancelledTimers: readonly TimerReference[];
  readonly starts: readonly NewInstance[];
  readonly sends: readonly OutgoingMessage[];
  readonly change: InstanceChange;
  /** Custom status, key-values, attributes; null: unchanged. */
  readonly state: StateChange | null;
  /** JSON text of OrchestrationCancelRequested when this turn took one. */
  readonly cancelRequested: string | null;
  /**
   * Set: this commit adds events, and still clears no suspicion, because a step that was open when the instance was
   * leased is still open (N4).
   */
  readonly keepsSuspicion?: true;
  /** Inline steps are open: whoever takes over has something to do although no message says so. */
  readonly stepsOpen: boolean;
  readonly release: boolean;
  /** Bounds the answer's `due`. */
  readonly messagesMax: number;
}
/** What became of a turn. */
export type TurnResult =
  | {
      readonly kind: "committed";
      /** What is due for the instance now; empty when the lease was released or the instance ended. */
      readonly due: readonly Message[];
    }
  | {
      readonly kind: "refused";
      /** PAUSED: the lease still holds; outcomes go to the inbox, then the lease is given back (19a). */
      readonly code: "LEASE_LOST" | "PAUSED";
    };

/** An activity's outcome that goes through the inbox, because the instance is not held here. */
export interface CompletionItem {
  readonly kind: "completion";
  readonly task: TaskClaim;
  /** JSON text of ActivityCompleted or ActivityFailed. */
  readonly outcome: string;
}
/** A failed attempt: the task waits for its next one. */
export interface RetryItem {
  readonly kind: "retry";
  readonly task: TaskClaim;
  readonly delayMs: number;
  readonly failure: string;
  /** Details of the attempt's last heartbeat; absent: what is stored stays. */
  readonly heartbeat?: string;
  /** What ran it died with it: a death as well, of this task alone (K4). */
  readonly died?: true;
}
/** A task handed back without an attempt counted. */
export interface ReleaseTaskItem {
  readonly kind: "releaseTask";
  readonly task: TaskClaim;
}
/** An inline step's outcome that could not be committed with a turn: it waits in the inbox as kind "step". */
export interface StepOutcomeItem {
  readonly kind: "stepOutcome";
  readonly key: number;
  readonly token: number;
  readonly execution: number;
  readonly sequence: number;
  /** JSON text of StepCompleted, StepFailed or StepAttemptFailed. */
  readonly outcome: string;
}
/** An event for an instance. */
export interface SendItem {
  readonly kind: "send";
  readonly id: string;
  readonly name: string;
  readonly data: string;
  /** Remembered as long as the instance; if a client made it up, until a turn continues as new after six hours (18a). */
  readonly requestId: string;
  /** As in a start. */
  readonly requestDigest?: string;
  /** "keep": a message for an id that does not exist waits for its start (18a); at most 1,000 an id and 7 days. */
  readonly ifMissing: "fail" | "keep";
}
/** No further turn is committed until resume (semantics 20). Pausing twice keeps the first reason. */
export interface PauseItem {
  readonly kind: "pause";
  readonly id: string;
  /** JSON text { reason, by?, at }. */
  readonly info: string;
}
/** Lifts a pause. */
export interface ResumeItem {
  readonly kind: "resume";
  readonly id: string;
}
/** Takes a block and what is held against the instance away; whoever may lease it tries again. */
export interface UnblockItem {
  readonly kind: "unblock";
  readonly id: string;
}
/** A new instance with a copied past; it is due at once, without a start message (semantics 21a). */
export interface ForkItem {
  readonly kind: "fork";
  readonly instance: NewInstance;
  /** Execution 1, from event 1 on. */
  readonly rows: readonly HistoryRow[];
  readonly keyValues: readonly StoredKeyValue[];
  readonly status: string | null;
}
/** Asks an instance to end; its code has its say. */
export interface CancelItem {
  readonly kind: "cancel";
  readonly id: string;
  /** JSON text of OrchestrationCancelRequested. */
  readonly request: string;
  /** JSON text of OrchestrationFailed: how a blocked instance ends, its code not run (semantics 19a). */
  readonly cancelled: string;
}
/** Ends an instance at once, its code not run. */
export interface TerminateItem {
  readonly kind: "terminate";
  readonly id: string;
  readonly status: "terminated" | "failed";
  /** JSON text of OrchestrationFailed. */
  readonly terminated: string;
  /** JSON text of OrchestrationCancelRequested for children that are not abandoned. */
  readonly childRequest: string;
}
/** Notes why an instance cannot go on. */
export interface BlockItem {
  readonly kind: "block";
  readonly key: number;
  readonly token: number;
  /** JSON text for people and tools; `null` takes a block away. */
  readonly reason: string;
  /** The runtime that found it: it does not try again (semantics 5). */
  readonly by: string;
  /** A quarantine, found under this code: no runtime that registers the same code tries again (9a, N5). */
  readonly code?: string;
}
/** Gives an instance's lease back. */
export interface ReleaseInstanceItem {
  readonly kind: "releaseInstance";
  readonly key: number;
  readonly token: number;
}

/** What became of an item that answers with no more than yes or no. */
export type SimpleResult =
  | { readonly kind: "done" }
  | {
      readonly kind: "refused";
      readonly code:
        "LEASE_LOST" | "INSTANCE_NOT_FOUND" | "INSTANCE_FINISHED" | "LIMIT_EXCEEDED" | "KEY_REUSED";
    };

/** Anything that can be written. A group of them is one transaction. */
export type CommitItem =
  | StartItem
  | TurnItem
  | CompletionItem
  | RetryItem
  | ReleaseTaskItem
  | StepOutcomeItem
  | SendItem
  | PauseItem
  | ResumeItem
  | UnblockItem
  | ForkItem
  | CancelItem
  | TerminateItem
  | BlockItem
  | ReleaseInstanceItem;

/** The kind of result that an item has. */
export type ResultOf<Item extends CommitItem> = Item extends StartItem | ForkItem
  ? StartResult
  : Item extends TurnItem
    ? TurnResult
    : SimpleResult;
/** The store will never take this item, though it took its neighbours (too large, a broken constraint). */
export interface ErrorResult {
  readonly kind: "error";
  readonly error: PerdureError;
}
/**
 * Somebody outside holds a lock that this item needs. It was not written, its neighbours were; it is to be sent again
 * by itself, so that nobody waits with it (semantics 32).
 */
export interface BusyResult {
  readonly kind: "busy";
}
/** What became of one item of a group. */
export type CommitResult = StartResult | TurnResult | SimpleResult | ErrorResult | BusyResult;
