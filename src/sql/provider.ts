// SQL provider: the storage contract on a SQL database, as both stores implement it.
//   - A call goes to a script, or to the object of the store that owns its subject (`SqlParts`).

import { Committer } from "../core/commit/committer.ts";
import type { HistoryRow } from "../core/history/rows.ts";
import type {
  DeletedEnded,
  DeleteEndedRequest,
  DeleteResult,
  FoundPage,
  InstanceFilter,
  InstancePage,
  InstanceStatistics,
  ListRequest,
  LoadRecord,
  PruneRequest,
  QueueRecord,
  Removed,
  StoreMetrics,
  SweepClaim,
  WaitingRecord,
} from "../core/provider/admin.ts";
import type { CommitItem, CommitResult } from "../core/provider/commit.ts";
import type {
  ExecutionRecord,
  HistoryRequest,
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
  RuntimeRecord,
  RuntimeRegistration,
  WorkSummary,
  WorkSummaryRequest,
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
import type { Environment } from "../core/time/environment.ts";
import { Deletions } from "./admin/deletion.ts";
import { pruneExecutions } from "./admin/pruning.ts";
import { claimSweep } from "./admin/sweep-claim.ts";
import { Runtimes } from "./lease/runtimes.ts";
import { SessionLeases } from "./lease/sessions.ts";
import type { StoreParts } from "./parts.ts";
import { readExecutions, readHistory } from "./read/history.ts";
import { InboxReads } from "./read/inbox.ts";
import { readKeyValue, readKeyValues } from "./read/key-values.ts";
import { readMetrics } from "./read/metrics.ts";
import { readStatistics } from "./read/statistics.ts";
import { readQueues, readTasks } from "./read/tasks.ts";
import { readLoads, readWaiting } from "./read/waiting.ts";
import type { Scope } from "./script/scope.ts";
import type { ScriptStore } from "./script/store.ts";
import { OutcomeRecovery } from "./write/outcome-recovery.ts";
import type { Terminations } from "./write/termination.ts";

/** The objects of a store that answer the calls which it writes itself. */
export interface SqlParts<S extends Scope> {
  readonly scripts: ScriptStore<S>;
  readonly parts: StoreParts<S>;
  readonly terminations: Terminations<S>;
  readonly groupCommit: Pick<Provider, "commit">;
  readonly leases: {
    readonly lease: Provider["leaseInstances"];
    readonly renew: Provider["renewInstances"];
  };
  readonly inbox: { readonly take: Provider["takeMessages"] };
  readonly instances: { readonly read: Provider["readInstance"] };
  readonly taskQueue: { readonly lease: Provider["leaseTasks"] };
  readonly taskRenewal: {
    readonly renew: Provider["renewTasks"];
    readonly heartbeat: Provider["heartbeatTasks"];
    readonly lost: Provider["lostTasks"];
  };
  readonly listing: {
    readonly list: Provider["listInstances"];
    readonly find: Provider["findInstances"];
    readonly count: Provider["countInstances"];
    readonly children: Provider["listChildren"];
  };
  readonly hasWork: { readonly read: Provider["peek"] };
  readonly transactions: Pick<TransactionStore, "writeWithin" | "transact">;
  readonly notifier: Pick<Provider, "subscribe"> & { close(): void };
}

export abstract class SqlProvider<S extends Scope> implements Provider, TransactionStore {
  abstract readonly name: string;
  abstract readonly transactions: TransactionStore["transactions"];
  abstract readonly durability: string;
  abstract readonly environment: Environment;
  abstract readonly transfer: TransferStore;
  readonly #parts: SqlParts<S>;
  readonly #scripts: ScriptStore<S>;
  readonly #recovery: OutcomeRecovery;
  readonly #inboxReads: InboxReads;
  readonly #runtimes: Runtimes<S>;
  readonly #sessions: SessionLeases<S>;
  readonly #deletions: Deletions<S>;

  constructor(parts: SqlParts<S>) {
    this.#parts = parts;
    this.#scripts = parts.scripts;
    this.#recovery = new OutcomeRecovery(parts.parts);
    this.#inboxReads = new InboxReads(parts.parts);
    this.#runtimes = new Runtimes(parts.scripts, parts.parts);
    this.#sessions = new SessionLeases(parts.scripts);
    this.#deletions = new Deletions(parts.parts, parts.terminations);
  }

  abstract now(): number;

  commit(items: readonly CommitItem[], onWritten?: () => void): Promise<readonly CommitResult[]> {
    return this.#parts.groupCommit.commit(items, onWritten);
  }

  settle(item: CommitItem): Promise<CommitResult | null> {
    return this.#scripts.read(() => this.#recovery.settle(item));
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
    return this.#parts.taskQueue.lease(request);
  }

  renewTasks(claims: readonly TaskClaim[], leaseMs: number): Promise<readonly TaskClaim[]> {
    return this.#parts.taskRenewal.renew(claims, leaseMs);
  }

  heartbeatTasks(heartbeats: readonly TaskHeartbeat[]): Promise<readonly TaskClaim[]> {
    return this.#parts.taskRenewal.heartbeat(heartbeats);
  }

  lostTasks(claims: readonly TaskClaim[]): Promise<readonly TaskClaim[]> {
    return this.#parts.taskRenewal.lost(claims);
  }

  renewSessions(request: { owner: string; leaseMs: number; idleMs: number }): Promise<number> {
    return this.#sessions.renew(request);
  }

  releaseSessions(owner: string): Promise<void> {
    return this.#sessions.release(owner);
  }

  cleanSessions(): Promise<number> {
    return this.#sessions.clean();
  }

  listSessions(): Promise<readonly SessionRecord[]> {
    return this.#sessions.list();
  }

  readInstance(id: string): Promise<InstanceRecord | null> {
    return this.#parts.instances.read(id);
  }

  readHistory(request: HistoryRequest): Promise<readonly HistoryRow[]> {
    return this.#scripts.read(() => readHistory(request));
  }

  readExecutions(key: number): Promise<readonly ExecutionRecord[]> {
    return this.#scripts.read(() => readExecutions(key));
  }

  readTasks(address: Omit<TaskAddress, "sequence">): Promise<readonly TaskRecord[]> {
    return this.#scripts.read(() => readTasks(address));
  }

  readInbox(key: number): Promise<readonly Message[]> {
    return this.#scripts.read(() => this.#inboxReads.read(key));
  }

  readEvents(request: EventsRequest): Promise<EventsPage> {
    return this.#scripts.read(() => this.#inboxReads.readEvents(request));
  }

  readKeyValue(id: string, key: string): Promise<KeyValueRecord | null> {
    return this.#scripts.read(() => readKeyValue(id, key));
  }

  readKeyValues(id: string): Promise<readonly KeyValueRecord[]> {
    return this.#scripts.read(() => readKeyValues(id));
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
    return this.#scripts.write((scope) => this.#deletions.delete(request, scope));
  }

  deleteEnded(request: DeleteEndedRequest): Promise<DeletedEnded> {
    return this.#scripts.write((scope) => this.#deletions.deleteEnded(request, scope));
  }

  claimSweep(claim: SweepClaim): Promise<number | null> {
    return this.#scripts.write((scope) => claimSweep(claim, scope));
  }

  pruneExecutions(request: PruneRequest): Promise<Removed | null> {
    return this.#scripts.write(() => pruneExecutions(request));
  }

  readMetrics(): Promise<StoreMetrics> {
    return this.#scripts.read(() => readMetrics(this.#parts.parts.statements), "survey");
  }

  readWaiting(): Promise<readonly WaitingRecord[]> {
    return this.#scripts.read(() => readWaiting(this.#parts.parts.statements));
  }

  readLoads(): Promise<readonly LoadRecord[]> {
    return this.#scripts.read(readLoads, "survey");
  }

  readQueues(): Promise<readonly QueueRecord[]> {
    return this.#scripts.read(readQueues, "survey");
  }

  readStatistics(key: number): Promise<InstanceStatistics> {
    return this.#scripts.read(() => readStatistics(key));
  }

  peek(request: WorkSummaryRequest): Promise<WorkSummary> {
    return this.#parts.hasWork.read(request);
  }

  registerRuntime(registration: RuntimeRegistration): Promise<void> {
    return this.#runtimes.register(registration);
  }

  beat(runtimeId: string): Promise<boolean> {
    return this.#runtimes.beat(runtimeId);
  }

  listRuntimes(): Promise<readonly RuntimeRecord[]> {
    return this.#runtimes.list();
  }

  expireRuntime(request: ExpireRequest): Promise<ExpireResult> {
    return this.#runtimes.expire(request);
  }

  readLeases(runtimeId: string): Promise<HeldLeases> {
    return this.#runtimes.leases(runtimeId);
  }

  recordLeaseCheck(check: LeaseCheckRecord): Promise<void> {
    return this.#runtimes.recordCheck(check);
  }

  removeRuntime(runtimeId: string): Promise<void> {
    return this.#runtimes.remove(runtimeId);
  }

  writeWithin(
    ...call: Parameters<TransactionStore["writeWithin"]>
  ): Promise<readonly CommitResult[]> {
    return this.#parts.transactions.writeWithin(...call);
  }

  transact(work: Parameters<TransactionStore["transact"]>[0]): Promise<Transacted> {
    return this.#parts.transactions.transact(work);
  }

  subscribe(listener: NewsListener): () => void {
    return this.#parts.notifier.subscribe(listener);
  }

  /** Rejects calls that wait for a commit, and stops notifications. A store then closes the rest. */
  async close(): Promise<void> {
    Committer.of(this).close();
    this.#parts.notifier.close();
  }
}
