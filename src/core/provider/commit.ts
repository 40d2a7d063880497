// Commit items: everything that is written, one type per kind. A group of items is one transaction.
//   - commit.1: Each item succeeds completely or is refused completely, independent of the other items of
//     its group (I1).
//   - commit.2: A refusal is a result, not an error: the state of the store does not allow the item.
//     After an error it is unknown whether the group was written; `settle` finds out (I14).
//   - commit.3: An item that needs a lease names its token. A turn also names the last event it was
//     computed from. If no row changes, the item is refused (I2).
//   - commit.4: Tasks are inserted before cancelled ones are deleted, so a task that is scheduled and
//     cancelled in the same turn ends up deleted.
//   - commit.5: A start may bring its first turn. If the store inserts the instance and grants the lease, it
//     can write both, without a start message. It may always ignore the turn and treat the start as if it
//     had none; the result says which.
//   - commit.6: The start of a job may bring its first turn without a lease: the turn has token 0 and releases the
//     instance. Its tasks may have a lease; if their owner has no row, they are queued. As in commit.5, the store may
//     ignore the turn.
//   - commit.7: A turn with `isUnleased` ends a job that no runtime holds. It is refused (LEASE_LOST) if the instance has a
//     lease, a message in its inbox, a pause or a block, or if its execution or last event is another one, or if a
//     finished task is not held.
//   - commit.8: A rewind begins the next execution with a copied past and is due at once, without a start message. A child
//     that the copied past waits for reports to the execution that started it; the store delivers its outcome to the newest
//     execution, if the call is part of the copied past. Everything else of the earlier execution is deleted, except events.
//   - commit.9: A start with the run id of the instance that has its id is a repetition of the start that made it. It
//     changes nothing and counts as started.

import type { StoredAttributes } from "../define/attributes.ts";
import type { PerdureError } from "../errors/errors.ts";
import type { ParentLink, StoredKeyValue } from "../history/events.ts";
import type { HistoryRow } from "../history/rows.ts";
import type { TerminalStatus } from "./instances.ts";
import type {
  KeptMessage,
  Message,
  NewTimer,
  OutgoingMessage,
  TimerReference,
} from "./messages.ts";
import type {
  AskItem,
  AskResult,
  Dispatch,
  NewAnswer,
  RefusedDispatch,
  WithdrawItem,
} from "./asks.ts";
import type { EnqueueItem, EnqueueManyItem, EnqueueManyResult, EnqueueResult } from "./enqueue.ts";
import type { CallbackChange, CallbackItem, DeferItem, TaskCallItem } from "./callbacks.ts";
import type {
  BlockItem,
  CancelItem,
  PauseItem,
  ResumeItem,
  RewindItem,
  RewindResult,
  TerminateItem,
  UnblockItem,
} from "./control.ts";
import type { StateChange } from "./state.ts";
import type { AppendItem, AppendResult, StreamWrite, TrimItem } from "./streams.ts";
import type { NewTask, TaskClaim } from "./tasks.ts";

export type * from "./control.ts";

/** What a start does if its id is taken. */
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
  readonly attributes: StoredAttributes;
}
/** A start by a turn. */
export interface ChildStart extends NewInstance {
  /** Begin after this time, by the store's clock. */
  readonly delayMs?: number;
}

/** Creates an instance and queues its start. */
export interface StartItem extends NewInstance {
  readonly kind: "start";
  readonly onConflict: ConflictPolicy;
  /** The caller's id of this request. A repeated request returns the result of the first one. */
  readonly requestId: string | null;
  /**
   * A digest of the request. A repeated request with a different digest is refused (`isOtherRequest`).
   */
  readonly requestDigest?: string;
  readonly delayMs?: number;
  readonly dueAt?: number;
  /** JSON text of OrchestrationFailed for `terminateExisting`. */
  readonly terminated: string;
  /** Events that are in its inbox from the beginning, in order; written with the start. */
  readonly events: readonly KeptMessage[];
  /** Set: the new instance is leased to a runtime in this process that can run it at once. */
  readonly lease: {
    readonly owner: string;
    readonly token: number;
    readonly leaseMs?: number;
  } | null;
  /**
   * The first turn, which the leasing runtime has already run (commit.5), or which the client has written for a job
   * (commit.6). Its token is the token of the lease, or 0; its execution is 1 and its last event 0; it consumes no
   * message. Its key is 0, because the store chooses the key.
   */
  readonly firstTurn?: TurnItem;
}
/** The start of an ask: without a lease, request id or events. */
export type AskStart = StartItem & {
  readonly onConflict: "useExisting" | "restart";
  readonly requestId: null;
  readonly lease: null;
};
/** The result of a start. */
export type StartResult =
  | {
      readonly kind: "started";
      readonly key: number;
      readonly execution: number;
      /** The start message, if the item requested a lease and got it. */
      readonly leased: Message | null;
      /** Set: the first turn was written too. The messages that are due after it, as in the result of a turn. */
      readonly due?: readonly Message[];
      /** As in the result of a turn. */
      readonly undelivered?: readonly RefusedDispatch[];
    }
  | { readonly kind: "existing"; readonly key: number; readonly execution: number }
  | {
      readonly kind: "refused";
      readonly code: "INSTANCE_EXISTS" | "INSTANCE_RUNNING" | "KEY_REUSED";
    };

/** What a turn does to the status of its instance. */
export type InstanceChange =
  | { readonly kind: "none" }
  | {
      readonly kind: "ended";
      readonly status: TerminalStatus;
      readonly output: string | null;
      readonly error: string | null;
      /** Set: retention deletes the instance after this time, whatever its general rule is (admin.6). */
      readonly keepMs?: number;
    }
  | {
      readonly kind: "continued";
      /** JSON text of the next execution's OrchestrationStarted. */
      readonly started: string;
      readonly version: string | null;
      readonly unread: readonly KeptMessage[];
    };

/** One turn of one instance, completely: what was delivered, what its code requested, and the result. */
export interface TurnItem {
  readonly kind: "turn";
  readonly commitId: number;
  readonly key: number;
  readonly execution: number;
  readonly token: number;
  /** commit.7: the token is 0 and is not compared. */
  readonly isUnleased?: true;
  /** The last event that the turn was computed from. */
  readonly lastEvent: number;
  /** Set by the first turn of an execution. */
  readonly version: string | null;
  /** The version of the replay rules that wrote this history; stored with the version (semantics 22). */
  readonly replayVersion: number;
  readonly row: HistoryRow | null;
  readonly consumed: readonly number[];
  /**
   * `"park"`: the code takes no events now, so no event in the inbox makes the instance due. `"ready"`:
   * the oldest event makes it due again. Absent: `"ready"` if the turn consumed a message. It has no
   * meaning in a turn that ends an execution.
   */
  readonly waitingEvents?: "park" | "ready";
  /**
   * Tasks whose outcome this turn contains. Their rows are deleted with the turn; if one is missing, the
   * turn is refused.
   */
  readonly finished: readonly TaskClaim[];
  readonly tasks: readonly NewTask[];
  readonly cancelledTasks: readonly number[];
  readonly timers: readonly NewTimer[];
  readonly cancelledTimers: readonly TimerReference[];
  readonly starts: readonly ChildStart[];
  readonly sends: readonly OutgoingMessage[];
  /** Answers to requests that the instance received; absent: none. */
  readonly answers?: readonly NewAnswer[];
  /** What the turn does to its callbacks (provider.callbacks.2); absent: nothing. */
  readonly callbacks?: readonly CallbackChange[];
  /** Items for other instances (provider.asks.4), written after everything else of the turn; absent: none. */
  readonly dispatched?: readonly Dispatch[];
  /** What the orchestration writes to its streams, in order; absent: nothing. */
  readonly streams?: readonly StreamWrite[];
  readonly change: InstanceChange;
  /** Custom status, key-values, attributes; null: unchanged. */
  readonly state: StateChange | null;
  /** JSON text of OrchestrationCancelRequested, if this turn received one. */
  readonly cancelRequested: string | null;
  /**
   * Set: this commit adds events and still does not clear the suspicion, because a step that was open
   * when the instance was leased is still open (provider.instances.4).
   */
  readonly keepsSuspicion?: true;
  /** Inline steps are open: the next owner must run them, even without a message. */
  readonly stepsOpen: boolean;
  readonly release: boolean;
  /** The maximum length of `due` in the result. */
  readonly messagesMax: number;
}
/** The result of a turn. */
export type TurnResult =
  | {
      readonly kind: "committed";
      /**
       * The messages that are due for the instance now; empty if the lease was released or the instance
       * ended.
       */
      readonly due: readonly Message[];
      /** The dispatched items that were refused; absent: none. */
      readonly undelivered?: readonly RefusedDispatch[];
    }
  | {
      readonly kind: "refused";
      /**
       * PAUSED: the lease is still valid. The runtime sends the outcomes to the inbox and releases the
       * lease (19a).
       */
      readonly code: "LEASE_LOST" | "PAUSED";
    };

/**
 * The outcome of an activity that goes through the inbox, because this runtime does not hold the
 * instance.
 */
export interface CompletionItem {
  readonly kind: "completion";
  readonly task: TaskClaim;
  /** JSON text of ActivityCompleted or ActivityFailed. */
  readonly outcome: string;
}
/** A failed attempt: the task waits for its next attempt. */
export interface RetryItem {
  readonly kind: "retry";
  readonly task: TaskClaim;
  readonly delayMs: number;
  readonly failure: string;
  /** Details of the attempt's last heartbeat; absent: the stored details stay. */
  readonly heartbeat?: string;
  /**
   * The thread that ran the attempt died. This counts as a death of this task alone (provider.tasks.4).
   */
  readonly died?: true;
}
/** A task that is handed back without counting an attempt. */
export interface ReleaseTaskItem {
  readonly kind: "releaseTask";
  readonly task: TaskClaim;
}
/**
 * The outcome of an inline step that could not be committed with a turn. It waits in the inbox as kind
 * "step".
 */
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
  /**
   * Remembered as long as the instance. If the client generated it: until a turn continues as new after
   * six hours (18a).
   */
  readonly requestId: string;
  /** As in a start. */
  readonly requestDigest?: string;
  /**
   * "keep": a message for an id that does not exist waits for its start (18a), at most 1,000 per id.
   */
  readonly ifMissing: "fail" | "keep";
  /** How long it waits at most. Only with "keep". Absent: 7 days. */
  readonly keepForMs?: number;
}
/** A new instance with a copied history. It is due at once, without a start message (semantics 21a). */
export interface ForkItem {
  readonly kind: "fork";
  readonly instance: NewInstance;
  /** The history of execution 1, from event 1 on. */
  readonly rows: readonly HistoryRow[];
  readonly keyValues: readonly StoredKeyValue[];
  readonly status: string | null;
}
/** Releases the lease of an instance. */
export interface ReleaseInstanceItem {
  readonly kind: "releaseInstance";
  readonly key: number;
  readonly token: number;
  /** Set: messages make it due when its open steps are. Otherwise an instance with open steps is due at once. */
  readonly stepsWait?: true;
}

/** The result of an item without further data. */
export type SimpleResult =
  | { readonly kind: "done" }
  | {
      readonly kind: "refused";
      readonly code:
        | "LEASE_LOST"
        | "INSTANCE_NOT_FOUND"
        | "INSTANCE_FINISHED"
        | "LIMIT_EXCEEDED"
        | "KEY_REUSED"
        | "CALLBACK_CLOSED";
    };

/** Any item that can be written. A group of items is one transaction. */
export type CommitItem =
  | StartItem
  | EnqueueItem
  | EnqueueManyItem
  | TurnItem
  | CompletionItem
  | RetryItem
  | ReleaseTaskItem
  | DeferItem
  | StepOutcomeItem
  | SendItem
  | AskItem
  | WithdrawItem
  | AppendItem
  | TrimItem
  | CallbackItem
  | TaskCallItem
  | PauseItem
  | ResumeItem
  | UnblockItem
  | ForkItem
  | RewindItem
  | CancelItem
  | TerminateItem
  | BlockItem
  | ReleaseInstanceItem;

/** The result type of an item. */
export type ResultOf<Item extends CommitItem> = Item extends StartItem | ForkItem
  ? StartResult
  : Item extends TurnItem
    ? TurnResult
    : Item extends AskItem
      ? AskResult
      : Item extends AppendItem
        ? AppendResult
        : Item extends EnqueueItem
          ? EnqueueResult
          : Item extends EnqueueManyItem
            ? EnqueueManyResult
            : Item extends RewindItem
              ? RewindResult
              : SimpleResult;
/**
 * The store will never accept this item, although it accepted the rest of its group (too large, a broken
 * constraint).
 */
export interface ErrorResult {
  readonly kind: "error";
  readonly error: PerdureError;
}
/**
 * A transaction outside Perdure holds a lock that this item needs. The item was not written; the rest of
 * its group was. It is retried alone, so that it does not delay its group (semantics 32).
 */
export interface BusyResult {
  readonly kind: "busy";
}
/** The result of one item of a group. */
export type CommitResult =
  | StartResult
  | TurnResult
  | AskResult
  | AppendResult
  | EnqueueResult
  | EnqueueManyResult
  | RewindResult
  | SimpleResult
  | ErrorResult
  | BusyResult;
