// The provider on PostgreSQL: the storage contract, each call passed to the part that owns its subject.
//   S1. Every write is one transaction at READ COMMITTED; whoever decides by a row holds its lock.
//   S2. The store's clock is the server's; on an environment of one's own it is the environment's (I3).

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
import { isCloneable, startHeart, type StoreAddress } from "./heart.ts";
import type { InspectOptions, ServerInspection } from "./inspection.ts";
import { toOpenError } from "./errors.ts";
import { isPool, locationOf, type PostgresTarget } from "./location.ts";
import { settingsOf, type PostgresOptions } from "./options.ts";
import { assemble, type Parts } from "./parts.ts";
import { describeDurability, type Durability } from "./settings.ts";
import { Store } from "./store.ts";
import { Transfer } from "./transfer.ts";

interface OfStore {
  readonly durability: Durability;
  readonly readOnly: boolean;
}

/** A store in PostgreSQL, for many processes on many machines. */
export class PostgresProvider implements Provider {
  readonly name = "postgres";
  readonly transactions = "asynchronous";
  readonly durability: string;
  readonly environment: Environment;
  readonly isRemote = true;
  /** Absent where a thread could not connect by itself, or would have another clock. */
  readonly startHeart?: (options: HeartOptions) => Heart;
  readonly transfer: TransferStore;
  readonly #store: Store;
  readonly #connection: Connection;
  readonly #hearts: Hearts;
  readonly #parts: Parts;

  /** Opens the store in a database, by its URL, a configuration of `pg` or a pool of the caller's own. */
  static async open(
    target: PostgresTarget,
    options: PostgresOptions = {},
  ): Promise<PostgresProvider> {
    const { store, settings, schema } = await openStore(target, options);
    const { environment = systemEnvironment, answerMs, notifications, readOnly } = settings;
    const prepare = settings.prepare ?? notifications;
    const { pool, commit } = store;
    const how = { environment, schema, commit, prepare, answerMs, readOnly };
    const provider = new PostgresProvider(store, new Connection(pool, how), settings);
    try {
      await provider.peek({ owner: "" }); // its clock, and whether the tables may be read
      if (notifications && !store.isStandby) await provider.#parts.notifier.listen(store);
      return provider;
    } catch (error) {
      await provider.close();
      throw toOpenError(error);
    }
  }

  /** Makes the tables, or brings them up to date, for roles that may not; they open with `migrate: "verify"`. */
  static async migrate(target: PostgresTarget, options: PostgresOptions = {}): Promise<void> {
    const { store } = await openStore(target, { ...options, migrate: "apply", readOnly: false });
    await store.close();
  }

  private constructor(store: Store, connection: Connection, { durability, readOnly }: OfStore) {
    const { environment, schema } = connection;
    this.environment = environment;
    this.durability = describeDurability(durability, store.commit);
    this.#store = store;
    this.#connection = connection;
    this.#parts = assemble(connection, store.forSteps);
    const { arrivals, notifier } = this.#parts;
    // A hint like any other: who cannot follow it finds by polling what has arrived.
    notifier.whenArrived(() => void arrivals.bringAll().catch(() => undefined));
    this.transfer = new Transfer(connection, this.#parts.arrivals);
    this.#hearts = new Hearts(environment);
    // A session that shares its connections can neither listen nor keep statements: it polls from now on.
    connection.whenShared(() => notifier.stopListening());
    const { connecting } = store;
    if (connecting === null || readOnly || environment !== systemEnvironment) return;
    if (isCloneable(connecting.config)) {
      this.startHeart = (options) => this.#startHeart(options, { ...connecting, schema });
    }
  }

  /** How the server is set up, for a check-up such as `perdure doctor`. Needs no right beyond the store's own. */
  inspect(options: InspectOptions = {}): Promise<ServerInspection> {
    const { pool, connecting, forSteps } = this.#store;
    // On a pool of our own: besides it those of steps, the listener's and the heart's.
    const others = connecting === null ? 0 : forSteps.count + 2;
    return this.#parts.inspections.inspect(pool.options.max + others, options);
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
    return this.#parts.inbox.take(keys, messagesMax);
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
    return this.#parts.holds.renew(claims, leaseMs);
  }

  heartbeatTasks(heartbeats: readonly TaskHeartbeat[]): Promise<readonly TaskClaim[]> {
    return this.#parts.holds.heartbeat(heartbeats);
  }

  lostTasks(claims: readonly TaskClaim[]): Promise<readonly TaskClaim[]> {
    return this.#parts.holds.lost(claims);
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
    return this.#parts.instances.read(id);
  }

  readHistory(address: { key: number; execution: number }): Promise<readonly HistoryRow[]> {
    return this.#parts.history.read(address.key, address.execution);
  }

  readExecutions(key: number): Promise<readonly ExecutionRecord[]> {
    return this.#parts.history.readExecutions(key);
  }

  readTasks(address: Omit<TaskAddress, "sequence">): Promise<readonly TaskRecord[]> {
    return this.#parts.holds.read(address);
  }

  async readInbox(key: number): Promise<readonly Message[]> {
    if (!this.#connection.isReadOnly) await this.#parts.arrivals.settle();
    return this.#parts.inbox.read(key);
  }

  async readEvents(request: EventsRequest): Promise<EventsPage> {
    await this.#parts.arrivals.settle();
    return this.#parts.inbox.readEvents(request);
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
    return this.#parts.transactions.writeWithin(transaction, items);
  }

  transact(work: Parameters<TransactionStore["transact"]>[0]): Promise<Transacted> {
    return this.#parts.transactions.transact(work);
  }

  subscribe(listener: NewsListener): () => void {
    return this.#parts.notifier.subscribe(listener);
  }

  async close(): Promise<void> {
    Committer.of(this).close(); // who waits for a commit is told, and asks no more
    this.#parts.notifier.close();
    await this.#hearts.stop();
    this.#connection.close();
    await this.#store.close();
  }

  #startHeart(options: HeartOptions, address: StoreAddress): Heart {
    this.#connection.assertOpen();
    return startHeart(this.#hearts, options, address);
  }
}

async function openStore(target: PostgresTarget, options: PostgresOptions) {
  const location = isPool(target) ? target : locationOf(target);
  const ofAddress = "config" in location ? location.options : {};
  const { settings, schema } = settingsOf(options, ofAddress);
  const store = await Store.open(location, { ...settings, name: settings.schema, schema });
  return { store, settings, schema };
}
