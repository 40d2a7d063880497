// Instances: one row each, with its status, its lease and how its newest execution ended.
//   N1. An id names at most one instance; `key` is the store's own number for it and is never used again,
//       so that nothing addressed to a deleted instance can reach its namesake.
//   N2. A terminal execution never changes again, except by delete (I11).
//   N3. A lease is (owner, token[, until]); every write that needs it compares the token (I2). `paused` and
//       `blocked` instances are not leased.
//   N4. `suspicion` counts cold leases in a row that brought no new event (semantics 9a). The lease raises it; an
//       orderly release, and a death for which the instance is not to blame (blame.ts), take that back. A commit that
//       adds events clears it, unless a step that was open when the lease was taken is still open.
//   N5. A quarantine is remembered by the code it was found under: only a runtime with other code is given the
//       instance again, until it is unblocked. Its count stays one below the next quarantine.

import type { MaybeDamaged } from "../checksum.ts";
import type { ParentLink } from "../history-events.ts";
import type { HistoryRow } from "../history-row.ts";
import type { Ageing } from "./ageing.ts";
import type { Message } from "./messages.ts";

/** The statuses of an instance that has ended. */
export const TERMINAL_STATUSES = ["completed", "failed", "cancelled", "terminated"] as const;
/** The status of an instance that has ended. */
export type TerminalStatus = (typeof TERMINAL_STATUSES)[number];
/** The status of an instance, as it is stored: paused and blocked are flags beside it. */
export type InstanceStatus = "pending" | "running" | TerminalStatus;

/** Whether an instance of this status has ended. */
export function isTerminalStatus(status: InstanceStatus): status is TerminalStatus {
  return (TERMINAL_STATUSES as readonly string[]).includes(status);
}

/** An instance as the store knows it; payloads are codec text. */
export interface InstanceRecord {
  readonly key: number;
  readonly id: string;
  readonly runId: string;
  readonly name: string;
  /** Null until the first turn when the start named no version. */
  readonly version: string | null;
  readonly execution: number;
  readonly status: InstanceStatus;
  readonly output: string | null;
  /** JSON text of OrchestrationFailed, when status is failed, cancelled or terminated. */
  readonly error: string | null;
  readonly blocked: string | null;
  /** JSON text { reason, by?, at }. */
  readonly paused: string | null;
  /** Payload text. */
  readonly customStatus: string | null;
  /** Grows by one with every commit that sets the status (ST2). */
  readonly customStatusVersion: number;
  readonly cancelRequested: string | null;
  readonly parent: ParentLink | null;
  readonly attributes: Readonly<Record<string, string>>;
  readonly priority: number;
  readonly lastEvent: number;
  /** Events up to this one were copied by a fork; 0: none. */
  readonly copiedUntil: number;
  readonly owner: string | null;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly completedAt: number | null;
  /** What of it is not what was written: its checksum is another's. Nobody may rely on that. */
  readonly damaged?: readonly DamagedPart[];
}
/** "ending": status, output and error. */
export type DamagedPart = "ending" | "customStatus" | "attributes";

/** A text that a list reads only up to LISTED_BYTES_MAX bytes. */
export type ListedText = "error" | "customStatus" | "attributes";
/** The longest stored text that a list reads, in bytes. A page of 1,000 instances stays below 50 MB. */
export const LISTED_BYTES_MAX = 16_384;

/** An instance as lists read it. The output is not read, so damage to an output shows in `readInstance` only. */
export interface ListedInstance extends Omit<InstanceRecord, "output"> {
  /** Texts longer than LISTED_BYTES_MAX, with their size in bytes: they are null, or {}, in the record. */
  readonly leftOut?: Readonly<Partial<Record<ListedText, number>>>;
}

/** The least a search reads of an instance: enough to act on it. */
export interface FoundInstance {
  readonly key: number;
  readonly id: string;
  readonly status: InstanceStatus;
  readonly createdAt: number;
  readonly completedAt: number | null;
}

/** An instance that a runtime may write to, with what it needs for its next turn. */
export interface LeasedInstance {
  readonly key: number;
  readonly id: string;
  readonly runId: string;
  readonly name: string;
  readonly version: string | null;
  readonly execution: number;
  readonly token: number;
  readonly lastEvent: number;
  readonly priority: number;
  /** Events up to this one were copied by a fork: compared loosely, carried out anew; 0: none. */
  readonly copiedUntil: number;
  /** Cold leases in a row before this one that brought no new event. */
  readonly suspicion: number;
  /** Whether steps were open at its last commit: they run again. */
  readonly stepsOpen: boolean;
  /** False: the caller held it already; its token is unchanged and `history` is empty. */
  readonly fresh: boolean;
  readonly messages: readonly Message[];
  /** The newest execution's rows; empty when not fresh. */
  readonly history: readonly HistoryRow[];
}

/** The due instances of one target and one priority. */
export interface InstanceCut {
  readonly target: string;
  readonly priority: number;
}
/** Which instances a runtime asks for. */
export interface LeaseInstancesRequest extends Ageing {
  readonly owner: string;
  readonly token: number;
  readonly limit: number;
  /**
   * What the runtime registers: `name` for starts that named no version, `name@version` for the others, with `#2`
   * and so on behind it when a later replay version than 1 wrote the history.
   */
  readonly targets: readonly string[];
  /**
   * One fingerprint per target, in the same order: the code that this runtime registers for it. A quarantined instance
   * is given only to a runtime whose code it was not quarantined under; without `codes` to no runtime (N5).
   */
  readonly codes?: readonly string[];
  /** Whether one suspect may be taken; it then comes alone. */
  readonly allowSuspect: boolean;
  /**
   * Cuts whose pending instances are not leased, because the caller has begun enough of their kind. Their running
   * instances are leased as always. The time a call takes must not grow with the number of starts that are left
   * pending.
   */
  readonly heldBack?: readonly InstanceCut[];
  readonly leaseMs?: number;
  /**
   * The same request was made before under this token, and its answer never came: if it took anything, that is
   * handed over now, as fresh, and nothing more.
   */
  readonly again?: boolean;
  /** Bounds what one instance hands over at a time. */
  readonly messagesMax: number;
}
/** What a runtime was given. */
export interface LeasedInstances {
  readonly instances: readonly LeasedInstance[];
  readonly more: boolean;
  /** When the next message that is not yet visible becomes so, or null. */
  readonly nextAt: number | null;
}

/** One execution of an instance: when it began, and how far it came. */
export interface ExecutionRecord extends MaybeDamaged {
  readonly execution: number;
  readonly startedAt: number;
  readonly lastEvent: number;
  /** JSON text of the last event's body. */
  readonly lastBody: string;
  readonly lastAt: number;
}
