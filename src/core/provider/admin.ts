// Administration: finding, counting, deleting and pruning instances, and figures for the whole store.
//   AD1. Filters are ANDed; an empty list matches nothing, an absent member everything.
//   AD2. A cursor is stable: what is created or ended meanwhile neither repeats nor hides an instance that was
//        there all the time.
//   AD3. Deleting removes everything of an instance and of its descendants in one transaction. Without `force` it
//        refuses a live instance (or one with live descendants) and a child whose parent still exists.
//   AD4. Pruning never touches the newest execution, nor key-values, status or messages.

import type { InstanceRecord, InstanceStatus } from "./instances.ts";
import type { KeyValueRecord } from "./state.ts";

export interface InstanceFilter {
  readonly status?: readonly (InstanceStatus | "paused")[];
  readonly name?: string;
  readonly version?: string;
  readonly parent?: string | null;
  readonly idPrefix?: string;
  readonly ids?: readonly string[];
  readonly attributes?: Readonly<Record<string, string>>;
  readonly blocked?: boolean;
  readonly createdAfter?: number;
  readonly createdBefore?: number;
  readonly completedBefore?: number;
}
export interface ListRequest {
  readonly filter: InstanceFilter;
  /** By creation. */
  readonly order: "newest" | "oldest";
  readonly limit: number;
  readonly cursor: string | null;
}
export interface InstancePage {
  readonly items: readonly InstanceRecord[];
  /** Null: there is no more. */
  readonly cursor: string | null;
}

export interface Removed {
  readonly instances: number;
  readonly executions: number;
  readonly events: number;
  readonly messages: number;
}
export type DeleteResult =
  | ({ readonly kind: "deleted" } & Removed)
  | {
      readonly kind: "refused";
      readonly code: "INSTANCE_NOT_FOUND" | "INSTANCE_RUNNING" | "INVALID_ARGUMENT";
      readonly message: string;
    };
export interface PruneRequest {
  readonly id: string;
  /** The newest executions that stay, the current one included. */
  readonly keepLast?: number;
  /** Only executions that ended before this. */
  readonly completedBefore?: number;
}

export interface StoreMetrics {
  readonly instances: Readonly<Record<InstanceStatus, number>>;
  readonly paused: number;
  readonly blocked: number;
  readonly executions: number;
  readonly events: number;
  readonly dueMessages: number;
  readonly waitingTasks: number;
  readonly runningTasks: number;
}
/** Tasks of one kind in the queue. */
export interface QueueRecord {
  readonly name: string;
  readonly tags: readonly string[];
  readonly priority: number;
  readonly waiting: number;
  readonly running: number;
  readonly delayed: number;
  readonly oldestAvailableAt: number | null;
}
export interface InstanceStatistics {
  readonly events: number;
  readonly bytes: number;
  readonly unread: number;
  readonly keys: number;
  readonly keyBytes: number;
}

export interface AdminStore {
  listInstances(request: ListRequest): Promise<InstancePage>;
  countInstances(filter: InstanceFilter): Promise<number>;
  /** Direct children, oldest first. */
  listChildren(id: string): Promise<readonly InstanceRecord[]>;
  deleteInstance(request: { id: string; force: boolean }): Promise<DeleteResult>;
  pruneExecutions(request: PruneRequest): Promise<Removed | null>;
  readMetrics(): Promise<StoreMetrics>;
  readQueues(): Promise<readonly QueueRecord[]>;
  readStatistics(key: number): Promise<InstanceStatistics>;
  readKeyValue(id: string, key: string): Promise<KeyValueRecord | null>;
  readKeyValues(id: string): Promise<readonly KeyValueRecord[]>;
}
