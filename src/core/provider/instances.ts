// Instances: one row each, with its status, its lease and how its newest execution ended.
//   - provider.instances.1: An id names at most one instance. `key` is the store's number for it and is
//     never reused, so that nothing addressed to a deleted instance reaches a later one with the same id.
//   - provider.instances.2: A terminal execution never changes again, except by delete (I11).
//   - provider.instances.3: A lease is (owner, token[, until]). Every write that needs it compares the
//     token (I2). `paused` and `blocked` instances are not leased.
//   - provider.instances.4: `suspicion` counts cold leases in a row without a new event (semantics 9a). A
//     lease increases it. An orderly release undoes the increase, and so does a death for which the
//     instance is not to blame (blame.ts). A commit that adds events clears it, unless a step that was
//     open at the lease is still open.
//   - provider.instances.5: A quarantine records the code under which it was found. Until the instance is
//     unblocked, only a runtime with different code gets it again. Its count stays one below the next
//     quarantine.

import type { StoredAttributes } from "../define/attributes.ts";
import type { MaybeDamaged } from "../values/checksum.ts";
import type { ParentLink } from "../history/events.ts";
import type { HistoryRow } from "../history/rows.ts";
import type { Ageing } from "./shared/ageing.ts";
import type { Message } from "./messages.ts";

/** The statuses of an instance that has ended. */
export const TERMINAL_STATUSES = ["completed", "failed", "cancelled", "terminated"] as const;
/** The status of an instance that has ended. */
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];
/** The status of an instance as it is stored. Paused and blocked are additional flags. */
export type InstanceStatus = "pending" | "running" | TerminalStatus;

/** Whether an instance with this status has ended. */
export function isTerminalStatus(status: InstanceStatus): status is TerminalStatus {
  return (TERMINAL_STATUSES as readonly string[]).includes(status);
}

/** The current execution of an instance. */
export interface InstanceExecution {
  /** The store's number of the instance. */
  readonly key: number;
  readonly id: string;
  readonly runId: string;
  readonly name: string;
  /** Null until the first turn, if the start named no version. */
  readonly version: string | null;
  readonly execution: number;
}

/** An instance as it is stored; payloads are codec text. */
export interface InstanceRecord extends InstanceExecution {
  readonly status: InstanceStatus;
  readonly output: string | null;
  /** JSON text of OrchestrationFailed, when status is failed, cancelled or terminated. */
  readonly error: string | null;
  readonly blocked: string | null;
  /** JSON text { reason, by?, at }. */
  readonly paused: string | null;
  /** Payload text. */
  readonly customStatus: string | null;
  /** Every commit that sets the status increases it by one (provider.state.2). */
  readonly customStatusVersion: number;
  readonly cancelRequested: string | null;
  readonly parent: ParentLink | null;
  readonly attributes: StoredAttributes;
  readonly priority: number;
  readonly lastEvent: number;
  /** The last event that a fork copied; 0: the execution is not a fork. */
  readonly copiedUntil: number;
  readonly owner: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly completedAt: number | null;
  /** Parts whose stored checksum does not match the row. Do not trust their contents. */
  readonly damaged?: readonly DamagedPart[];
}
/** "ending": status, output and error. */
export type DamagedPart = "ending" | "customStatus" | "attributes";

/** A text that a list reads only up to LISTED_BYTES_MAX bytes. */
export type ListedText = "error" | "customStatus" | "attributes";
/** The longest stored text that a list reads, in bytes. A page of 1,000 instances stays below 50 MB. */
export const LISTED_BYTES_MAX = 16_384;

/** The most tasks, timers and children of one instance that a list reads (admin.11). */
export const WAITS_MAX = 5;

/**
 * An instance as lists read it. The output is not read, so only `readInstance` shows damage to an output.
 */
export interface ListedInstance extends Omit<InstanceRecord, "output"> {
  /**
   * Texts longer than LISTED_BYTES_MAX, with their size in bytes. They are null, or {}, in the record.
   */
  readonly leftOut?: Readonly<Partial<Record<ListedText, number>>>;
}

/** The part of an instance that a search reads: enough to act on it. */
export interface FoundInstance {
  readonly key: number;
  readonly id: string;
  readonly status: InstanceStatus;
  readonly createdAt: number;
  readonly completedAt: number | null;
}

/** An instance leased to a runtime, with everything that its next turn needs. */
export interface LeasedInstance extends InstanceExecution {
  readonly token: number;
  readonly lastEvent: number;
  readonly priority: number;
  /**
   * The last event that a fork copied. Copied events are compared loosely and their effects are carried
   * out again. 0: not a fork.
   */
  readonly copiedUntil: number;
  /** The number of cold leases in a row before this one without a new event. */
  readonly suspicion: number;
  /** JSON text of the block that this lease may resolve; null: the instance is not blocked. */
  readonly blocked: string | null;
  /** Whether steps were open at its last commit. They run again. */
  readonly stepsOpen: boolean;
  /** False: the caller already held it; its token is unchanged and `history` is empty. */
  readonly fresh: boolean;
  readonly messages: readonly Message[];
  /** The history rows of the newest execution; empty if not fresh. */
  readonly history: readonly HistoryRow[];
}

/** The due instances of one target and one priority. */
export interface InstanceCut {
  readonly target: string;
  readonly priority: number;
}
/** A request of a runtime for instances. */
export interface LeaseInstancesRequest extends Ageing {
  readonly owner: string;
  readonly token: number;
  /** The most instances that are leased. */
  readonly limit: number;
  /**
   * How many instances of the caller the result may contain in addition to `limit`. They are due while a turn of
   * theirs is in flight, and must not keep the caller from leasing others. Default 0.
   */
  readonly busy?: number;
  /**
   * The registered targets: `name` for starts without a version, `name@version` for the others. If a
   * replay version later than 1 wrote the history, `#2` and so on is appended.
   */
  readonly targets: readonly string[];
  /**
   * One fingerprint per target, in the same order: the code that this runtime registers for it. A
   * quarantined instance is leased only to a runtime with different code than it was quarantined under,
   * and without `codes` to none (provider.instances.5).
   */
  readonly codes?: readonly string[];
  /** Whether one suspect may be leased. It is then the only instance in the result. */
  readonly allowSuspect: boolean;
  /**
   * Targets and priorities whose pending instances are not leased, because the caller has begun enough of
   * them. Their running instances are leased as usual. The duration of a call must not grow with the
   * number of starts that stay pending.
   */
  readonly heldBack?: readonly InstanceCut[];
  readonly leaseMs?: number;
  /**
   * The same request was sent before under this token, and its reply was lost. The result contains what
   * that request took, if anything, as fresh, and nothing more.
   */
  readonly again?: boolean;
  /** The maximum number of messages per instance. */
  readonly messagesMax: number;
}
/** The result of a request for instances. */
export interface LeasedInstances {
  readonly instances: readonly LeasedInstance[];
  readonly more: boolean;
  /** When the next message becomes visible, or null. */
  readonly nextAt: number | null;
}

/**
 * Selects rows of the history of an execution: those with an event whose sequence number is greater than
 * `after` and at most `after + limit`. Both are whole numbers from 0. The store must find the first row by
 * index: the cost of a read must not grow with the rows before it.
 */
export interface HistoryRequest {
  readonly key: number;
  readonly execution: number;
  /** Default 0: from the first event. */
  readonly after?: number;
  /** The number of events, not of rows. Default: all. */
  readonly limit?: number;
}

/** One execution of an instance: when it began, and its last event. */
export interface ExecutionRecord extends MaybeDamaged {
  readonly execution: number;
  readonly startedAt: number;
  readonly lastEvent: number;
  /** JSON text of the last event's body. */
  readonly lastBody: string;
  readonly lastAt: number;
}
