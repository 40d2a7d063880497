// SQL provider: the storage contract on a SQL database, as both stores implement it.
//   - A call goes to a script, or to the object of the store that owns its subject (`SqlParts`).

import { Committer } from "../core/commit/committer.ts";
import type { DeletedEnded } from "../core/provider/admin.ts";
import type { CommitItem, CommitResult } from "../core/provider/commit.ts";
import type { ExpiredRecord, KeptRecords, KeptRequest } from "../core/provider/kept.ts";
import type { EventsPage, EventsRequest, Message } from "../core/provider/messages.ts";
import type { Provider } from "../core/provider/provider.ts";
import type {
  LeaseCheckRecord,
  NextDue,
  NextDueRequest,
  RuntimeRegistration,
} from "../core/provider/runtimes.ts";
import type { TransactionStore } from "../core/provider/transactions.ts";
import type { TransferStore } from "../core/provider/transfer.ts";
import type { Environment } from "../core/time/environment.ts";
import {
  deleteEnded,
  deleteExpired,
  deleteInstance,
  hasExpired,
  NOTHING,
} from "./admin/deletion.ts";
import { pruneExecutions } from "./admin/pruning.ts";
import { claimSweep } from "./admin/sweep-claim.ts";
import { expireKept, hasExpired as hasExpiredMessages } from "./admin/kept-expiry.ts";
import {
  changesQueues,
  declareQueues,
  pauseQueue,
  readQueueStates,
  resumeQueue,
} from "./lease/queues.ts";
import {
  expireRuntime,
  heartbeat,
  leaseCheck,
  listRuntimes,
  readLeases,
  registration,
  removeRuntime,
} from "./lease/runtimes.ts";
import {
  listSessions,
  releaseSessions,
  SESSION_CLEANUP,
  sessionRenewal,
} from "./lease/sessions.ts";
import type { StoreParts } from "./parts.ts";
import { readAsks } from "./read/asks.ts";
import { readExecutions, readHistory } from "./read/history.ts";
import { readEvents, readInbox } from "./read/inbox.ts";
import { readKept } from "./read/kept.ts";
import { readStoreId } from "./read/store-id.ts";
import { readKeyValue, readKeyValues } from "./read/key-values.ts";
import {
  countInstances,
  findInstances,
  listChildren,
  listInstances,
  type ListingParts,
} from "./read/listing.ts";
import { adjustAdmissions } from "./lease/queue-loads.ts";
import { nextDue } from "./read/next-due.ts";
import { readQueueFigures, readQueueKeys, reportOutcomes } from "./read/queue-figures.ts";
import { countByName, readMetrics } from "./read/metrics.ts";
import { readStatistics } from "./read/statistics.ts";
import { listStreams, readStream } from "./read/streams.ts";
import { readQueues, readTasks } from "./read/tasks.ts";
import { readLoads, readWaiting } from "./read/waiting.ts";
import { readWaits } from "./read/waits.ts";
import type { Scope } from "./script/scope.ts";
import type { ScriptStore } from "./script/store.ts";
import { settle } from "./write/outcome-recovery.ts";
import type { RareWriters } from "./write/rare-items.ts";

/** The objects of a store that answer the calls which it writes itself. */
export interface SqlParts<S extends Scope> extends RareWriters<S> {
  readonly scripts: ScriptStore<S>;
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
  readonly listing: ListingParts;
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
  readonly #store: SqlParts<S>;
  readonly #scripts: ScriptStore<S>;
  readonly #parts: StoreParts<S>;

  constructor(store: SqlParts<S>) {
    this.#store = store;
    this.#scripts = store.scripts;
    this.#parts = store.parts;
  }

  abstract now(): number;

  commit: Provider["commit"] = (items, onWritten) =>
    this.#store.groupCommit.commit(items, onWritten);

  settle(item: CommitItem): Promise<CommitResult | null> {
    return this.#scripts.read(() => settle(item, this.#parts));
  }

  storeId: Provider["storeId"] = () => this.#scripts.read(readStoreId);

  leaseInstances: Provider["leaseInstances"] = (request) => this.#store.leases.lease(request);

  takeMessages: Provider["takeMessages"] = (keys, messagesMax) =>
    this.#store.inbox.take(keys, messagesMax);

  renewInstances: Provider["renewInstances"] = (leases, leaseMs) =>
    this.#store.leases.renew(leases, leaseMs);

  leaseTasks: Provider["leaseTasks"] = (request) => this.#store.taskQueue.lease(request);

  renewTasks: Provider["renewTasks"] = (claims, leaseMs) =>
    this.#store.taskRenewal.renew(claims, leaseMs);

  heartbeatTasks: Provider["heartbeatTasks"] = (heartbeats) =>
    this.#store.taskRenewal.heartbeat(heartbeats);

  lostTasks: Provider["lostTasks"] = (claims) => this.#store.taskRenewal.lost(claims);

  renewSessions: Provider["renewSessions"] = (request) =>
    this.#scripts.writeOnce(sessionRenewal(request));

  releaseSessions: Provider["releaseSessions"] = (owner) =>
    this.#scripts.write((scope) => releaseSessions(owner, scope));

  cleanSessions: Provider["cleanSessions"] = () => this.#scripts.writeOnce(SESSION_CLEANUP);

  listSessions: Provider["listSessions"] = () => this.#scripts.read(listSessions);

  readInstance: Provider["readInstance"] = (id) => this.#store.instances.read(id);

  readHistory: Provider["readHistory"] = (request) =>
    this.#scripts.read(() => readHistory(request));

  readExecutions: Provider["readExecutions"] = (key) =>
    this.#scripts.read(() => readExecutions(key));

  readTasks: Provider["readTasks"] = (address) => this.#scripts.read(() => readTasks(address));

  readInbox(key: number): Promise<readonly Message[]> {
    return this.#scripts.read(() => readInbox(key, this.#parts));
  }

  readEvents(request: EventsRequest): Promise<EventsPage> {
    return this.#scripts.read(() => readEvents(request, this.#parts));
  }

  readAsks: Provider["readAsks"] = (id, requestIds) =>
    this.#scripts.read(() => readAsks(id, requestIds));

  readKeyValue: Provider["readKeyValue"] = (id, key) =>
    this.#scripts.read(() => readKeyValue(id, key));

  readKeyValues: Provider["readKeyValues"] = (id) => this.#scripts.read(() => readKeyValues(id));

  readStream: Provider["readStream"] = (request) => this.#scripts.read(() => readStream(request));

  listStreams: Provider["listStreams"] = (id) => this.#scripts.read(() => listStreams(id));

  readKept(request: KeptRequest): Promise<KeptRecords> {
    return this.#scripts.read(() => readKept(request, this.#parts));
  }

  async expireKept(limit: number): Promise<readonly ExpiredRecord[]> {
    if (!(await this.#scripts.read(hasExpiredMessages))) return [];
    return this.#scripts.write(() => expireKept(limit, this.#parts));
  }

  listInstances: Provider["listInstances"] = (request) =>
    this.#scripts.read(() => listInstances(request, this.#store.listing), "survey");

  findInstances: Provider["findInstances"] = (request) =>
    this.#scripts.read(() => findInstances(request, this.#store.listing), "survey");

  countInstances: Provider["countInstances"] = (filter) =>
    this.#scripts.read(() => countInstances(filter, this.#store.listing), "survey");

  readWaits: Provider["readWaits"] = (keys) => this.#scripts.read(() => readWaits(keys));

  countByName: Provider["countByName"] = () => this.#scripts.read(countByName);

  listChildren: Provider["listChildren"] = (id) =>
    this.#scripts.read(() => listChildren(id, this.#store.listing));

  deleteInstance: Provider["deleteInstance"] = (request) =>
    this.#scripts.write((scope) => deleteInstance(request, scope, this.#store));

  deleteEnded: Provider["deleteEnded"] = (request) =>
    this.#scripts.write((scope) => deleteEnded(request, scope, this.#parts.statements));

  async deleteExpired(request: Parameters<Provider["deleteExpired"]>[0]): Promise<DeletedEnded> {
    if (!(await this.#scripts.read(hasExpired))) return { ...NOTHING, cursor: null };
    return this.#scripts.write((scope) => deleteExpired(request, scope, this.#parts.statements));
  }

  claimSweep: Provider["claimSweep"] = (claim) =>
    this.#scripts.write((scope) => claimSweep(claim, scope));

  pruneExecutions: Provider["pruneExecutions"] = (request) =>
    this.#scripts.write(() => pruneExecutions(request));

  readMetrics: Provider["readMetrics"] = () =>
    this.#scripts.read(() => readMetrics(this.#parts.statements), "survey");

  readWaiting: Provider["readWaiting"] = () =>
    this.#scripts.read(() => readWaiting(this.#parts.statements));

  readLoads: Provider["readLoads"] = () => this.#scripts.read(readLoads, "survey");

  readQueues: Provider["readQueues"] = () => this.#scripts.read(readQueues, "survey");

  declareQueues: Provider["declareQueues"] = async (runtimeId, declarations) => {
    if (!(await this.#scripts.read(() => changesQueues(declarations)))) return [];
    return this.#scripts.write((scope) => declareQueues(runtimeId, declarations, scope));
  };

  readQueueStates: Provider["readQueueStates"] = () => this.#scripts.read(readQueueStates);

  pauseQueue: Provider["pauseQueue"] = (name, info) =>
    this.#scripts.write(() => pauseQueue(name, info));

  resumeQueue: Provider["resumeQueue"] = (name) =>
    this.#scripts.write((scope) => resumeQueue(name, scope));

  adjustAdmissions: Provider["adjustAdmissions"] = async (admissions) => {
    if (admissions.length === 0) return;
    await this.#scripts.write((scope) => adjustAdmissions(admissions, scope));
  };

  reportOutcomes: Provider["reportOutcomes"] = async (outcomes) => {
    if (outcomes.length === 0) return;
    await this.#scripts.write(({ now }) => reportOutcomes(outcomes, now));
  };

  readQueueFigures: Provider["readQueueFigures"] = () =>
    this.#scripts.read(() => readQueueFigures(this.#parts.statements), "survey");

  readQueueKeys: Provider["readQueueKeys"] = (name, limit) =>
    this.#scripts.read(() => readQueueKeys(name, limit), "survey");

  readStatistics: Provider["readStatistics"] = (key) =>
    this.#scripts.read(() => readStatistics(key));

  peek: Provider["peek"] = (request) => this.#store.hasWork.read(request);

  nextDue(request: NextDueRequest): Promise<NextDue> {
    return this.#scripts.read(() => nextDue(request, this.#parts.statements));
  }

  async registerRuntime(registered: RuntimeRegistration): Promise<void> {
    await this.#scripts.writeOnce(registration(registered));
  }

  beat: Provider["beat"] = async (id) => (await this.#scripts.writeOnce(heartbeat(id))) > 0;

  listRuntimes: Provider["listRuntimes"] = () => this.#scripts.read(listRuntimes);

  expireRuntime: Provider["expireRuntime"] = (request) =>
    this.#scripts.writeWithout(request.id, (scope) => expireRuntime(request, scope, this.#parts));

  readLeases: Provider["readLeases"] = (id) => this.#scripts.read(() => readLeases(id), "survey");

  async recordLeaseCheck(check: LeaseCheckRecord): Promise<void> {
    await this.#scripts.writeOnce(leaseCheck(check));
  }

  removeRuntime: Provider["removeRuntime"] = (id) =>
    this.#scripts.writeWithout(id, (scope) => removeRuntime(id, scope, this.#parts));

  writeWithin: TransactionStore["writeWithin"] = (transaction, items) =>
    this.#store.transactions.writeWithin(transaction, items);

  transact: TransactionStore["transact"] = (work) => this.#store.transactions.transact(work);

  subscribe: Provider["subscribe"] = (listener) => this.#store.notifier.subscribe(listener);

  /** Rejects calls that wait for a commit, and stops notifications. A store then closes the rest. */
  async close(): Promise<void> {
    Committer.of(this).close();
    this.#store.notifier.close();
  }
}
