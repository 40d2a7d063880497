// Runtimes: which runtimes are alive, and what happens to the leases of a dead one.
//   - provider.runtimes.1: A runtime is alive while its heartbeat is fresh by the store's clock. A lease
//     without an `until` lives as long as its owner (ARCHITECTURE.md, "Liveness"). A runtime without a
//     row gets no lease.
//   - provider.runtimes.2: `expire` decides in the statement itself. Unless the caller is certain of the
//     death, a heartbeat that arrives before the statement saves the runtime. With `beatAt` the same
//     holds for a caller that is certain.
//   - provider.runtimes.3: The transaction that removes a dead runtime also frees what it held: instances
//     and tasks (with their deaths counted, provider.tasks.4). It writes a "wake" for every instance with
//     open inline steps.
//   - provider.runtimes.4: `readLeases` is one snapshot. A runtime compares it with its memory, because a
//     store that lost its last commits lists leases that their owner released long ago, and no message
//     wakes those instances.
//   - provider.runtimes.5: A runtime records each comparison with `recordLeaseCheck`. The record is
//     written to the row of the runtime, if it has one, and changes nothing else. Registering again
//     clears it.
//   - provider.runtimes.6: `nextDue` decides as a lease request of the caller would, now and later. Work that another
//     runtime holds counts from the end of its lease, if the lease has one, and otherwise not at all: its owner does
//     it, or loses it to a takeover. Work that only waits for a call from outside does not count: a paused or blocked
//     instance, a paused queue, an event, a slot of a queue that another runtime uses. The caller does not have to
//     be registered. A time that is over means that something is due.

import type { TagFilter, TaskClaim } from "./tasks.ts";

/** Identifies a process uniquely on its machine; null if the host does not provide this. */
export interface ProcessIdentity {
  readonly bootId: string;
  readonly pidNamespace: string;
  readonly pid: number;
  readonly startTime: string;
}

/** The registration of a runtime with the store. */
export interface RuntimeRegistration {
  readonly id: string;
  readonly nodeId: string;
  readonly process: ProcessIdentity | null;
  readonly hostname: string;
  /** JSON text: the registered activities and orchestrations, and further settings. */
  readonly registered: string;
}
/** A registered runtime, and its last heartbeat. */
export interface RuntimeRecord extends RuntimeRegistration {
  readonly startedAt: number;
  readonly beatAt: number;
  /** JSON text: what was running when its heartbeats stopped, or null. */
  readonly note: string | null;
  /**
   * When the runtime last compared the leases listed by the store with its memory; null: not yet
   * (provider.runtimes.5).
   */
  readonly leasesCheckedAt: number | null;
  /** How many of the listed leases it did not hold at that time. */
  readonly strandedLeases: number;
}

/** Which runtime is declared dead, and how certain that is. */
export interface ExpireRequest {
  readonly id: string;
  /** Null: the caller knows that the process is gone. */
  readonly staleMs: number | null;
  /** Set: only if this is still its last heartbeat. A later heartbeat proves that it is alive. */
  readonly beatAt?: number;
}
/** Whether the runtime was expired, and how much it held. */
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

/** The result of a comparison of leases (provider.runtimes.5). */
export interface LeaseCheckRecord {
  readonly runtimeId: string;
  /** Leases that the store listed for the runtime and that the runtime did not hold. */
  readonly stranded: number;
}

/** A thread that sends heartbeats, so that a runtime with a blocked event loop does not look dead. */
export interface LivenessThread {
  /** Called when the main loop turns. */
  turned(): void;
  /** Called before user code is entered; `what` describes it. */
  entering(what: string): void;
  /** Whether the runtime's row was missing at the last heartbeat: the runtime was declared dead. */
  lost(): boolean;
  /**
   * Whether the last heartbeat is so old that the main loop must send one. The thread may have no
   * connection.
   */
  isSilent(): boolean;
  /** Since when heartbeats have succeeded without a gap, by the environment's monotonic clock. */
  steadySince(): number;
  /**
   * Whether the thread, too, was suspended for most of the last `ms`: the whole process was stopped or
   * suspended. Absent: the thread cannot tell.
   */
  wasSuspended?(ms: number): boolean;
  stop(): Promise<void>;
}
/** Options of a liveness thread. */
export interface LivenessThreadOptions {
  readonly runtimeId: string;
  readonly beatMs: number;
  /** The heartbeats stop if the event loop has not turned for this long. */
  readonly stallMs: number;
}

/** The runtime that asks. */
export interface WorkSummaryRequest {
  readonly owner: string;
}
/** Whether anything may be due, and which runtimes are registered. */
export interface WorkSummary {
  readonly instances: boolean;
  readonly tasks: boolean;
  /** The names of the queues with a rule or a pause; absent: none (provider.queues.7). */
  readonly ruled?: readonly string[];
  readonly runtimes: readonly RuntimeRecord[];
  /**
   * The store's clock was set back by this much since the last call, and the store has corrected its
   * rows.
   */
  readonly clockSetBackMs?: number;
  /**
   * Changes when the store's server was restarted or replaced; commits may have been lost then. Absent if
   * the store has no server.
   */
  readonly server?: string;
}

/** Which work the caller would lease. */
export interface NextDueRequest {
  /** The id under which the caller leases. What it holds itself counts as free. */
  readonly owner: string;
  /** As in a request for instances: the registered targets, and one fingerprint per target. */
  readonly targets: readonly string[];
  readonly codes: readonly string[];
  /** The names of the registered activities. */
  readonly names: readonly string[];
  readonly tags: TagFilter;
  /** The owner of the caller's sessions; null: the caller takes no tasks with a session. */
  readonly sessionOwner: string | null;
}
/** When the next work comes due (provider.runtimes.6). */
export interface NextDue {
  /** By the store's clock. Null: nothing comes due without a call from outside. */
  readonly at: number | null;
  /** The store's time when it looked. */
  readonly now: number;
  /** Whether instances or kept messages exist whose own time is over (admin.6, kept.2). */
  readonly hasExpired: boolean;
  /** All registered runtimes. */
  readonly runtimes: readonly RuntimeRecord[];
}
