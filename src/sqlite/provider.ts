// The provider on SQLite: the storage contract, each call passed to the part that owns its subject.
//   S1. Writes run on one connection, each a transaction that begins and commits without a pause in between:
//       whatever another call of this process reads is whole.
//   S2. The store's clock is the environment's wall clock, bound as a parameter (I3).

import { Committer } from "../core/committer.ts";
import type { Environment } from "../core/environment.ts";
import type { HistoryRow } from "../core/history-row.ts";
import type {
  DeletedEnded,
  DeleteEndedRequest,
  DeleteResult,
  FoundPage,
  InstanceFilter,
  InstancePage,
  InstanceStatistics,
  ListRequest,
  PruneRequest,
  LoadRecord,
  QueueRecord,
  Removed,
  StoreMetrics,
  SweepClaim,
  WaitingRecord,
} from "../core/provider/admin.ts";
import type { CommitItem, CommitResult, SendItem, StartItem } from "../core/provider/commit.ts";
import type {
  ExecutionRecord,
  FoundInstance,
  InstanceRecord,
  LeasedInstances,
  LeaseInstancesRequest,
} from "../core/provider/instances.ts";
import type { EventsPage, EventsRequest, Message } from "../core/provider/messages.ts";
import type { NewsListener } from "../core/provider/notifications.ts";
import type { Provider } from "../core/provider/provider.ts";
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
} from "../core/provider/runtimes.ts";
import type { SessionRecord } from "../core/provider/sessions.ts";
import type { KeyValueRecord } from "../core/provider/state.ts";
import type {
  LeasedTasks,
  LeaseTasksRequest,
  TaskAddress,
  TaskClaim,
  TaskHeartbeat,
  TaskRecord,
} from "../core/provider/tasks.ts";
import type { Transacted, TransactionStore } from "../core/provider/transactions.ts";
import type { TransferStore } from "../core/provider/transfer.ts";
import { systemEnvironment } from "../core/system-environment.ts";
import { Hearts } from "../heart/hearts.ts";
import { Connection } from "./connection.ts";
import { startHeart, type StoreAddress } from "./heart.ts";
import { dueTime } from "./messages.ts";
import { settingsOf, type SqliteOptions } from "./options.ts";
import { assemble, type Parts } from "./parts.ts";
import { describeDurability, type Durability } from "./settings.ts";
import { SharedTransactions } from "./transactions.ts";
import { Transfer } from "./transfer.ts";

/** A store in a SQLite file, or in memory. */
export class SqliteProvider implements Provider {
  readonly name = "sqlite";
  readonly transactions = "synchronous";
  readonly durability: string;
  readonly environment: Environment;
  /** Absent where a thread would have nothing to open, or another clock. */
  readonly startHeart?: (options: HeartOptions) => Heart;
  readonly transfer: TransferStore;
  readonly #connection: Connection;
  readonly #hearts: Hearts;
  readonly #parts: Parts;
  readonly #shared: SharedTransactions;

  /** Opens the store in a file, made if it is missing, or `:memory:`. */
  static async open(path: string, options: SqliteOptions = {}): Promise<SqliteProvider> {
    const settings = settingsOf(options);
    const connection = await Connection.open(path, settings);
    try {
      return await connection.read(() => new SqliteProvider(connection, settings.durability));
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  private constructor(connection: Connection, durability: Durability) {
    const { path, environment } = connection;
    this.environment = environment;
    this.durability = describeDurability(path === null, durability);
    this.#connection = connection;
    this.#hearts = new Hearts(environment);
    if (path !== null && environment === systemEnvironment) {
      this.startHeart = (options) => this.#startHeart(options, { path });
    }
    this.#parts = assemble(connection);
    this.transfer = new Transfer(connection);
    this.#shared = new SharedTransactions(connection, this.#parts);
  }

  now(): number {
    return this.#connection.now();
  }

  commit(items: readonly CommitItem[]): Promise<readonly CommitResult[]> {
    return this.#parts.groups.commit(items);
  }

  settle(item: CommitItem): Promise<CommitResult | null> {
    return this.#parts.settlement.settle(item);
  }

  leaseInstances(request: LeaseInstancesRequest): Promise<LeasedInstances> {
    return this.#parts.leases.lease(request);
  }

  takeMessages(
    keys: readonly number[],
    messagesMax: number,
  ): Promise<ReadonlyMap<number, readonly Message[]>> {
    return this.#connection.read(() => {
      const now = this.now();
      return new Map(keys.map((key) => [key, this.#parts.inbox.due(key, now, messagesMax)]));
    });
  }

  renewInstances(
    leases: readonly { readonly key: number; readonly token: number }[],
    leaseMs: number,
  ): Promise<readonly number[]> {
    return this.#parts.leases.renew(leases, leaseMs);
  }

  leaseTasks(request: LeaseTasksRequest): Promise<LeasedTasks> {
    return this.#parts.queue.lease(request);
  }

  renewTasks(claims: readonly TaskClaim[], leaseMs: number): Promise<readonly TaskClaim[]> {
    return this.#connection.write(() => {
      const until = dueTime({ delayMs: leaseMs }, this.now());
      return claims.filter((claim) => !this.#parts.tasks.renew(claim, until));
    });
  }

  heartbeatTasks(heartbeats: readonly TaskHeartbeat[]): Promise<readonly TaskClaim[]> {
    return this.#parts.notifier.write((transaction) =>
      heartbeats
        .filter((beat) => !this.#parts.tasks.heartbeat(beat, transaction))
        .map(({ task }) => task),
    );
  }

  lostTasks(claims: readonly TaskClaim[]): Promise<readonly TaskClaim[]> {
    return this.#connection.read(() => claims.filter((claim) => !this.#parts.tasks.holds(claim)));
  }

  renewSessions(request: { owner: string; leaseMs: number; idleMs: number }): Promise<number> {
    return this.#parts.sessions.renew(request);
  }

  releaseSessions(owner: string): Promise<void> {
    return this.#parts.sessions.release(owner);
  }

  cleanSessions(): Promise<number> {
    return this.#parts.sessions.clean();
  }

  listSessions(): Promise<readonly SessionRecord[]> {
    return this.#parts.sessions.list();
  }

  readInstance(id: string): Promise<InstanceRecord | null> {
    return this.#connection.read(() => this.#parts.instances.read(id));
  }

  readHistory(address: { key: number; execution: number }): Promise<readonly HistoryRow[]> {
    return this.#connection.read(() => this.#parts.history.read(address.key, address.execution));
  }

  readExecutions(key: number): Promise<readonly ExecutionRecord[]> {
    return this.#connection.read(() => this.#parts.history.readExecutions(key));
  }

  readTasks(address: Omit<TaskAddress, "sequence">): Promise<readonly TaskRecord[]> {
    return this.#connection.read(() => this.#parts.tasks.read(address));
  }

  readInbox(key: number): Promise<readonly Message[]> {
    return this.#connection.read(() => this.#parts.inbox.read(key));
  }

  readEvents(request: EventsRequest): Promise<EventsPage> {
    return this.#connection.read(() => this.#parts.inbox.readEvents(request));
  }

  readKeyValue(id: string, key: string): Promise<KeyValueRecord | null> {
    return this.#parts.keyValues.read(id, key);
  }

  readKeyValues(id: string): Promise<readonly KeyValueRecord[]> {
    return this.#parts.keyValues.readAll(id);
  }

  listInstances(request: ListRequest): Promise<InstancePage> {
    return this.#parts.listing.list(request);
  }

  findInstances(request: ListRequest): Promise<FoundPage> {
    return this.#parts.listing.find(request);
  }

  countInstances(filter: InstanceFilter): Promise<number> {
    return this.#parts.listing.count(filter);
  }

  listChildren(id: string): Promise<readonly FoundInstance[]> {
    return this.#parts.listing.children(id);
  }

  deleteInstance(request: { id: string; force: boolean }): Promise<DeleteResult> {
    return this.#parts.deletions.delete(request);
  }

  deleteEnded(request: DeleteEndedRequest): Promise<DeletedEnded> {
    return this.#parts.deletions.deleteEnded(request);
  }

  claimSweep(claim: SweepClaim): Promise<number | null> {
    return this.#parts.sweeps.take(claim);
  }

  pruneExecutions(request: PruneRequest): Promise<Removed | null> {
    return this.#parts.pruning.prune(request);
  }

  readMetrics(): Promise<StoreMetrics> {
    return this.#parts.metrics.read();
  }

  readWaiting(): Promise<readonly WaitingRecord[]> {
    return this.#parts.waiting.read();
  }

  readLoads(): Promise<readonly LoadRecord[]> {
    return this.#parts.waiting.loads();
  }

  readQueues(): Promise<readonly QueueRecord[]> {
    return this.#parts.queues.read();
  }

  readStatistics(key: number): Promise<InstanceStatistics> {
    return this.#parts.statistics.read(key);
  }

  peek(request: PeekRequest): Promise<Peek> {
    return this.#parts.peeks.peek(request);
  }

  registerRuntime(registration: RuntimeRegistration): Promise<void> {
    return this.#parts.runtimes.register(registration);
  }

  beat(runtimeId: string): Promise<boolean> {
    return this.#parts.runtimes.beat(runtimeId);
  }

  listRuntimes(): Promise<readonly RuntimeRecord[]> {
    return this.#parts.runtimes.list();
  }

  expireRuntime(request: ExpireRequest): Promise<ExpireResult> {
    return this.#parts.runtimes.expire(request);
  }

  readLeases(runtimeId: string): Promise<HeldLeases> {
    return this.#parts.runtimes.leases(runtimeId);
  }

  recordLeaseCheck(check: LeaseCheckRecord): Promise<void> {
    return this.#parts.runtimes.recordCheck(check);
  }

  removeRuntime(runtimeId: string): Promise<void> {
    return this.#parts.runtimes.remove(runtimeId);
  }

  writeWithin(
    transaction: unknown,
    items: readonly (StartItem | SendItem)[],
  ): Promise<readonly CommitResult[]> {
    return this.#shared.writeWithin(transaction, items);
  }

  transact(work: Parameters<TransactionStore["transact"]>[0]): Promise<Transacted> {
    return this.#shared.transact(work);
  }

  subscribe(listener: NewsListener): () => void {
    return this.#parts.notifier.subscribe(listener);
  }

  async close(): Promise<void> {
    Committer.of(this).close(); // who waits for a commit is told, and asks no more
    this.#parts.notifier.close();
    await this.#hearts.stop();
    this.#shared.close();
    this.#connection.close();
  }

  #startHeart(options: HeartOptions, address: StoreAddress): Heart {
    this.#connection.assertOpen();
    return startHeart(this.#hearts, options, address);
  }
}
