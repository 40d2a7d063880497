// Runtimes: who is alive, and what becomes of a dead one's leases.
//   V1. A runtime is alive while its beat is fresh by the store's clock; a lease without an `until` lives as
//       long as its owner (architecture §4.7). Whoever has no row is given no lease.
//   V2. `expire` judges in the statement itself: unless the caller is certain of the death, a beat that came
//       meanwhile saves the runtime. With `beatAt` the same holds for a caller that is certain.
//   V3. What a dead runtime held is freed in the transaction that removes it: instances, tasks (with their
//       deaths counted, K4), and a "wake" for every instance that had inline steps open.
//   V4. `readLeases` is one snapshot: a runtime compares it with its memory, because a store that lost its last commits
//       lists leases that their owner gave back long ago, and no message wakes them.
//   V5. A runtime records each comparison with `recordLeaseCheck`. It is written to its row if it has one, and changes
//       nothing else. Registering again clears it.

import type { TaskClaim } from "./tasks.ts";

/** What identifies a process beyond doubt on its machine; null where the host cannot tell. */
export interface ProcessIdentity {
  readonly bootId: string;
  readonly pidNamespace: string;
  readonly pid: number;
  readonly startTime: string;
}

/** How a runtime introduces itself to the store. */
export interface RuntimeRegistration {
  readonly id: string;
  readonly nodeId: string;
  readonly process: ProcessIdentity | null;
  readonly hostname: string;
  /** JSON text: what it registers. */
  readonly registered: string;
}
/** A runtime that has registered, and its last sign of life. */
export interface RuntimeRecord extends RuntimeRegistration {
  readonly startedAt: number;
  readonly beatAt: number;
  /** JSON text: what was running when it stopped beating, or null. */
  readonly note: string | null;
  /** When it last compared the leases that the store lists for it with its memory; null: not yet (V5). */
  readonly leasesCheckedAt: number | null;
  /** How many leases it found then that it does not hold. */
  readonly strandedLeases: number;
}

/** Which runtime is taken to be dead, and how sure that is. */
export interface ExpireRequest {
  readonly id: string;
  /** Null: the caller knows that the process is gone. */
  readonly staleMs: number | null;
  /** Set: only if this is still its last heartbeat. A later one proves that it is alive. */
  readonly beatAt?: number;
}
/** Whether it was, and what it held. */
export interface ExpireResult {
  readonly expired: boolean;
  readonly instances: number;
  readonly tasks: number;
}

/** An instance that the store lists as held by a runtime. */
export interface InstanceLease {
  readonly key: number;
  readonly token: number;
  readonly execution: number;
  readonly lastEvent: number;
}
/** A task that the store lists as held by a runtime. */
export interface TaskLease extends TaskClaim {
  readonly name: string;
  /** Since when it could be taken: it was leased at this time or later. */
  readonly availableAt: number;
}
/** Everything that the store lists as held by one runtime. */
export interface HeldLeases {
  readonly instances: readonly InstanceLease[];
  readonly tasks: readonly TaskLease[];
}

/** The outcome of a comparison of leases (V5). */
export interface LeaseCheckRecord {
  readonly runtimeId: string;
  /** Leases that the store listed for the runtime and that the runtime did not hold. */
  readonly stranded: number;
}

/** Beats from outside the main loop, so that a busy loop does not look dead. */
export interface Heart {
  /** The main loop says that it turns; `busyWith` names what it is about to run. */
  turned(): void;
  entering(what: string): void;
  /** A provider call is outstanding / has returned. */
  calling(): void;
  called(): void;
  /** Whether the runtime's row was gone at the last beat: it was declared dead. */
  lost(): boolean;
  /** Whether its last beat is so long ago that the main loop must beat: it has no connection, or was not sent. */
  isSilent(): boolean;
  /** Since when beats have gone through without a gap, by the environment's monotonic clock. */
  steadySince(): number;
  /**
   * Whether its thread, too, stood still for most of the last `ms`: the process was stopped or suspended. Absent: it
   * cannot tell.
   */
  wasSuspended?(ms: number): boolean;
  stop(): Promise<void>;
}
/** Whose heart it is, and how it beats. */
export interface HeartOptions {
  readonly runtimeId: string;
  readonly beatMs: number;
  /** The heart stops when the loop has not turned for this long. */
  readonly stallMs: number;
}

/** Who looks. */
export interface PeekRequest {
  readonly owner: string;
}
/** Whether anything may be due, and who is there. */
export interface Peek {
  readonly instances: boolean;
  readonly tasks: boolean;
  readonly runtimes: readonly RuntimeRecord[];
  /** The store's clock was set back by this much since the last look, and the store has made up for it. */
  readonly clockSetBackMs?: number;
  /**
   * Changes when the store's server was restarted or replaced, and with it perhaps commits were lost; absent where a
   * store has no server.
   */
  readonly server?: string;
}
