// The storage contract. A provider keeps it whole; `perdure/testing/conformance` holds the suite that checks it.
//   S1. Every time that decides leases, timers and visibility is the store's clock (I3).
//   S2. A call that returns has its effects on disk (P1); a call that throws may be repeated.
//   S3. Methods throw PerdureError STORE_UNAVAILABLE for what passes (busy, full disk, lost connection) and
//       STORE_INVALID for what does not; neither ever ends an instance (P6).
//   S4. Rows that cannot be decoded are handed over as they are; judging them is the runtime's business. A row that a
//       store knows to be another than was written is handed over as `damaged`; a key-value is HISTORY_CORRUPT.

import type { Environment } from "../environment.ts";
import type { HistoryRow } from "../history-row.ts";
import type { AdminStore } from "./admin.ts";
import type { CommitItem, CommitResult } from "./commit.ts";
import type {
  ExecutionRecord,
  InstanceRecord,
  LeasedInstances,
  LeaseInstancesRequest,
} from "./instances.ts";
import type { EventsPage, EventsRequest, Message } from "./messages.ts";
import type { NewsListener } from "./notifications.ts";
import type {
  ExpireRequest,
  ExpireResult,
  HeldLeases,
  LeaseCheckRecord,
  Heart,
  HeartOptions,
  Peek,
  PeekRequest,
  RuntimeRecord,
  RuntimeRegistration,
} from "./runtimes.ts";
import type { SessionStore } from "./sessions.ts";
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
export interface Provider extends AdminStore, SessionStore, Partial<TransactionStore> {
  /** What it is, for logs and status: "sqlite", "postgres", … */
  readonly name: string;
  /** How durable a returned call is, in words, shown wherever status is shown (P1). */
  readonly durability: string;
  readonly environment: Environment;

  /** The store's clock, or this process's copy of it. */
  now(): number;

  /** Writes a group in one transaction; one result an item, in order. */
  commit(items: readonly CommitItem[]): Promise<readonly CommitResult[]>;
  /**
   * After a commit threw: what became of an item. Null: it was not written and may be sent again.
   * Reads on a connection that cannot still be inside the transaction in question (I14).
   */
  settle(item: CommitItem): Promise<CommitResult | null>;

  /** Takes instances with due messages that nobody holds, and hands over news for those the caller holds. */
  leaseInstances(request: LeaseInstancesRequest): Promise<LeasedInstances>;
  /** Due messages of instances that the caller holds, by key. */
  takeMessages(
    keys: readonly number[],
    messagesMax: number,
  ): Promise<ReadonlyMap<number, readonly Message[]>>;
  /** Prolongs leases that have an `until`; returns the keys and claims that are no longer the caller's. */
  renewInstances(
    leases: readonly { readonly key: number; readonly token: number }[],
    leaseMs: number,
  ): Promise<readonly number[]>;

  leaseTasks(request: LeaseTasksRequest): Promise<LeasedTasks>;
  renewTasks(claims: readonly TaskClaim[], leaseMs: number): Promise<readonly TaskClaim[]>;
  /**
   * Keeps details for the next attempt and progress for watchers; returns the claims that are no longer held: theirs
   * are not kept.
   */
  heartbeatTasks(heartbeats: readonly TaskHeartbeat[]): Promise<readonly TaskClaim[]>;
  /** Which of these are no longer held under their token: cancelled, finished or taken over. */
  lostTasks(claims: readonly TaskClaim[]): Promise<readonly TaskClaim[]>;

  /**
   * The safety net's look, in one statement: whether anything may be due for the caller, and who is there, the
   * caller included. It may say yes in vain, never no: it knows neither targets nor names.
   */
  peek(request: PeekRequest): Promise<Peek>;

  readInstance(id: string): Promise<InstanceRecord | null>;
  readHistory(address: { key: number; execution: number }): Promise<readonly HistoryRow[]>;
  readExecutions(key: number): Promise<readonly ExecutionRecord[]>;
  readTasks(address: Omit<TaskAddress, "sequence">): Promise<readonly TaskRecord[]>;
  readInbox(key: number): Promise<readonly Message[]>;
  /** One page of the events in an inbox, read without the rest. */
  readEvents(request: EventsRequest): Promise<EventsPage>;

  registerRuntime(registration: RuntimeRegistration): Promise<void>;
  /** False: the row is gone, the runtime was declared dead. */
  beat(runtimeId: string): Promise<boolean>;
  listRuntimes(): Promise<readonly RuntimeRecord[]>;
  expireRuntime(request: ExpireRequest): Promise<ExpireResult>;
  /** What the store lists as held by that runtime, in one snapshot (V4). */
  readLeases(runtimeId: string): Promise<HeldLeases>;
  /** What a runtime found when it compared that list with its memory, and when, by the store's clock (V5). */
  recordLeaseCheck(check: LeaseCheckRecord): Promise<void>;
  /** An orderly goodbye: leases are freed, nothing is counted against anybody. */
  removeRuntime(runtimeId: string): Promise<void>;
  /** A heart that beats beside the main loop; absent where the provider offers none. */
  startHeart?(options: HeartOptions): Heart;

  /** Whether a commit is carried out elsewhere, while this process can do something else. */
  readonly isRemote?: boolean;
  /** Lets the whole store move to another one; absent where it cannot. */
  readonly transfer?: TransferStore;

  /** Calls back about commits of this process at once and about those of others as soon as they are noticed. */
  subscribe(listener: NewsListener): () => void;
  close(): Promise<void>;
}
