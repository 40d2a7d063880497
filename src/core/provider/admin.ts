// Administration: finding, counting, deleting and pruning instances, and figures for the whole store.
//   AD1. Filters are ANDed; an empty list matches nothing, an absent member everything.
//   AD2. A cursor is stable: what is created or ended meanwhile neither repeats nor hides an instance that was
//        there all the time.
//   AD3. Deleting removes everything of an instance and of its descendants in one transaction. Without `force` it
//        refuses a live instance (or one with live descendants) and a child whose parent still exists.
//   AD4. Pruning never touches the newest execution, nor key-values, status or messages.
//   AD5. Lists and searches read the columns they return and no others: their cost does not depend on the size of
//        outputs.

import type { FoundInstance, InstanceStatus, ListedInstance, TerminalStatus } from "./instances.ts";
import type { KeyValueRecord } from "./state.ts";

/** Which instances are meant: members are ANDed, an absent one matches everything, an empty list nothing. */
export interface InstanceFilter {
  /** A paused instance is "paused" and nothing else. */
  readonly status?: readonly (InstanceStatus | "paused")[];
  readonly name?: string;
  readonly version?: string;
  /** Null: those without one. */
  readonly parent?: string | null;
  readonly idPrefix?: string;
  readonly ids?: readonly string[];
  readonly attributes?: Readonly<Record<string, string>>;
  readonly blocked?: boolean;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
  readonly completedBefore?: number;
}
/** Whoever gives a cursor that no list has given out gets INVALID_ARGUMENT. */
export interface ListRequest {
  readonly filter: InstanceFilter;
  /** By creation, which a restart does not renew. */
  readonly order: "newest" | "oldest";
  readonly limit: number;
  readonly cursor: string | null;
}
/** One page of a list. */
export interface InstancePage {
  readonly items: readonly ListedInstance[];
  /** Null: there is no more. */
  readonly cursor: string | null;
}
/** One page of a search. */
export interface FoundPage {
  readonly items: readonly FoundInstance[];
  /** Null: there is no more. `listInstances` accepts it too. */
  readonly cursor: string | null;
}

/** How much a deletion or a pruning removed. */
export interface Removed {
  readonly instances: number;
  readonly executions: number;
  readonly events: number;
  readonly messages: number;
}
/** Which ended instances a sweep deletes. */
export interface DeleteEndedRequest {
  readonly status: TerminalStatus;
  readonly completedBefore: number;
  /** How many instances without a parent are examined at most. */
  readonly limit: number;
  /** From the previous call; null: from the first. */
  readonly cursor: string | null;
}
/** What one step of a sweep removed. */
export interface DeletedEnded extends Removed {
  /** Null: there are no more. */
  readonly cursor: string | null;
}
/** Asks for the sweep; `held` is what the last call returned. */
export interface SweepClaim {
  readonly held: number | null;
  readonly leaseMs: number;
}
/** What became of a deletion. */
export type DeleteResult =
  | ({ readonly kind: "deleted" } & Removed)
  | {
      readonly kind: "refused";
      readonly code: "INSTANCE_NOT_FOUND" | "INSTANCE_RUNNING" | "INVALID_ARGUMENT";
      readonly message: string;
    };
/** Both are ANDed; without either, every execution but the newest goes. */
export interface PruneRequest {
  readonly id: string;
  /** The newest executions that stay, the current one included. */
  readonly keepLast?: number;
  /** Only executions that ended before this. */
  readonly completedBefore?: number;
}

/** Figures for the whole store, counted when asked. */
export interface StoreMetrics {
  /** Paused and blocked ones included. */
  readonly instances: Readonly<Record<InstanceStatus, number>>;
  readonly paused: number;
  readonly blocked: number;
  readonly executions: number;
  readonly events: number;
  readonly dueMessages: number;
  /** Free, and available now. */
  readonly waitingTasks: number;
  readonly runningTasks: number;
  /**
   * Leases that runtimes found at their last comparison and did not hold. A number that stays above zero means that
   * their work waits and no runtime does it.
   */
  readonly strandedLeases: number;
}
/** Tasks of one kind in the queue. */
export interface QueueRecord {
  readonly name: string;
  readonly tags: readonly string[];
  readonly priority: number;
  readonly waiting: number;
  readonly running: number;
  /** Free, and available later. */
  readonly delayed: number;
  /** Of those that wait. */
  readonly oldestAvailableAt: number | null;
}
/** What waits at the head of a queue for a runtime that can take it. */
export type WaitingRecord =
  | {
      readonly kind: "task";
      readonly name: string;
      readonly tags: readonly string[];
      /** Since when the first of its kind could be taken. */
      readonly oldestAt: number;
    }
  | {
      readonly kind: "instance";
      /** What a runtime must register to take it, as in LeaseInstancesRequest. */
      readonly target: string;
      readonly oldestAt: number;
    };
/** What a runtime holds. */
export interface LoadRecord {
  readonly owner: string;
  readonly instances: number;
  readonly tasks: number;
}
/** Events and bytes are those of the newest execution. */
export interface InstanceStatistics {
  readonly events: number;
  readonly bytes: number;
  readonly unread: number;
  readonly keys: number;
  /** Of their values. */
  readonly keyBytes: number;
}

/** The part of a provider that finds, counts, deletes and prunes. */
export interface AdminStore {
  listInstances(request: ListRequest): Promise<InstancePage>;
  /** The same instances in the same order, for callers that act on them: ids, statuses and times. */
  findInstances(request: ListRequest): Promise<FoundPage>;
  countInstances(filter: InstanceFilter): Promise<number>;
  /** Direct children, oldest first. */
  listChildren(id: string): Promise<readonly FoundInstance[]>;
  deleteInstance(request: { id: string; force: boolean }): Promise<DeleteResult>;
  /**
   * Deletes ended instances without a parent, oldest end first, each with its descendants, in one transaction. An
   * instance with live descendants is left alone (AD3), and so is one that another transaction is changing.
   */
  deleteEnded(request: DeleteEndedRequest): Promise<DeletedEnded>;
  /** Takes or renews the right to sweep, which one caller has at a time; null: another caller has it. */
  claimSweep(claim: SweepClaim): Promise<number | null>;
  /** Null: there is no such instance. */
  pruneExecutions(request: PruneRequest): Promise<Removed | null>;
  readMetrics(): Promise<StoreMetrics>;
  readQueues(): Promise<readonly QueueRecord[]>;
  /** One record a kind that is free and due now, in any order. Cheap: its cost grows with the kinds, not the rows. */
  readWaiting(): Promise<readonly WaitingRecord[]>;
  /** Of those who hold anything, in the order of their ids. */
  readLoads(): Promise<readonly LoadRecord[]>;
  readStatistics(key: number): Promise<InstanceStatistics>;
  readKeyValue(id: string, key: string): Promise<KeyValueRecord | null>;
  /** In the order of their keys. */
  readKeyValues(id: string): Promise<readonly KeyValueRecord[]>;
}
