// The client: starts instances and hands out handles. It needs no registration: any process may use one.
//   CL1. Bad input is refused with a code before anything is written.
//   CL2. A call that returned is on disk (P1).

import { hash } from "node:crypto";
import { defaultCodec, type Codec } from "../core/codec.ts";
import { checkPriority, type Orchestration } from "../core/definitions.ts";
import { parseDuration, type Duration } from "../core/duration.ts";
import type { Environment } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import type { OrchestrationStarted } from "../core/history-events.ts";
import { limitedCodec } from "../core/limited-codec.ts";
import { resolveLimits, type Limits } from "../core/limits.ts";
import { parseAttributes } from "../core/attributes.ts";
import { parseInstanceId, parseInstanceReference, parseName, parseRequestId } from "../core/ids.ts";
import type { ConflictPolicy, StartItem, StartResult } from "../core/provider/commit.ts";
import type { Removed } from "../core/provider/admin.ts";
import type { KeptMessage } from "../core/provider/messages.ts";
import type { Provider } from "../core/provider/provider.ts";
import {
  checkChoice,
  checkFlag,
  checkMembers,
  checkWhole,
  type Members,
} from "../core/known-members.ts";
import { quietTelemetry } from "../core/quiet-telemetry.ts";
import { parseVersion } from "../core/semver.ts";
import { validate } from "../core/standard-schema.ts";
import type { Telemetry } from "../core/telemetry.ts";
import type {
  InputHint,
  NotFunction,
  OrchestrationArguments,
  OrchestrationNodes,
  OrchestrationOutput,
} from "../core/context-types.ts";
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
import { ended } from "../core/endings.ts";
import { forkItem } from "./fork.ts";
import { Handle, type RaiseOptions } from "./handle.ts";
import type { ListFilter } from "./list-filter.ts";
import { incompleteHistory, reaches } from "./history-part.ts";
import { digestOf } from "./request-digest.ts";
import { keyReused, Store } from "./store.ts";
import { readMetrics, readQueues, type Metrics, type QueueInfo } from "./unclaimed.ts";

const CONFLICT_POLICIES = ["fail", "useExisting", "restart", "terminateExisting"] as const;
const DEFAULT_PRIORITY = 3;

/** What `client.start` may be told about an instance. */
export interface StartOptions {
  /** Unique among instances; made up when not given, from the request id if there is one. */
  readonly id?: string;
  readonly version?: string;
  /** What happens when the id is taken. Default "fail". */
  readonly onConflict?: ConflictPolicy;
  /** Begin after this time… */
  readonly delay?: Duration;
  /** …or at this moment. */
  readonly at?: Date;
  /** 1 (first) to 5. Default 3. */
  readonly priority?: number;
  readonly attributes?: Readonly<Record<string, string>>;
  /** Events that are in its mailbox from the first moment, in order. */
  readonly events?: readonly { readonly name: string; readonly data?: unknown }[];
  /** A repeated call with the same id returns the first one's outcome. */
  readonly requestId?: string;
  /** What the request asks for, in any short form: the same request id with another digest is `KEY_REUSED`. */
  readonly requestDigest?: string;
  /**
   * A transaction of yours on the store's own database: the instance exists when you commit it. A `DatabaseSync` on
   * SQLite; on PostgreSQL a client of `pg` or what an adapter makes (`fromDrizzle`, `fromKysely`, `fromPrisma`).
   */
  readonly tx?: object;
}
/** Which past a fork copies, and its id. */
export interface ForkOptions {
  /** The copy holds the events before this one. */
  readonly beforeSequence: number;
  readonly execution?: number;
  readonly id?: string;
}

/** What a client may be told when it is made. */
export interface ClientOptions {
  /** How values become text; the runtimes' own. */
  readonly codec?: Codec;
  /** Who is told of starts; null and absent: nobody. */
  readonly telemetry?: Telemetry | null;
  /** `payloadBytesMax` bounds what is started with and raised. */
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
const START_EVENT: Members<NonNullable<StartOptions["events"]>[number]> = {
  name: true,
  data: true,
};
const FORK_OPTIONS: Members<ForkOptions> = { beforeSequence: true, execution: true, id: true };
const CLIENT_OPTIONS: Members<ClientOptions> = { codec: true, telemetry: true, limits: true };
const DELETE_OPTIONS = { force: true } as const;
const BULK_OPTIONS = { limit: true } as const;

declare module "../core/activity-context.ts" {
  interface LinkedTypes {
    readonly client: Client;
  }
}

/** Starts instances, finds them and administers the store. It needs no registration and no runtime. */
export class Client {
  readonly #store: Store;
  readonly #telemetry: Telemetry | null;

  constructor(provider: Provider, options: ClientOptions = {}) {
    checkMembers(options, CLIENT_OPTIONS, "a client");
    const limits = resolveLimits(options.limits);
    const { telemetry = null } = options;
    this.#telemetry = telemetry === null ? null : quietTelemetry(telemetry);
    this.#store = new Store(provider, limitedCodec(options.codec ?? defaultCodec, limits));
  }

  /** The store it works on. */
  get provider(): Provider {
    return this.#store.provider;
  }
  /** How its values become text, within its limits. */
  get codec(): Codec {
    return this.#store.codec;
  }

  /** Starts an instance. When it returns, the instance is on disk and will run. */
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
          ? "is still running; only an ended one is restarted"
          : "exists already; choose another id or an onConflict policy";
      throw new PerdureError(result.code, `Instance "${item.id}" ${why}.`);
    }
    return new Handle(this.#store, item.id, expected);
  }

  /** Inside a span of the observer's, whose trace the instance then belongs to. */
  async #startObserved(item: StartItem, tx: object | undefined): Promise<StartResult> {
    const write = (written: StartItem): Promise<StartResult> =>
      tx === undefined
        ? this.#store.committer.start(written)
        : this.#store.startWithin(tx, written);
    if (this.#telemetry === null) return write(item);
    const span = { orchestration: item.name, instanceId: item.id };
    return this.#telemetry.start(span, (traceParent) => {
      if (traceParent === undefined) return write(item);
      const started = JSON.parse(item.started) as OrchestrationStarted; // written by #startItem
      return write({ ...item, started: JSON.stringify({ ...started, traceParent }) });
    });
  }

  /** An instance that a start met must be of the same flow, whatever the policy says (semantics 27). */
  async #checkExisting(id: string, expected: Expected): Promise<void> {
    if (expected?.hash === undefined) return;
    const record = await this.#store.read((provider) => provider.readInstance(id));
    if (record !== null) checkDefinition(record, expected);
  }

  /** A handle of an instance that may or may not exist. */
  get<I, O, Nodes>(orchestration: Orchestration<I, O, Nodes>, id: string): Handle<O, Nodes>;
  get(id: string): Handle;
  get(first: Orchestration<never, unknown> | string, id?: string): Handle {
    const reference = parseInstanceReference(typeof first === "string" ? first : id);
    return new Handle(this.#store, reference, typeof first === "string" ? null : first);
  }

  /** Sends an event; with `ifMissing: "keep"` also to an instance that does not exist yet. */
  async raise(id: string, event: string, data?: unknown, options?: RaiseOptions): Promise<void> {
    await this.get(id).raise(event, data, options);
  }

  /** Instances that match, newest first unless said otherwise, a page at a time. */
  async list(filter: ListFilter = {}, options: ListOptions = {}): Promise<InstanceList> {
    return listInstances(this.#store, filter, options);
  }
  /** The ids of all instances that match, oldest first, read page by page. */
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

  /** Deletes an ended instance with its children; `force` also what is live. */
  async delete(id: string, options: { readonly force?: boolean } = {}): Promise<Removed> {
    checkMembers(options, DELETE_OPTIONS, "client.delete");
    checkFlag(options.force, "force");
    return deleteInstance(this.#store, parseInstanceReference(id), options.force ?? false);
  }
  /** Deletes what has ended and matches; live instances and children of live ones are left alone. */
  async deleteMany(
    filter: ListFilter,
    options: { readonly limit?: number } = {},
  ): Promise<Removed> {
    checkMembers(options, BULK_OPTIONS, "client.deleteMany");
    return deleteMany(this.#store, filter, options.limit);
  }
  /** Removes old executions; never the newest. */
  async prune(id: string, options: PruneOptions = {}): Promise<Removed> {
    return pruneInstance(this.#store, parseInstanceReference(id), options);
  }
  async pruneMany(filter: ListFilter, options: PruneManyOptions = {}): Promise<Removed> {
    return pruneMany(this.#store, filter, options);
  }

  /** A new instance with the past of another, up to an event. */
  async fork(id: string, options: ForkOptions): Promise<Handle> {
    checkMembers(options, FORK_OPTIONS, "client.fork");
    checkWhole(options.execution, 1, "execution");
    const source = await this.#store.record(parseInstanceReference(id));
    const execution = options.execution ?? source.execution;
    const rows = await this.#store.read((provider) =>
      provider.readHistory({ key: source.key, execution }),
    );
    if (!reaches(rows, 0)) throw incompleteHistory(source.id, execution);
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
      throw new PerdureError(result.code, `Instance "${target.id}" exists already.`);
    }
    return new Handle(this.#store, target.id);
  }

  /** Figures for the whole store. */
  metrics(): Promise<Metrics> {
    return readMetrics(this.#store);
  }
  /** What waits in the task queue, by activity, tags and priority, and what of it waits for nobody. */
  queues(): Promise<readonly QueueInfo[]> {
    return readQueues(this.#store);
  }
  /** Who is there, what they register, how much they hold and when they last gave a sign of life. */
  runtimes(): Promise<readonly RuntimeInfo[]> {
    return listRuntimes(this.#store);
  }

  async #startItem(
    target: Orchestration<never, unknown> | string,
    input: unknown,
    options: StartOptions,
  ): Promise<StartItem> {
    if (typeof target !== "string" && target?.kind !== "orchestration") {
      throw new PerdureError(
        "INVALID_ARGUMENT",
        "client.start takes an orchestration or its name.",
      );
    }
    checkMembers(options, START_OPTIONS, "client.start");
    const { environment } = this.#store.provider;
    const name = typeof target === "string" ? parseName(target, "orchestration name") : target.name;
    const version = options.version ?? (typeof target === "string" ? null : target.version);
    if (version !== null) parseVersion(version);
    const requestId = options.requestId === undefined ? null : parseRequestId(options.requestId);
    const id =
      options.id === undefined
        ? madeUpId(environment, name, requestId)
        : parseInstanceId(options.id);
    const schema = typeof target === "string" ? undefined : target.options.input;
    const checked =
      schema === undefined ? input : await validate(schema, input, `input of "${name}"`);
    checkChoice(options.onConflict, CONFLICT_POLICIES, "onConflict");
    if (options.priority !== undefined) checkPriority(options.priority, `instance "${id}"`);
    const attributes = parseAttributes(options.attributes ?? {}, { mayBeNull: false });
    const runId = environment.randomHex(16);
    const started: OrchestrationStarted = {
      kind: "OrchestrationStarted",
      name,
      orchestrationVersion: version ?? "",
      input: this.#store.codec.encode(checked),
      runId,
      seed: environment.randomHex(16),
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
      ...digestOf(options),
      terminated: JSON.stringify(ended("terminated", "terminated: another start replaced it")),
      ...timing(options),
      events: startEvents(options.events ?? [], this.#store.codec),
      lease: null,
    };
  }
}

/** A request id is known to its instance alone, so that a repeated call must lead to the same one. */
function madeUpId(environment: Environment, name: string, requestId: string | null): string {
  if (requestId === null) return environment.randomHex(16);
  return hash("sha256", JSON.stringify([name, requestId]), "hex").slice(0, 32);
}

function startEvents(
  events: readonly { readonly name: string; readonly data?: unknown }[],
  codec: Codec,
): readonly KeptMessage[] {
  if (!Array.isArray(events)) {
    throw new PerdureError("INVALID_ARGUMENT", "events is a list of { name, data }.");
  }
  return events.map((event: (typeof events)[number]) => {
    checkMembers(event, START_EVENT, "an event of client.start");
    const { name, data } = event;
    return { name: parseName(name, "event name"), data: codec.encode(data), key: null };
  });
}

function timing(options: StartOptions): { delayMs?: number; dueAt?: number } {
  if (options.delay !== undefined && options.at !== undefined) {
    throw new PerdureError("INVALID_ARGUMENT", "Give delay or at, not both.");
  }
  if (options.delay !== undefined) return { delayMs: parseDuration(options.delay, "delay") };
  if (options.at === undefined) return {};
  const dueAt = options.at instanceof Date ? options.at.getTime() : NaN;
  if (Number.isNaN(dueAt)) throw new PerdureError("INVALID_ARGUMENT", "at is a valid Date.");
  return { dueAt };
}
