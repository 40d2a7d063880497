// The client: starts instances, returns handles, and administers the store. It needs no registered code, so
// any process may use one.
//   - Invalid input raises an error with a code before anything is written.
//   - When a call returns, its effect is durable (P1).

import { defaultCodec, type Codec } from "../core/values/codec.ts";
import { type Orchestration } from "../core/define/definitions.ts";
import type { Duration } from "../core/time/duration.ts";
import { limitedCodec } from "../core/values/limited-codec.ts";
import { resolveLimits, type Limits } from "../core/values/limits.ts";
import { parseInstanceReference } from "../core/ids/ids.ts";
import type { CallbackSettings } from "../core/define/callback.ts";
import { checkEntity, type EntityDef } from "../core/define/entity.ts";
import type { AnyRequest } from "../core/define/request.ts";
import { layersOf, type Middleware } from "../core/middleware/middleware.ts";
import type { Removed } from "../core/provider/admin.ts";
import type { Provider } from "../core/provider/provider.ts";
import { checkMembers, type Members } from "../core/checks.ts";
import { parseKeepFor } from "../core/time/keep-for.ts";
import { safeTelemetry } from "../core/telemetry/safe-telemetry.ts";
import type { Telemetry } from "../core/telemetry/telemetry.ts";
import type {
  ActivityInput,
  ActivityOutput,
  AskArguments,
  EnqueueArguments,
  InputHint,
  NotFunction,
  OrchestrationArguments,
  OrchestrationInput,
  OrchestrationNodes,
  OrchestrationOutput,
  RequestOutput,
} from "../core/context/types.ts";
import {
  countBy,
  countInstances,
  deleteInstance,
  findInstances,
  listInstances,
  listRuntimes,
  pruneInstance,
  type CountsOptions,
  type InstanceCount,
  type InstanceList,
  type ListOptions,
  type ListQuery,
  type PruneOptions,
  type RuntimeInfo,
} from "./admin.ts";
import { askInstance } from "./calls/ask.ts";
import type { RaiseOptions } from "./calls/raise.ts";
import { startInstance } from "./calls/start.ts";
import {
  ClientCallbacks,
  type CompleteOptions,
  type CompleteResult,
  type TokenInfo,
} from "./callbacks/complete.ts";
import type { ClientAskOptions } from "./calls/ask-start.ts";
import type { BulkReport } from "./bulk/apply.ts";
import {
  cancelMany,
  pauseMany,
  raiseMany,
  restartMany,
  resumeMany,
  type ControlManyOptions,
  type RaiseManyOptions,
  type RestartManyOptions,
} from "./bulk/control-many.ts";
import {
  deleteMany,
  pruneMany,
  type PruneManyOptions,
  type RemovedMany,
} from "./bulk/remove-many.ts";
import { rewindMany, type RewindManyOptions } from "./bulk/rewind-many.ts";
import type { BulkFilter, BulkOptions } from "./bulk/selection.ts";
import { startMany, type StartManyItem, type StartManyOptions } from "./bulk/start-many.ts";
import { checkFork, forkInstance, type ForkOptions } from "./repair/fork.ts";
import { enqueueJob } from "./jobs/enqueue.ts";
import {
  enqueueMany,
  type EnqueueItemOptions,
  type EnqueueManyOptions,
} from "./jobs/enqueue-many.ts";
import type { AnyJob, EnqueueOptions } from "./jobs/job-item.ts";
import { Handle } from "./handle.ts";
import { readKept, type KeptOptions, type KeptPage } from "./inspect/kept.ts";
import type { ListFilter } from "./list-filter.ts";
import type { StartOptions } from "./start-item.ts";
import { Store } from "./store.ts";
import { readMetrics, type Metrics } from "./inspect/unclaimed.ts";
import { pauseQueue, resumeQueue, type PauseQueueOptions } from "./queues/pause-queue.ts";
import { readQueue, readQueues, type QueueDetail, type QueueInfo } from "./queues/read-queues.ts";
import { retryFailed, type RetryFailedOptions } from "./queues/retry-failed.ts";

/** Options of a client. */
export interface ClientOptions {
  /** Encodes values as text. Must be the codec of the runtimes on this store. */
  readonly codec?: Codec;
  /** Receives a span for every start and every request. Null or absent: no telemetry. */
  readonly telemetry?: Telemetry | null;
  /** `payloadBytesMax` limits inputs and event data. */
  readonly limits?: Partial<Limits>;
  /** How long `raise` with `ifMissing: "keep"` keeps an event. Default seven days. */
  readonly keepFor?: Duration;
  /** Functions around `start`, `enqueue`, `raise` and `ask`. The first one is the outermost. */
  readonly middleware?: readonly Middleware[];
  /** The secrets that sign the tokens of callbacks. Without them, `complete`, `fail` and `heartbeat` reject. */
  readonly callbacks?: CallbackSettings;
}

const CLIENT_OPTIONS: Members<ClientOptions> = {
  codec: true,
  telemetry: true,
  limits: true,
  keepFor: true,
  middleware: true,
  callbacks: true,
};
const IDS_OPTIONS = { limit: true } as const;

declare module "../core/context/activity-context.ts" {
  interface LinkedTypes {
    readonly client: Client;
  }
}

/** Starts instances, finds them and administers the store. It needs no registered code and no runtime. */
export class Client {
  readonly #store: Store;
  readonly #callbacks: ClientCallbacks;
  readonly #options: ClientOptions;

  constructor(provider: Provider, options: ClientOptions = {}) {
    checkMembers(options, CLIENT_OPTIONS, "a client");
    const limits = resolveLimits(options.limits);
    const { telemetry = null } = options;
    const codec = limitedCodec(options.codec ?? defaultCodec, limits);
    this.#store = new Store(provider, codec, {
      telemetry: telemetry === null ? null : safeTelemetry(telemetry),
      keepForMs: parseKeepFor(options.keepFor),
      layers: layersOf(options.middleware),
    });
    this.#callbacks = new ClientCallbacks(this.#store, options.callbacks);
    this.#options = options;
  }

  /** A client on the same store whose calls pass no middleware. */
  withoutMiddleware(): Client {
    return new Client(this.provider, { ...this.#options, middleware: [] });
  }

  /** The store that the client uses. */
  get provider(): Provider {
    return this.#store.provider;
  }
  /** The client's codec, with the client's limits applied. */
  get codec(): Codec {
    return this.#store.codec;
  }

  /** The client's telemetry, whose errors are ignored. Null: none. */
  get telemetry(): Telemetry | null {
    return this.#store.telemetry;
  }
  /** Whether the client has the secrets of callbacks. */
  get hasCallbacks(): boolean {
    return this.#callbacks.isConfigured;
  }

  /** Starts an instance. When the call returns, the instance is durable and will run. */
  async start<
    C extends Orchestration<never, unknown> | string,
    I extends NotFunction<I, InputHint>,
  >(
    target: C,
    ...rest: OrchestrationArguments<C, I, StartOptions>
  ): Promise<Handle<OrchestrationOutput<C>, OrchestrationNodes<C>>> {
    const [input, options = {}]: [input?: unknown, options?: StartOptions] = rest;
    const { id, expected, local } = await startInstance(this.#store, target, input, options);
    return new Handle(this.#store, id, expected, local);
  }

  /**
   * Enqueues a job: an instance that runs one activity. When the call returns, the job is durable and will run. The handle
   * leads to the run for this call, which `unique`, `debounce` and `throttle` may share with other calls.
   */
  async enqueue<J extends AnyJob, I extends NotFunction<I, InputHint>>(
    target: J,
    ...rest: EnqueueArguments<J, I, EnqueueOptions>
  ): Promise<Handle<ActivityOutput<J>>> {
    const [input, options = {}]: [input?: unknown, options?: EnqueueOptions] = rest;
    const { id, local } = await enqueueJob(this.#store, target, input, options);
    return new Handle(this.#store, id, null, local);
  }
  /**
   * Enqueues many jobs in chunks of 1,000, each chunk completely or not at all. An item is an input, or `{ input, …options
   * }`. All items are checked first. Returns the ids of the instances.
   */
  enqueueMany<J extends AnyJob>(
    target: J,
    items: Iterable<ActivityInput<J> | ({ readonly input: ActivityInput<J> } & EnqueueItemOptions)>,
    options: EnqueueManyOptions = {},
  ): Promise<readonly string[]> {
    return enqueueMany(this.#store, target, items, options);
  }

  /**
   * Starts many instances of one orchestration in chunks of 1,000, each chunk completely or not at all. All items are
   * checked first. Returns the ids of the instances.
   */
  startMany<C extends Orchestration<never, unknown> | string>(
    target: C,
    items: Iterable<StartManyItem<OrchestrationInput<C>>>,
    options: StartManyOptions = {},
  ): Promise<readonly string[]> {
    return startMany(this.#store, target, items, options);
  }

  /** Returns a handle without reading the store: the instance need not exist. */
  get<I, O, Nodes>(orchestration: Orchestration<I, O, Nodes>, id: string): Handle<O, Nodes>;
  get(id: string): Handle;
  get(first: Orchestration<never, unknown> | string, id?: string): Handle {
    const reference = parseInstanceReference(typeof first === "string" ? first : id);
    return new Handle(this.#store, reference, typeof first === "string" ? null : first);
  }

  /**
   * Asks an instance and waits for its answer. With `start`, the instance is started in the same commit if it does
   * not exist.
   */
  async ask<C extends Orchestration<never, unknown> | string, R extends AnyRequest | string>(
    target: C,
    id: string,
    request: R,
    ...rest: AskArguments<R, ClientAskOptions<C>>
  ): Promise<RequestOutput<R>> {
    const [input, options = {}]: [input?: unknown, options?: ClientAskOptions<C>] = rest;
    const answer = await askInstance(this.#store, { id, request, input, options, target });
    return answer as RequestOutput<R>; // The type comes from the definition of the request.
  }

  /** The entity with this key: its handlers and its reads. It need not exist: the first call starts it. */
  entity<Calls>(entity: EntityDef<Calls, unknown>, key: string): Calls {
    checkEntity(entity, "client.entity");
    return entity.fromClient(this, key);
  }

  /** Sends an event. With `ifMissing: "keep"` the instance need not exist yet. */
  async raise(id: string, event: string, data?: unknown, options?: RaiseOptions): Promise<void> {
    await this.get(id).raise(event, data, options);
  }

  /**
   * Completes a callback of `ctx.callback`, or an activity that called `completeLater`. A repeated call changes nothing.
   * Rejects with `TOKEN_INVALID`, with `CALLBACK_CLOSED` if nothing waits any more, and with `INVALID_ARGUMENT` if the
   * schema refuses the value. "accepted": the schema is not known here, so the receiver checks the value.
   */
  complete(token: string, value?: unknown, options?: CompleteOptions): Promise<CompleteResult> {
    return this.#callbacks.complete(token, value, options);
  }
  /**
   * Ends the attempt of an activity that called `completeLater` with a failure; its retry policy decides what follows.
   * A call for an earlier attempt changes nothing.
   */
  fail(token: string, error: unknown): Promise<void> {
    return this.#callbacks.fail(token, error);
  }
  /** Reports that the work of an activity that called `completeLater` goes on, for its `heartbeatTimeout`. */
  heartbeat(token: string): Promise<void> {
    return this.#callbacks.heartbeat(token);
  }
  /** What a token says. Checks only its signature; throws `TOKEN_INVALID`. */
  readToken(token: string): TokenInfo {
    return this.#callbacks.read(token);
  }
  /** What a token says. Checks its signature and that this store issued it; rejects with `TOKEN_INVALID`. */
  checkToken(token: string): Promise<TokenInfo> {
    return this.#callbacks.check(token);
  }

  /** One page of the events that wait for instances that do not exist yet, and of expired ones, oldest first. */
  kept(options: KeptOptions = {}): Promise<KeptPage> {
    return readKept(this.#store, options);
  }

  /** One page of the instances that match. Default order: newest first. The options can be part of the query. */
  async list(query: ListQuery = {}, options: ListOptions = {}): Promise<InstanceList> {
    return listInstances(this.#store, query, options);
  }
  /** How many instances there are by status, by name, or by both. Exact, and it reads no instance. */
  async counts(options: CountsOptions = {}): Promise<readonly InstanceCount[]> {
    return countBy(this.#store, options);
  }
  /** The ids of all instances that match, oldest first. Reads one page at a time. */
  async *ids(
    filter: ListFilter = {},
    options: { readonly limit?: number } = {},
  ): AsyncGenerator<string, void, undefined> {
    checkMembers(options, IDS_OPTIONS, "client.ids");
    for await (const { id } of findInstances(this.#store, filter, options.limit)) yield id;
  }
  async count(filter: ListFilter = {}): Promise<number> {
    return countInstances(this.#store, filter);
  }

  /** Deletes an ended instance with its descendants. `force`: also running ones. */
  async delete(id: string, options: { readonly force?: boolean } = {}): Promise<Removed> {
    return deleteInstance(this.#store, parseInstanceReference(id), options);
  }
  /** Deletes the ended instances that match, each with its descendants. Children of live instances are refused. */
  deleteMany(filter: BulkFilter, options: BulkOptions = {}): Promise<RemovedMany> {
    return deleteMany(this.#store, filter, options);
  }
  /** Removes old executions of an instance, never the newest. */
  async prune(id: string, options: PruneOptions = {}): Promise<Removed> {
    return pruneInstance(this.#store, parseInstanceReference(id), options);
  }
  pruneMany(filter: BulkFilter, options: PruneManyOptions = {}): Promise<RemovedMany> {
    return pruneMany(this.#store, filter, options);
  }

  /** Creates a new instance with a copy of another instance's history up to a given event. */
  async fork(id: string, options: ForkOptions): Promise<Handle> {
    checkFork(options);
    return new Handle(this.#store, await forkInstance(this.#store, this.#callbacks, id, options));
  }
  /**
   * Rewinds the instances that match, as `handle.rewind` does. Without a status in the filter: the failed ones. Each
   * instance succeeds or is refused alone.
   */
  rewindMany(filter: BulkFilter, options: RewindManyOptions): Promise<BulkReport> {
    return rewindMany(this.#store, filter, options);
  }
  /** Restarts the ended instances that match, as `handle.restart` does: completed work is repeated. */
  restartMany(filter: BulkFilter, options: RestartManyOptions = {}): Promise<BulkReport> {
    return restartMany(this.#store, filter, options);
  }
  cancelMany(filter: BulkFilter, options: ControlManyOptions = {}): Promise<BulkReport> {
    return cancelMany(this.#store, filter, options);
  }
  pauseMany(filter: BulkFilter, options: ControlManyOptions = {}): Promise<BulkReport> {
    return pauseMany(this.#store, filter, options);
  }
  resumeMany(filter: BulkFilter, options: BulkOptions = {}): Promise<BulkReport> {
    return resumeMany(this.#store, filter, options);
  }
  /** Sends an event to the live instances that match. */
  raiseMany(
    filter: BulkFilter,
    event: string,
    data?: unknown,
    options: RaiseManyOptions = {},
  ): Promise<BulkReport> {
    return raiseMany(this.#store, filter, event, data, options);
  }

  /** Counts for the whole store, and the work that no running worker accepts. */
  metrics(): Promise<Metrics> {
    return readMetrics(this.#store);
  }
  /** The queues that have tasks, recent outcomes, failed jobs, a limit or a pause, ordered by name. */
  queues(): Promise<readonly QueueInfo[]> {
    return readQueues(this.#store);
  }
  /** One queue, with the keys that have the most waiting tasks. Without tasks its figures are 0. */
  queue(name: string): Promise<QueueDetail> {
    return readQueue(this.#store, name);
  }
  /** Pauses a queue, on all workers: running attempts go on, and no other attempt begins. The first pause counts. */
  pauseQueue(name: string, options: PauseQueueOptions = {}): Promise<void> {
    return pauseQueue(this.#store, name, options);
  }
  resumeQueue(name: string): Promise<void> {
    return resumeQueue(this.#store, name);
  }
  /**
   * Retries the failed jobs of a name, the oldest first. The activity of each runs again from its first attempt, with the
   * same input and the same idempotency key. Like `rewindMany` to the failure.
   */
  retryFailed(name: string, options: RetryFailedOptions = {}): Promise<BulkReport> {
    return retryFailed(this.#store, name, options);
  }
  /** The live runtimes: their registered code, their load and their last heartbeat. */
  runtimes(): Promise<readonly RuntimeInfo[]> {
    return listRuntimes(this.#store);
  }
}
