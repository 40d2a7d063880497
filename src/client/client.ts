// The client: starts instances, returns handles, and administers the store. It needs no registered code, so
// any process may use one.
//   - Invalid input raises an error with a code before anything is written.
//   - When a call returns, its effect is durable (P1).

import { defaultCodec, type Codec } from "../core/values/codec.ts";
import { type Orchestration } from "../core/define/definitions.ts";
import { PerdureError } from "../core/errors/errors.ts";
import type { OrchestrationStarted } from "../core/history/events.ts";
import type { Duration } from "../core/time/duration.ts";
import { limitedCodec } from "../core/values/limited-codec.ts";
import { resolveLimits, type Limits } from "../core/values/limits.ts";
import { parseInstanceId, parseInstanceReference } from "../core/ids/ids.ts";
import type { CallbackSettings } from "../core/define/callback.ts";
import { checkEntity, type EntityDef } from "../core/define/entity.ts";
import type { AnyRequest } from "../core/define/request.ts";
import type { AskStart, StartItem, StartResult } from "../core/provider/commit.ts";
import type { Removed } from "../core/provider/admin.ts";
import type { Provider } from "../core/provider/provider.ts";
import {
  checkChoice,
  checkFlag,
  checkMembers,
  checkInteger,
  type Members,
} from "../core/checks.ts";
import { parseKeepFor } from "../core/time/keep-for.ts";
import { safeTelemetry } from "../core/telemetry/safe-telemetry.ts";
import type { Telemetry } from "../core/telemetry/telemetry.ts";
import type {
  AskArguments,
  InputHint,
  NotFunction,
  OrchestrationArguments,
  OrchestrationInput,
  OrchestrationNodes,
  OrchestrationOutput,
  RequestOutput,
} from "../core/context/types.ts";
import {
  countInstances,
  deleteInstance,
  deleteMany,
  findInstances,
  listInstances,
  listRuntimes,
  pruneInstance,
  pruneMany,
  type InstanceList,
  type ListOptions,
  type PruneManyOptions,
  type PruneOptions,
  type RuntimeInfo,
} from "./admin.ts";
import { askItem, askWait, checkAsk, type AskOptions } from "./ask-item.ts";
import { askInstance } from "./asks.ts";
import {
  ClientCallbacks,
  type CompleteOptions,
  type CompleteResult,
  type TokenInfo,
} from "./callbacks/complete.ts";
import { checkDefinition, type Expected } from "./definition-check.ts";
import { forkItem } from "./fork.ts";
import { Handle, type RaiseOptions } from "./handle.ts";
import { readKept, type KeptOptions, type KeptPage } from "./inspect/kept.ts";
import type { ListFilter } from "./list-filter.ts";
import { localStart } from "./waiting.ts";
import { incompleteHistory } from "./inspect/history-part.ts";
import { covers, WHOLE } from "./inspect/history-reader.ts";
import { startItem, type StartOptions } from "./start-item.ts";
import { keyReused, Store } from "./store.ts";
import { readMetrics, readQueues, type Metrics, type QueueInfo } from "./inspect/unclaimed.ts";

/** How `client.ask` starts an instance that does not exist. */
export interface AskStartOf<C extends Orchestration<never, unknown> | string> extends Pick<
  StartOptions,
  "version" | "priority" | "attributes"
> {
  readonly input?: OrchestrationInput<C>;
  /** What happens if the instance has ended. Default "fail". */
  readonly ifEnded?: "fail" | "restart";
}
/** Options of `client.ask`. */
export interface ClientAskOptions<
  C extends Orchestration<never, unknown> | string = string,
> extends AskOptions {
  readonly start?: AskStartOf<C>;
}
/** Options of `client.fork`. */
export interface ForkOptions {
  /** The copy contains the events before this sequence number. */
  readonly beforeSequence: number;
  readonly execution?: number;
  readonly id?: string;
}

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
  /** The secrets that sign the tokens of callbacks. Without them, `complete`, `fail` and `heartbeat` reject. */
  readonly callbacks?: CallbackSettings;
}

const ASK_START: Members<AskStartOf<string>> = {
  version: true,
  priority: true,
  attributes: true,
  input: true,
  ifEnded: true,
};
const FORK_OPTIONS: Members<ForkOptions> = { beforeSequence: true, execution: true, id: true };
const CLIENT_OPTIONS: Members<ClientOptions> = {
  codec: true,
  telemetry: true,
  limits: true,
  keepFor: true,
  callbacks: true,
};
const DELETE_OPTIONS = { force: true } as const;
const BULK_OPTIONS = { limit: true } as const;

declare module "../core/context/activity-context.ts" {
  interface LinkedTypes {
    readonly client: Client;
  }
}

/** Starts instances, finds them and administers the store. It needs no registered code and no runtime. */
export class Client {
  readonly #store: Store;
  readonly #callbacks: ClientCallbacks;

  constructor(provider: Provider, options: ClientOptions = {}) {
    checkMembers(options, CLIENT_OPTIONS, "a client");
    const limits = resolveLimits(options.limits);
    const { telemetry = null } = options;
    const codec = limitedCodec(options.codec ?? defaultCodec, limits);
    this.#store = new Store(provider, codec, {
      telemetry: telemetry === null ? null : safeTelemetry(telemetry),
      keepForMs: parseKeepFor(options.keepFor),
    });
    this.#callbacks = new ClientCallbacks(this.#store, options.callbacks);
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
    const item = await startItem(this.#store, target, input, options);
    const result = await this.#startObserved(item, options.tx);
    const expected: Expected = typeof target === "string" ? null : target;
    if (result.kind === "refused" && result.code === "KEY_REUSED") throw keyReused(item.id);
    if (result.kind !== "started") await this.#checkExisting(item.id, expected);
    if (result.kind === "refused") {
      const why =
        result.code === "INSTANCE_RUNNING"
          ? "is still running; only an ended instance can be restarted"
          : "already exists; choose another id or an onConflict policy";
      throw new PerdureError(result.code, `Instance "${item.id}" ${why}.`);
    }
    const local = options.tx === undefined ? localStart(this.#store, item, result) : null;
    return new Handle(this.#store, item.id, expected, local);
  }

  /** Writes the start inside a telemetry span and records the span's trace as the instance's trace. */
  async #startObserved(item: StartItem, tx: object | undefined): Promise<StartResult> {
    const write = (written: StartItem): Promise<StartResult> =>
      tx === undefined
        ? this.#store.committer.start(written)
        : this.#store.startWithin(tx, written);
    const { telemetry } = this.#store;
    if (telemetry === null) return write(item);
    const span = { orchestration: item.name, instanceId: item.id };
    return telemetry.start(span, (traceParent) => {
      if (traceParent === undefined) return write(item);
      const started = JSON.parse(item.started) as OrchestrationStarted; // from #startItem
      return write({ ...item, started: JSON.stringify({ ...started, traceParent }) });
    });
  }

  /** Throws if the existing instance is of a different flow, whatever the policy (semantics 27). */
  async #checkExisting(id: string, expected: Expected): Promise<void> {
    if (expected?.hash === undefined) return;
    const record = await this.#store.read((provider) => provider.readInstance(id));
    if (record !== null) checkDefinition(record, expected);
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
    checkAsk(options, "client.ask", { start: true });
    const reference = parseInstanceReference(id);
    const start =
      options.start === undefined ? null : await this.#askStart(target, reference, options.start);
    const item = await askItem(this.#store, reference, request, input, options, start);
    const answer = await askInstance(this.#store, item, askWait(request, options));
    return answer as RequestOutput<R>; // The type comes from the definition of the request.
  }

  async #askStart(
    target: Orchestration<never, unknown> | string,
    id: string,
    start: AskStartOf<Orchestration<never, unknown> | string>,
  ): Promise<AskStart> {
    checkMembers(start, ASK_START, "start of client.ask");
    checkChoice(start.ifEnded, ["fail", "restart"], "ifEnded");
    const { input, ifEnded = "fail", ...options } = start;
    const item = await startItem(this.#store, target, input, { ...options, id });
    const onConflict = ifEnded === "restart" ? "restart" : "useExisting";
    return { ...item, onConflict, requestId: null, lease: null };
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

  /** One page of the instances that match. Default order: newest first. */
  async list(filter: ListFilter = {}, options: ListOptions = {}): Promise<InstanceList> {
    return listInstances(this.#store, filter, options);
  }
  /** The ids of all instances that match, oldest first. Reads one page at a time. */
  async *ids(
    filter: ListFilter = {},
    options: { readonly limit?: number } = {},
  ): AsyncGenerator<string, void, undefined> {
    checkMembers(options, BULK_OPTIONS, "client.ids");
    for await (const { id } of findInstances(this.#store, filter, options.limit)) yield id;
  }
  async count(filter: ListFilter = {}): Promise<number> {
    return countInstances(this.#store, filter);
  }

  /** Deletes an ended instance with its descendants. `force`: also running ones. */
  async delete(id: string, options: { readonly force?: boolean } = {}): Promise<Removed> {
    checkMembers(options, DELETE_OPTIONS, "client.delete");
    checkFlag(options.force, "force");
    return deleteInstance(this.#store, parseInstanceReference(id), options.force ?? false);
  }
  /** Deletes the ended instances that match. Skips running instances and children of running instances. */
  async deleteMany(
    filter: ListFilter,
    options: { readonly limit?: number } = {},
  ): Promise<Removed> {
    checkMembers(options, BULK_OPTIONS, "client.deleteMany");
    return deleteMany(this.#store, filter, options.limit);
  }
  /** Removes old executions of an instance, never the newest. */
  async prune(id: string, options: PruneOptions = {}): Promise<Removed> {
    return pruneInstance(this.#store, parseInstanceReference(id), options);
  }
  async pruneMany(filter: ListFilter, options: PruneManyOptions = {}): Promise<Removed> {
    return pruneMany(this.#store, filter, options);
  }

  /** Creates a new instance with a copy of another instance's history up to a given event. */
  async fork(id: string, options: ForkOptions): Promise<Handle> {
    checkMembers(options, FORK_OPTIONS, "client.fork");
    checkInteger(options.execution, 1, "execution");
    const source = await this.#store.record(parseInstanceReference(id));
    const execution = options.execution ?? source.execution;
    const rows = await this.#store.read((provider) =>
      provider.readHistory({ key: source.key, execution }),
    );
    if (!covers(rows, WHOLE, 0)) throw incompleteHistory(source.id, execution);
    this.#store.verifyRows(source, execution, rows);
    const { environment } = this.#store.provider;
    const target = {
      id: options.id === undefined ? environment.randomHex(16) : parseInstanceId(options.id),
      runId: environment.randomHex(16),
      beforeSequence: options.beforeSequence,
      seal: this.#store.codec.rowSeal,
    };
    const addressOf = await this.#callbacks.addressesIn({ ...target, orchestration: source.name });
    const result = await this.#store.committer.submit(
      forkItem(source, rows, { ...target, addressOf }),
    );
    if (result.kind === "refused") {
      const message = `Instance "${target.id}" already exists; choose another id.`;
      throw new PerdureError(result.code, message);
    }
    return new Handle(this.#store, target.id);
  }

  /** Counts for the whole store, and the work that no running worker accepts. */
  metrics(): Promise<Metrics> {
    return readMetrics(this.#store);
  }
  /** The task queue by activity, tags and priority. `unclaimed`: why no running worker accepts the tasks. */
  queues(): Promise<readonly QueueInfo[]> {
    return readQueues(this.#store);
  }
  /** The live runtimes: their registered code, their load and their last heartbeat. */
  runtimes(): Promise<readonly RuntimeInfo[]> {
    return listRuntimes(this.#store);
  }
}
