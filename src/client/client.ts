// The client: starts instances, returns handles, and administers the store. It needs no registered code, so
// any process may use one.
//   - Invalid input raises an error with a code before anything is written.
//   - When a call returns, its effect is durable (P1).

import { hash } from "node:crypto";
import { defaultCodec, type Codec } from "../core/values/codec.ts";
import { checkPriority, type Orchestration } from "../core/define/definitions.ts";
import { parseDuration, type Duration } from "../core/time/duration.ts";
import type { Environment } from "../core/time/environment.ts";
import { PerdureError } from "../core/errors/errors.ts";
import type { OrchestrationStarted } from "../core/history/events.ts";
import { limitedCodec } from "../core/values/limited-codec.ts";
import { resolveLimits, type Limits } from "../core/values/limits.ts";
import { parseAttributes } from "../core/define/attributes.ts";
import {
  parseInstanceId,
  parseInstanceReference,
  parseName,
  parseRequestId,
  showValue,
} from "../core/ids/ids.ts";
import type { ConflictPolicy, StartItem, StartResult } from "../core/provider/commit.ts";
import type { Removed } from "../core/provider/admin.ts";
import type { KeptMessage } from "../core/provider/messages.ts";
import type { Provider } from "../core/provider/provider.ts";
import {
  checkChoice,
  checkFlag,
  checkMembers,
  checkInteger,
  invalidArgument,
  momentOf,
  type Members,
} from "../core/checks.ts";
import { safeTelemetry } from "../core/telemetry/safe-telemetry.ts";
import { parseVersion } from "../core/ids/semver.ts";
import { validateToSend } from "../core/values/standard-schema.ts";
import type { Telemetry } from "../core/telemetry/telemetry.ts";
import type {
  InputHint,
  NotFunction,
  OrchestrationArguments,
  OrchestrationNodes,
  OrchestrationOutput,
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
import { checkDefinition, type Expected } from "./definition-check.ts";
import { terminated } from "../core/errors/built-in-failures.ts";
import { forkItem } from "./fork.ts";
import { Handle, type RaiseOptions } from "./handle.ts";
import type { ListFilter } from "./list-filter.ts";
import { localStart } from "./waiting.ts";
import { incompleteHistory } from "./inspect/history-part.ts";
import { covers, WHOLE } from "./inspect/history-reader.ts";
import { requestDigestOf } from "./request-digest.ts";
import { keyReused, Store } from "./store.ts";
import { readMetrics, readQueues, type Metrics, type QueueInfo } from "./inspect/unclaimed.ts";

const CONFLICT_POLICIES = ["fail", "useExisting", "restart", "terminateExisting"] as const;
const DEFAULT_PRIORITY = 3;

/** Options of `client.start`. */
export interface StartOptions {
  /** Unique in the store. Default: derived from the request id if there is one, otherwise random. */
  readonly id?: string;
  readonly version?: string;
  /** What happens when the id is in use. Default "fail". */
  readonly onConflict?: ConflictPolicy;
  /** Begin after this time. Not together with `at`. */
  readonly delay?: Duration;
  /** Begin at this time. Not together with `delay`. */
  readonly at?: Date;
  /** 1 (runs first) to 5 (runs last). Default 3. */
  readonly priority?: number;
  readonly attributes?: Readonly<Record<string, string>>;
  /** Events that the instance finds in its inbox when it begins, in this order. */
  readonly events?: readonly { readonly name: string; readonly data?: unknown }[];
  /** Repeated calls with the same request id start one instance. */
  readonly requestId?: string;
  /** A digest of the request. The same request id with a different digest raises `KEY_REUSED`. */
  readonly requestDigest?: string;
  /**
   * Your transaction on the store's database: the instance exists when you commit. On SQLite a
   * `DatabaseSync`; on PostgreSQL a client of `pg`, or the result of an adapter (`fromDrizzle`,
   * `fromKysely`, `fromPrisma`).
   */
  readonly tx?: object;
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
  /** Receives a span for every start. Null or absent: no telemetry. */
  readonly telemetry?: Telemetry | null;
  /** `payloadBytesMax` limits inputs and event data. */
  readonly limits?: Partial<Limits>;
}

const START_OPTIONS: Members<StartOptions> = {
  id: true,
  version: true,
  onConflict: true,
  delay: true,
  at: true,
  priority: true,
  attributes: true,
  events: true,
  requestId: true,
  requestDigest: true,
  tx: true,
};
type StartEvent = NonNullable<StartOptions["events"]>[number];
const START_EVENT: Members<StartEvent> = { name: true, data: true };
const FORK_OPTIONS: Members<ForkOptions> = { beforeSequence: true, execution: true, id: true };
const CLIENT_OPTIONS: Members<ClientOptions> = { codec: true, telemetry: true, limits: true };
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
  readonly #telemetry: Telemetry | null;

  constructor(provider: Provider, options: ClientOptions = {}) {
    checkMembers(options, CLIENT_OPTIONS, "a client");
    const limits = resolveLimits(options.limits);
    const { telemetry = null } = options;
    this.#telemetry = telemetry === null ? null : safeTelemetry(telemetry);
    this.#store = new Store(provider, limitedCodec(options.codec ?? defaultCodec, limits));
  }

  /** The store that the client uses. */
  get provider(): Provider {
    return this.#store.provider;
  }
  /** The client's codec, with the client's limits applied. */
  get codec(): Codec {
    return this.#store.codec;
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
    const item = await this.#startItem(target, input, options);
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
    if (this.#telemetry === null) return write(item);
    const span = { orchestration: item.name, instanceId: item.id };
    return this.#telemetry.start(span, (traceParent) => {
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

  /** Sends an event. With `ifMissing: "keep"` the instance need not exist yet. */
  async raise(id: string, event: string, data?: unknown, options?: RaiseOptions): Promise<void> {
    await this.get(id).raise(event, data, options);
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
    const result = await this.#store.committer.submit(forkItem(source, rows, target));
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

  async #startItem(
    target: Orchestration<never, unknown> | string,
    input: unknown,
    options: StartOptions,
  ): Promise<StartItem> {
    if (typeof target !== "string" && target?.kind !== "orchestration") {
      const got = showValue(target);
      throw invalidArgument(`client.start requires an orchestration or its name; got ${got}.`);
    }
    checkMembers(options, START_OPTIONS, "client.start");
    const { environment } = this.#store.provider;
    const name = typeof target === "string" ? parseName(target, "orchestration name") : target.name;
    const version = options.version ?? (typeof target === "string" ? null : target.version);
    if (version !== null) parseVersion(version);
    const requestId = options.requestId === undefined ? null : parseRequestId(options.requestId);
    const id =
      options.id === undefined
        ? generatedId(environment, name, requestId)
        : parseInstanceId(options.id);
    const schema = typeof target === "string" ? undefined : target.options.input;
    const sent = await validateToSend(schema, input, `input of "${name}"`);
    checkChoice(options.onConflict, CONFLICT_POLICIES, "onConflict");
    if (options.priority !== undefined) checkPriority(options.priority, `instance "${id}"`);
    const attributes = parseAttributes(options.attributes ?? {}, { mayBeNull: false });
    const runId = environment.randomHex(16);
    const started: OrchestrationStarted = {
      kind: "OrchestrationStarted",
      name,
      orchestrationVersion: version ?? "",
      input: this.#store.codec.encode(sent.value),
      runId,
      seed: environment.randomHex(16),
      ...(sent.isOutput ? {} : { unchecked: true }),
      ...(Object.keys(attributes).length === 0 ? {} : { attributes }),
    };
    return {
      kind: "start",
      id,
      runId,
      name,
      version,
      started: JSON.stringify(started),
      parent: null,
      onParentClose: "cancel",
      priority: options.priority ?? DEFAULT_PRIORITY,
      attributes,
      onConflict: options.onConflict ?? "fail",
      requestId,
      ...requestDigestOf(options),
      terminated: JSON.stringify(terminated("another start replaced the instance")),
      ...timing(options),
      events: startEvents(options.events ?? [], this.#store.codec),
      lease: null,
    };
  }
}

/**
 * The store keeps request ids per instance. A repeated call must therefore lead to the same instance id, so
 * the id is derived from the request id.
 */
function generatedId(environment: Environment, name: string, requestId: string | null): string {
  if (requestId === null) return environment.randomHex(16);
  return hash("sha256", JSON.stringify([name, requestId]), "hex").slice(0, 32);
}

function startEvents(events: readonly StartEvent[], codec: Codec): readonly KeptMessage[] {
  if (!Array.isArray(events)) {
    throw invalidArgument(`events must be an array of { name, data }; got ${showValue(events)}.`);
  }
  return events.map((event: StartEvent) => {
    checkMembers(event, START_EVENT, "an event of client.start");
    const { name, data } = event;
    return { name: parseName(name, "event name"), data: codec.encode(data), key: null };
  });
}

function timing(options: StartOptions): { delayMs?: number; dueAt?: number } {
  if (options.delay !== undefined && options.at !== undefined) {
    throw invalidArgument("Give delay or at, not both.");
  }
  if (options.delay !== undefined) return { delayMs: parseDuration(options.delay, "delay") };
  return options.at === undefined ? {} : { dueAt: momentOf(options.at, "at") };
}
