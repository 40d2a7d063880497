// Tasks: activity executions that wait in the queue or are leased to a runtime.
//   - provider.tasks.1: A task is (instance, execution, sequence). It has at most one row, and none after
//     its outcome is recorded or it was cancelled. A missing row is decisive: a late outcome changes
//     nothing.
//   - provider.tasks.2: The order of leasing is exact: effective priority = priority − wait / ageing
//     interval, with the wait since availableAt (semantics 16). Both are linear in time, so `availableAt
//     + priority · ageing` is a fixed order.
//   - provider.tasks.3: Filters (registered names, tags) are applied before the limit, so that a task
//     that this runtime cannot take does not starve others (semantics 14).
//   - provider.tasks.4: `attempt` counts runs that ended in a failure or in a death of the worker or
//     thread. `deaths` counts only the deaths. The second death makes a task suspect. A suspect with one counted
//     death is tried together with others, any other suspect alone. Which deaths of its owner count: blame.ts
//     (semantics 13).

import type { MaybeDamaged } from "../values/checksum.ts";
import type { NodeMetadata } from "../history/events.ts";
import type { RetryPolicy } from "../define/retry-policy.ts";
import type { Ageing } from "./shared/ageing.ts";

/** Identifies a task. */
export interface TaskAddress {
  /** The store's number of the instance. */
  readonly key: number;
  readonly execution: number;
  readonly sequence: number;
}

/** A hold on a session. Every update of the session names the token (sessions.1). */
export interface SessionClaim {
  readonly id: string;
  readonly token: number;
}
/** A task and the token under which it is held. */
export interface TaskClaim extends TaskAddress {
  readonly token: number;
  /**
   * Set for a task with a session: renewing, retrying or finishing the task updates the session
   * (sessions.4).
   */
  readonly sessionClaim?: SessionClaim;
  /**
   * How many values the attempt has written to streams, in all. Set with the outcome of a successful attempt that
   * wrote some, and when such an attempt is deferred (provider.streams.4, provider.streams.7).
   */
  readonly streamValues?: number;
}

/** The options of a call that apply to its attempts. */
export interface TaskOptions {
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
  readonly heartbeatTimeoutMs?: number;
  /** The trace in which its instance was started. */
  readonly traceParent?: string;
  /** Codec text of the context of its instance. Absent: none. */
  readonly context?: string;
  /** The node of the flow that makes the call, and its metadata; shown to the activity. */
  readonly node?: string;
  readonly metadata?: NodeMetadata;
  /** The execution of the idempotency key, if it is an earlier one (semantics 21b). */
  readonly keyExecution?: number;
}

/** What a task runs, and which workers may take it. */
export interface TaskWork {
  readonly name: string;
  readonly input: string;
  readonly options: TaskOptions | null;
  readonly session: string | null;
  /** A set: it is read back sorted and without duplicates. */
  readonly tags: readonly string[] | null;
  readonly priority: number;
  /** For limits per key and fair order (provider.queues.2, provider.queues.4); absent: none. At most 256 bytes. */
  readonly queueKey?: string;
}

/** A task that a turn creates. */
export interface NewTask extends TaskWork {
  readonly sequence: number;
  /** The weight of its key in a queue with fair order, a finite number above 0; absent: 1 (provider.queues.4). */
  readonly weight?: number;
  /** Set: leased to the runtime that commits it, without a fetch and a second write. */
  readonly lease: {
    readonly owner: string;
    readonly token: number;
    readonly leaseMs?: number;
    /** Set for a task with a session: the turn is refused unless this claim holds (sessions.5). */
    readonly sessionClaim?: SessionClaim;
  } | null;
}

/** A task leased to a runtime, with everything that its attempt needs. */
export interface LeasedTask extends TaskClaim, TaskWork {
  readonly instanceId: string;
  readonly runId: string;
  readonly orchestration: string;
  readonly orchestrationVersion: string;
  readonly attempt: number;
  readonly deaths: number;
  readonly suspect: boolean;
  /** Since when it could be taken. Absent: a runtime leased it with the commit that inserted it. */
  readonly availableAt?: number;
  /** Payload text of the last heartbeat's details, or null. */
  readonly heartbeat: string | null;
  /**
   * Set: its queue has a rate, and the admission is valid until this time of the store. The runtime must enter the task within
   * `enterWithinMs` after it sent the request, or release it (provider.queues.3).
   */
  readonly admittedUntil?: number;
  /**
   * Set if the attempt waited for its completion from outside (provider.callbacks.3): which of its timeouts is over. The
   * runtime must not run the activity.
   */
  readonly deferred?: "timeout" | "heartbeat";
  /**
   * The options or tags cannot be decoded and are null here, or the stored checksum does not match the
   * row. The task ends as poison (semantics 6).
   */
  readonly undecodable?: true;
}

/**
 * Which tasks a worker takes: a task's tags must be a subset of the worker's (semantics 15). "untagged": only
 * tasks without tags; "any": all; "none": no task at all.
 */
export type TagFilter =
  "untagged" | "any" | "none" | { readonly tags: readonly string[]; readonly untagged: boolean };

/** Which sessions a worker may claim (semantics 15). */
export interface SessionRequest {
  /** The owner of a claimed session: a runtime, or a node id that several runtimes share. */
  readonly owner: string;
  /** The token of sessions that this request claims. */
  readonly token: number;
  readonly leaseMs: number;
  /** How many sessions may be served in addition to those in flight, newly claimed or already held. */
  readonly newMax: number;
  /** At capacity, only these sessions are served. */
  readonly inFlight: readonly string[];
}

/** A request of a runtime for tasks. */
export interface LeaseTasksRequest extends Ageing {
  readonly owner: string;
  readonly token: number;
  readonly limit: number;
  /** Only tasks with one of these names. */
  readonly names: readonly string[];
  readonly tags: TagFilter;
  /** Null: only tasks without a session. */
  readonly sessions: SessionRequest | null;
  /** Whether the result may contain suspects: one that runs alone, or up to 16 that are tried together. */
  readonly allowSuspect: boolean;
  /** The suspects that the owner is trying together. Above 0, no suspect that runs alone is leased. Default 0. */
  readonly suspectsHeld?: number;
  /**
   * Set: a task without a session whose last attempt failed on this owner is left to other runtimes for
   * this long after it becomes available (semantics 10).
   */
  readonly avoidMs?: number;
  /** Set: the lease expires after this time unless it is renewed. */
  readonly leaseMs?: number;
  /** How soon after the request the worker enters admitted tasks (provider.queues.3). Default 1,000. */
  readonly enterWithinMs?: number;
  /**
   * The same request was sent before under this token, and its reply was lost. The result contains what
   * that request took, if anything, and nothing more; admitted tasks are released instead.
   */
  readonly again?: boolean;
}
/** The result of a request for tasks. */
export interface LeasedTasks {
  readonly tasks: readonly LeasedTask[];
  /** Whether more tasks could have been taken. */
  readonly more: boolean;
  /**
   * When the next waiting task that matches this request comes due, or null. A task that a rate holds back comes due when
   * it can be admitted; one that waits for a slot of its queue, at the latest 50 ms later.
   */
  readonly nextAt: number | null;
}

/** A task as `describe` shows it. If it is damaged, that concerns its last failure or its progress. */
export interface TaskRecord extends TaskAddress, MaybeDamaged {
  readonly name: string;
  readonly attempt: number;
  readonly availableAt: number;
  readonly owner: string | null;
  /** Empty if it has none, or if they cannot be decoded. */
  readonly tags: readonly string[];
  readonly session: string | null;
  readonly suspect: boolean;
  readonly lastFailure: string | null;
  /** Payload text of the last reported progress, or null. */
  readonly progress: string | null;
  /** Set: it waits for its completion from outside (provider.callbacks.3). `availableAt` is its timeout. */
  readonly isDeferred?: true;
}

/** What a running attempt reports. Absent members leave the stored values unchanged. */
export interface TaskHeartbeat {
  readonly task: TaskClaim;
  /** Payload text for the next attempt. */
  readonly details?: string;
  /**
   * Payload text for watchers, announced as `progressed`. It stays until the next report or the end of
   * the task.
   */
  readonly progress?: string;
}
