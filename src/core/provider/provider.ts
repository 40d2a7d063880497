// The storage contract. A provider implements all of it; the suite in `perdure/testing/conformance`
// checks it.
//   - provider.1: Every time that decides leases, timers and visibility is the store's clock (I3).
//   - When a call returns, its effects are durable (P1). A call that throws may be repeated.
//   - provider.2: Methods throw PerdureError STORE_UNAVAILABLE for temporary errors (busy, full disk,
//     lost connection) and STORE_INVALID for permanent ones. Neither ever ends an instance (P6).
//   - provider.3: Rows that cannot be decoded are returned as they are, and the runtime decides what to
//     do. If the stored checksum does not match a row, the row is returned as `damaged`; for a key-value
//     the store throws HISTORY_CORRUPT.

import type { Environment } from "../time/environment.ts";
import type { HistoryRow } from "../history/rows.ts";
import type { AdminStore } from "./admin.ts";
import type { AskRecords } from "./asks.ts";
import type { CommitItem, CommitResult } from "./commit.ts";
import type {
  ExecutionRecord,
  HistoryRequest,
  InstanceRecord,
  LeasedInstances,
  LeaseInstancesRequest,
} from "./instances.ts";
import type { KeptStore } from "./kept.ts";
import type { EventsPage, EventsRequest, Message } from "./messages.ts";
import type { NewsListener } from "./notifications.ts";
import type {
  ExpireRequest,
  ExpireResult,
  HeldLeases,
  LeaseCheckRecord,
  LivenessThread,
  LivenessThreadOptions,
  NextDue,
  NextDueRequest,
  WorkSummary,
  WorkSummaryRequest,
  RuntimeRecord,
  RuntimeRegistration,
} from "./runtimes.ts";
import type { QueueStore } from "./queues.ts";
import type { SessionStore } from "./sessions.ts";
import type { StreamStore } from "./streams.ts";
import type { TransactionStore } from "./transactions.ts";
import type { TransferStore } from "./transfer.ts";
import type {
  LeasedTasks,
  LeaseTasksRequest,
  TaskAddress,
  TaskClaim,
  TaskHeartbeat,
  TaskRecord,
} from "./tasks.ts";

/** The store: everything durable goes through it. Every provider implements all of it. */
export interface Provider
  extends AdminStore, KeptStore, QueueStore, SessionStore, StreamStore, Partial<TransactionStore> {
  /** The kind of store, for logs and status: "sqlite", "postgres", … */
  readonly name: string;
  /** How durable a returned call is, as a text that is shown with the status (P1). */
  readonly durability: string;
  readonly environment: Environment;

  /** The id of the store: random, and the same in every process. It moves with the store (provider.transfer.4). */
  storeId(): Promise<string>;

  /** The store's clock, or this process's copy of it. */
  now(): number;

  /**
   * Writes a group in one transaction. Returns one result per item, in order. A store may call `onWritten`
   * once before it returns: the group has its place in the order of writes and only waits for the disk, so the
   * caller may send the next group.
   */
  commit(items: readonly CommitItem[], onWritten?: () => void): Promise<readonly CommitResult[]>;
  /**
   * Called after a commit threw: returns the result of an item. Null: it was not written and may be sent
   * again. Reads on a connection that cannot still be inside the transaction in question (I14).
   */
  settle(item: CommitItem): Promise<CommitResult | null>;

  /**
   * Leases instances with due messages that no runtime holds. Also returns due messages of instances that
   * the caller holds.
   */
  leaseInstances(request: LeaseInstancesRequest): Promise<LeasedInstances>;
  /** Due messages of instances that the caller holds, by key. */
  takeMessages(
    keys: readonly number[],
    messagesMax: number,
  ): Promise<ReadonlyMap<number, readonly Message[]>>;
  /** Extends leases that have an `until`. Returns the keys of leases that the caller no longer holds. */
  renewInstances(
    leases: readonly { readonly key: number; readonly token: number }[],
    leaseMs: number,
  ): Promise<readonly number[]>;

  leaseTasks(request: LeaseTasksRequest): Promise<LeasedTasks>;
  renewTasks(claims: readonly TaskClaim[], leaseMs: number): Promise<readonly TaskClaim[]>;
  /**
   * Stores details for the next attempt and progress for watchers. Returns the claims that are no longer
   * held; theirs are not stored.
   */
  heartbeatTasks(heartbeats: readonly TaskHeartbeat[]): Promise<readonly TaskClaim[]>;
  /** Which of these claims are no longer held under their token: cancelled, finished or taken over. */
  lostTasks(claims: readonly TaskClaim[]): Promise<readonly TaskClaim[]>;

  /**
   * The periodic check, in one statement: whether anything may be due for the caller, and which runtimes
   * are registered, including the caller. It may report work that the caller cannot take, because it does
   * not know targets and names. It never misses work.
   */
  peek(request: WorkSummaryRequest): Promise<WorkSummary>;
  /** When the next work comes due that the caller could lease (provider.runtimes.6). Leases nothing. */
  nextDue(request: NextDueRequest): Promise<NextDue>;

  readInstance(id: string): Promise<InstanceRecord | null>;
  /** The selected rows in order. Each row is complete, also if only a part of its events is selected. */
  readHistory(request: HistoryRequest): Promise<readonly HistoryRow[]>;
  readExecutions(key: number): Promise<readonly ExecutionRecord[]>;
  readTasks(address: Omit<TaskAddress, "sequence">): Promise<readonly TaskRecord[]>;
  readInbox(key: number): Promise<readonly Message[]>;
  /** One page of the events in an inbox, without the other messages. */
  readEvents(request: EventsRequest): Promise<EventsPage>;
  /** The asks of an instance with these request ids, in one statement. Null: there is no such instance. */
  readAsks(id: string, requestIds: readonly string[]): Promise<AskRecords | null>;

  registerRuntime(registration: RuntimeRegistration): Promise<void>;
  /** False: the row is gone, so the runtime was declared dead. */
  beat(runtimeId: string): Promise<boolean>;
  listRuntimes(): Promise<readonly RuntimeRecord[]>;
  expireRuntime(request: ExpireRequest): Promise<ExpireResult>;
  /** The leases that the store lists for that runtime, in one snapshot (provider.runtimes.4). */
  readLeases(runtimeId: string): Promise<HeldLeases>;
  /**
   * Records the result of a runtime's comparison of that list with its memory, and the store's time
   * (provider.runtimes.5).
   */
  recordLeaseCheck(check: LeaseCheckRecord): Promise<void>;
  /**
   * Removes the row of a runtime at shutdown: its leases are freed, and no death or attempt is counted.
   */
  removeRuntime(runtimeId: string): Promise<void>;
  /** Starts a thread that sends heartbeats next to the main loop; absent if the provider has none. */
  startLivenessThread?(options: LivenessThreadOptions): LivenessThread;

  /** Whether a commit is executed elsewhere, while this process can do something else. */
  readonly isRemote?: boolean;
  /** Lets the whole store move to another one; absent if the provider does not support it. */
  readonly transfer?: TransferStore;

  /**
   * Notifies the listener of commits of this process at once, and of those of other processes as soon as
   * they are noticed.
   */
  subscribe(listener: NewsListener): () => void;
  close(): Promise<void>;
}
