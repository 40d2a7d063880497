// Administration: finding, counting, deleting and pruning instances, and figures for the whole store.
//   - admin.1: Filters are ANDed. An empty list matches nothing, an absent member everything.
//   - admin.2: A cursor is stable: instances that are created or end in the meantime do not cause other
//     instances to be repeated or skipped.
//   - admin.3: Deleting removes an instance and its descendants completely, in one transaction. Without
//     `force`, the store refuses to delete a live instance, one with live descendants, and a child whose
//     parent still exists.
//   - admin.4: Pruning never touches the newest execution, key-values, status or messages.
//   - admin.5: Lists and searches read only the columns they return, so their cost does not depend on the
//     size of outputs.
//   - admin.6: An instance that ended with `keepMs` is deleted by `deleteExpired` and never by `deleteEnded`.
//   - admin.7: A test of an attribute matches only values of its own type (attributes.1). Texts compare by code
//     points, false comes before true. An instance without the attribute matches only `exists: false`.
//   - admin.8: `text` matches an instance if the id or the name contains it, where A to Z equal a to z, or if a
//     text or a number among the attributes is written exactly like it.
//   - admin.9: A list is ordered by one time and, where that is equal, by creation. Instances that have not ended
//     come last by `completedAt`, in either direction. An instance whose time changes between two pages may be
//     repeated or skipped; others are not (admin.2).
//   - admin.10: Lists by name, by id prefix, by attribute and by the time of the end read an index: their cost
//     does not grow with the number of instances that do not match. Counts by status and name read neither
//     instances nor an index of them.
//   - admin.11: The waits of a list cost a few index lookups per instance, and nothing for lists that do not ask. They
//     are incomplete: at most WAITS_MAX tasks, timers and children, and a last row of at most LISTED_BYTES_MAX.

import type { StoredAttribute, StoredAttributes } from "../define/attributes.ts";
import type { HistoryRow } from "../history/rows.ts";
import type { FoundInstance, InstanceStatus, ListedInstance, TerminalStatus } from "./instances.ts";
import type { KeyValueRecord } from "./state.ts";
import type { TaskRecord } from "./tasks.ts";

/** Selects instances. Members are ANDed; an absent member matches everything, an empty list nothing. */
export interface InstanceFilter {
  /** A paused instance matches only "paused". */
  readonly status?: readonly (InstanceStatus | "paused")[];
  readonly name?: string;
  readonly version?: string;
  /** Null: instances without a parent. */
  readonly parent?: string | null;
  readonly idPrefix?: string;
  readonly ids?: readonly string[];
  /** Each attribute must have this value, of this type. */
  readonly attributes?: StoredAttributes;
  /** Tests of attributes by name (admin.7). */
  readonly where?: Readonly<Record<string, AttributeTest>>;
  /** Found in the id, in the name, or equal to an attribute (admin.8). */
  readonly text?: string;
  readonly blocked?: boolean;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
  readonly completedAfter?: number;
  readonly completedBefore?: number;
}
/** The tests of one attribute (admin.7). Members are ANDed. */
export interface AttributeTest {
  readonly eq?: StoredAttribute;
  /** Any of these; an empty list matches nothing. */
  readonly in?: readonly StoredAttribute[];
  readonly gt?: StoredAttribute;
  readonly gte?: StoredAttribute;
  readonly lt?: StoredAttribute;
  readonly lte?: StoredAttribute;
  /** The start of a text. */
  readonly prefix?: string;
  /** False: the instance must not have the attribute. */
  readonly exists?: boolean;
}
/** What orders a list (admin.9). */
export type ListOrder = "createdAt" | "updatedAt" | "completedAt";
/** A cursor that no list in the same order returned is INVALID_ARGUMENT. */
export interface ListRequest {
  readonly filter: InstanceFilter;
  /** Default: creation time, which a restart does not change. */
  readonly orderBy?: ListOrder;
  /** The latest or the earliest time first. */
  readonly order: "newest" | "oldest";
  readonly limit: number;
  readonly cursor: string | null;
}
/** One page of a list. */
export interface InstancePage {
  readonly items: readonly ListedInstance[];
  /** Null: this is the last page. */
  readonly cursor: string | null;
}
/** One page of a search. */
export interface FoundPage {
  readonly items: readonly FoundInstance[];
  /** Null: this is the last page. `listInstances` accepts it too. */
  readonly cursor: string | null;
}

/** How many instances have one stored status and one name. */
export interface NameCount {
  readonly name: string;
  readonly status: InstanceStatus;
  /** Includes paused and blocked instances. */
  readonly instances: number;
  readonly paused: number;
  readonly blocked: number;
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
  /** The maximum number of instances without a parent to examine. */
  readonly limit: number;
  /** From the previous call; null: from the beginning. */
  readonly cursor: string | null;
}
/** What one step of a sweep removed. */
export interface DeletedEnded extends Removed {
  /** Null: the sweep is complete. */
  readonly cursor: string | null;
}
/** A request for the right to sweep. `held` is the result of the last call. */
export interface SweepClaim {
  readonly held: number | null;
  readonly leaseMs: number;
}
/** The result of a deletion. */
export type DeleteResult =
  | ({ readonly kind: "deleted" } & Removed)
  | {
      readonly kind: "refused";
      readonly code: "INSTANCE_NOT_FOUND" | "INSTANCE_RUNNING" | "INVALID_ARGUMENT";
      readonly message: string;
    };
/** Both conditions are ANDed. Without either, every execution except the newest is pruned. */
export interface PruneRequest {
  readonly id: string;
  /** How many of the newest executions stay, including the current one. */
  readonly keepLast?: number;
  /** Only executions that ended before this time. */
  readonly completedBefore?: number;
}

/** Figures for the whole store, counted on request. */
export interface StoreMetrics {
  /** Includes paused and blocked instances. */
  readonly instances: Readonly<Record<InstanceStatus, number>>;
  readonly paused: number;
  readonly blocked: number;
  readonly executions: number;
  readonly events: number;
  readonly dueMessages: number;
  /** Events that wait for an instance that does not exist yet. */
  readonly keptMessages: number;
  /** Such events that expired. An entry counts until it is no longer listed (kept.2). */
  readonly expiredMessages: number;
  /** Not leased, and available now. */
  readonly waitingTasks: number;
  readonly runningTasks: number;
  /**
   * Leases that runtimes did not hold at their last comparison with the store. If this stays above zero,
   * work waits that no runtime does.
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
  /** Not leased, and available later. */
  readonly delayed: number;
  /** The oldest of the waiting tasks. */
  readonly oldestAvailableAt: number | null;
}
/** One kind of work that waits for a runtime that can take it. */
export type WaitingRecord =
  | {
      readonly kind: "task";
      readonly name: string;
      readonly tags: readonly string[];
      /** Since when the oldest of its kind could be taken. */
      readonly oldestAt: number;
    }
  | {
      readonly kind: "instance";
      /** The target that a runtime must register to take it, as in LeaseInstancesRequest. */
      readonly target: string;
      readonly oldestAt: number;
    };
/** How much a runtime holds. */
export interface LoadRecord {
  readonly owner: string;
  readonly instances: number;
  readonly tasks: number;
}
/** Figures of an instance. Events and bytes are those of the newest execution. */
export interface InstanceStatistics {
  readonly events: number;
  readonly bytes: number;
  readonly unread: number;
  readonly keys: number;
  /** The size of all values. */
  readonly keyBytes: number;
}

/** What the store knows about the waits of an instance without reading its history (admin.11). */
export interface WaitsRecord {
  readonly key: number;
  /** The first tasks of the execution, by sequence. */
  readonly tasks: readonly Pick<
    TaskRecord,
    "sequence" | "name" | "attempt" | "availableAt" | "owner" | "isDeferred"
  >[];
  /** The first timers of the execution, by sequence. */
  readonly timers: readonly { readonly sequence: number; readonly due: number }[];
  /** Children that have not ended. Of an instance with more than 20 children, some may be missing. */
  readonly children: readonly {
    readonly sequence: number;
    readonly id: string;
    readonly name: string;
  }[];
  /** The last row of the execution's history. Null: it has none, or the row is too long. */
  readonly lastRow: HistoryRow | null;
}

/** The part of a provider that finds, counts, deletes and prunes. */
export interface AdminStore {
  listInstances(request: ListRequest): Promise<InstancePage>;
  /** Like `listInstances`, with only ids, statuses and times, for callers that act on the instances. */
  findInstances(request: ListRequest): Promise<FoundPage>;
  countInstances(filter: InstanceFilter): Promise<number>;
  /** One record per key, in order, for instances of a list (admin.11). */
  readWaits(keys: readonly number[]): Promise<readonly WaitsRecord[]>;
  /** Instances by stored status and name, in any order; exact. Only what is not 0. */
  countByName(): Promise<readonly NameCount[]>;
  /** Direct children, oldest first. */
  listChildren(id: string): Promise<readonly FoundInstance[]>;
  deleteInstance(request: { id: string; force: boolean }): Promise<DeleteResult>;
  /**
   * Deletes ended instances without a parent, oldest end first, each with its descendants, in one
   * transaction. It skips instances with live descendants (admin.3), and instances that another
   * transaction is changing.
   */
  deleteEnded(request: DeleteEndedRequest): Promise<DeletedEnded>;
  /** Deletes instances without a parent whose `keepMs` is over, as `deleteEnded` does (admin.6). */
  deleteExpired(request: { limit: number; cursor: string | null }): Promise<DeletedEnded>;
  /** Takes or renews the right to sweep. One caller has it at a time. Null: another caller has it. */
  claimSweep(claim: SweepClaim): Promise<number | null>;
  /** Null: there is no such instance. */
  pruneExecutions(request: PruneRequest): Promise<Removed | null>;
  readMetrics(): Promise<StoreMetrics>;
  readQueues(): Promise<readonly QueueRecord[]>;
  /**
   * One record per kind of work that is due and not leased, in any order. The cost grows with the number
   * of kinds, not of rows.
   */
  readWaiting(): Promise<readonly WaitingRecord[]>;
  /** Only runtimes that hold something, ordered by id. */
  readLoads(): Promise<readonly LoadRecord[]>;
  readStatistics(key: number): Promise<InstanceStatistics>;
  readKeyValue(id: string, key: string): Promise<KeyValueRecord | null>;
  /** Ordered by key. */
  readKeyValues(id: string): Promise<readonly KeyValueRecord[]>;
}
