// Tasks: activity executions that wait in the queue or are leased to a runtime.
//   K1. A task is (instance, execution, sequence); there is at most one row of it, and none once its outcome
//       is recorded or it was cancelled. The row being gone decides: a late outcome changes nothing.
//   K2. Taking order is exact: effective priority = priority − wait / ageing interval, wait since availableAt
//       (semantics 16). Both are linear in time, so `availableAt + priority · ageing` orders the queue for good.
//   K3. Filters (registered names, tags) are applied before the limit, so that a task nobody here can take
//       starves no other (semantics 14).
//   K4. `attempt` counts entered runs that ended in a failure or in a death, of their owner or of what ran them;
//       `deaths` the latter alone. The second death makes a task suspect; suspects are leased one at a time. From
//       then on a death of its owner counts only if the task is to blame (blame.ts, semantics 13).

import type { MaybeDamaged } from "../checksum.ts";
import type { NodeMetadata } from "../history-events.ts";
import type { RetryPolicy } from "../retry-policy.ts";
import type { Ageing } from "./ageing.ts";

/** Which task is meant. */
export interface TaskAddress {
  /** The instance's number in the store. */
  readonly key: number;
  readonly execution: number;
  readonly sequence: number;
}

/** A hold on a session; whoever bumps it names the token (SE1). */
export interface SessionClaim {
  readonly id: string;
  readonly token: number;
}
/** A task and the token under which it is held. */
export interface TaskClaim extends TaskAddress {
  readonly token: number;
  /** Set for a session's task: its session is bumped when it is renewed, retried or over (SE4). */
  readonly sessionClaim?: SessionClaim;
}

/** What a call said about its attempts. */
export interface TaskOptions {
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
  readonly heartbeatTimeoutMs?: number;
  /** The trace in which its instance was started. */
  readonly traceParent?: string;
  /** The flow's node that asks for it, and what its author noted there; shown to the activity. */
  readonly node?: string;
  readonly metadata?: NodeMetadata;
}

/** A task that a turn creates. */
export interface NewTask {
  readonly sequence: number;
  readonly name: string;
  readonly input: string;
  readonly options: TaskOptions | null;
  /** A session's task is not born leased: only taking it claims the session (SE1). */
  readonly session: string | null;
  /** A set: it comes back sorted and without repetitions. */
  readonly tags: readonly string[] | null;
  readonly priority: number;
  /** Born leased to the runtime that commits it: no fetch and no second write (architecture §4.4). */
  readonly lease: {
    readonly owner: string;
    readonly token: number;
    readonly leaseMs?: number;
  } | null;
}

/** A task that a runtime may run, with what it needs for that. */
export interface LeasedTask extends TaskClaim {
  readonly instanceId: string;
  readonly runId: string;
  readonly orchestration: string;
  readonly orchestrationVersion: string;
  readonly name: string;
  readonly input: string;
  readonly options: TaskOptions | null;
  readonly session: string | null;
  readonly tags: readonly string[] | null;
  readonly priority: number;
  readonly attempt: number;
  readonly deaths: number;
  readonly suspect: boolean;
  /** Payload text of the last heartbeat's details, or null. */
  readonly heartbeat: string | null;
  /**
   * Its options or tags cannot be read back and are null here, or its checksum is another's: it ends as poison
   * (semantics 6).
   */
  readonly undecodable?: true;
}

/**
 * Which tasks a worker takes: a task's tags must be a subset of the worker's (semantics 15). "untagged": only
 * tasks without tags; "any": all; "none": no task at all.
 */
export type TagFilter =
  "untagged" | "any" | "none" | { readonly tags: readonly string[]; readonly untagged: boolean };

/** What a worker may claim of sessions (semantics 15). */
export interface SessionRequest {
  /** Who owns a session: a runtime, or a node id that several share. */
  readonly owner: string;
  /** Drawn for sessions newly claimed by this request. */
  readonly token: number;
  readonly leaseMs: number;
  /** Sessions that may be served beyond those in flight, whether newly claimed or held already. */
  readonly newMax: number;
  /** At capacity: only these are served. */
  readonly inFlight: readonly string[];
}

/** Which tasks a runtime asks for. */
export interface LeaseTasksRequest extends Ageing {
  readonly owner: string;
  readonly token: number;
  readonly limit: number;
  /** Only tasks with one of these names. */
  readonly names: readonly string[];
  readonly tags: TagFilter;
  /** Null: only tasks without a session. */
  readonly sessions: SessionRequest | null;
  /** Whether one suspect may be among them. */
  readonly allowSuspect: boolean;
  /**
   * Set: a task without a session that failed with this owner last is left to others for this long from the time it
   * is available (semantics 10).
   */
  readonly avoidMs?: number;
  /** Set: the lease also ends by itself after this time unless renewed. */
  readonly leaseMs?: number;
  /**
   * The same request was made before under this token, and its answer never came: if it took anything, that is
   * handed over now, and nothing more.
   */
  readonly again?: boolean;
}
/** What a runtime was given. */
export interface LeasedTasks {
  readonly tasks: readonly LeasedTask[];
  /** Whether more could have been taken now. */
  readonly more: boolean;
  /** When the next waiting task that this request could take comes due, or null. */
  readonly nextAt: number | null;
}

/** A task as `describe` shows it; damaged: its last failure or its progress. */
export interface TaskRecord extends TaskAddress, MaybeDamaged {
  readonly name: string;
  readonly attempt: number;
  readonly availableAt: number;
  readonly owner: string | null;
  /** Empty when it has none, and when they cannot be read. */
  readonly tags: readonly string[];
  readonly session: string | null;
  readonly suspect: boolean;
  readonly lastFailure: string | null;
  /** Payload text of the progress that an attempt told last, or null. */
  readonly progress: string | null;
}

/** What a running attempt says of itself. What is absent leaves what is stored. */
export interface TaskHeartbeat {
  readonly task: TaskClaim;
  /** Payload text, handed to the next attempt. */
  readonly details?: string;
  /** Payload text, for watchers: told as news (`progressed`). It stays until another is told or the task is over. */
  readonly progress?: string;
}
