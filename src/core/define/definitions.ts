// Definitions: activities, orchestrations and events, which users define once and register.
//   - definitions.1: A definition is checked when it is created: a wrong name, version or default throws at
//       once.
//   - Definitions carry the types: code that has a definition needs no cast.

import type { ActivityClient, ActivityContext } from "../context/activity-context.ts";
import { type Duration, parseDuration } from "../time/duration.ts";
import { defined } from "../values/defined.ts";
import { checkExecutor, type Executor } from "./executor.ts";
import type { ActivityOptions } from "../history/events.ts";
import { checkStorable, parseName, showValue } from "../ids/ids.ts";
import type { OrchestrationContext } from "../context/types.ts";
import type { Logger } from "../telemetry/log.ts";
import {
  checkChoice,
  checkFunction,
  checkInteger,
  checkMembers,
  invalidArgument,
  type Members,
} from "../checks.ts";
import { type Attempts, retryPolicy } from "./retry-policy.ts";
import { JOB_VERSION, parseVersion } from "../ids/semver.ts";
import {
  checkSchema,
  type SchemaInput,
  type SchemaOutput,
  type StandardSchema,
} from "../values/standard-schema.ts";
import { normalizeTags } from "../ids/tags.ts";
import { PerdureError } from "../errors/errors.ts";
import type { TerminalStatus } from "../provider/instances.ts";
import {
  parseQueueKey,
  queueSettings,
  type QueueOptions,
  type QueueSettings,
} from "./queue-settings.ts";

/** Options of an activity call. */
export type RunOptions = Attempts & {
  /** The timeout of one attempt. */
  readonly timeout?: Duration;
  /** The timeout from the call to the final outcome, including the time in the queue and all retries. */
  readonly scheduleToClose?: Duration;
  /** 1 (first) to 5. Default: the priority of the instance. */
  readonly priority?: number;
  /**
   * Only workers with all of these tags take the task. An empty list removes the default tags of the
   * activity.
   */
  readonly tags?: string | readonly string[];
  /**
   * Runs on the worker of the other activities of this session, while that worker is alive and the session is
   * in use.
   */
  readonly session?: string;
  /** The longest time between two heartbeats of an attempt, and before the first heartbeat. */
  readonly heartbeatTimeout?: Duration;
  /** The tenant, user or resource of the call: for `limit.perKey` and `fair` of the activity. */
  readonly key?: string;
};
/**
 * The defaults of an activity for every call. `ctx.run` can override all of them except executor and schemas.
 */
export type ActivityDefaults = Omit<RunOptions, "attempts" | "retry" | "key"> &
  Attempts &
  QueueOptions & {
    /** Where the activity runs. Default: the runtime's `executor`. */
    readonly executor?: Executor;
    readonly input?: StandardSchema;
    readonly output?: StandardSchema;
  };
const DEFAULT_OPTIONS: Members<Omit<RunOptions, "key">> = {
  attempts: true,
  retry: true,
  timeout: true,
  scheduleToClose: true,
  priority: true,
  tags: true,
  session: true,
  heartbeatTimeout: true,
};
export const RUN_OPTIONS: Members<RunOptions> = { ...DEFAULT_OPTIONS, key: true };
const ACTIVITY_DEFAULTS: Members<ActivityDefaults> = {
  ...DEFAULT_OPTIONS,
  limit: true,
  fair: true,
  executor: true,
  input: true,
  output: true,
};
export type ActivityFunction<I, O> = (input: I, ctx: ActivityContext) => O | Promise<O>;

/** An activity, created by `activity(…)`: a name, a function, defaults, and the types of input and output. */
export interface Activity<I, O, Name extends string = string> {
  readonly kind: "activity";
  readonly name: Name;
  readonly defaults: ActivityDefaults;
  /** The defaults as they are recorded. */
  readonly options: ActivityOptions;
  /** Absent: neither `limit` nor `fair`. */
  readonly queue?: QueueSettings;
  /** Set by `job`: how long ended jobs are kept. */
  readonly keepMs?: Readonly<Partial<Record<TerminalStatus, number>>>;
  readonly handler: (input: never, ctx: ActivityContext) => unknown;
  readonly "~types"?: { readonly input: (input: I) => void; readonly output: () => O };
}

/** Defines an activity: a function with side effects that runs at least once. */
export function activity<Schema extends StandardSchema, O, Name extends string = string>(
  name: Name,
  fn: ActivityFunction<SchemaOutput<Schema>, O>,
  defaults: ActivityDefaults & { readonly input: Schema },
): Activity<SchemaInput<Schema>, O, Name>;
// `I` defaults to undefined for a function without input, so that options in the place of the input do not
// compile.
export function activity<I = undefined, O = unknown, Name extends string = string>(
  name: Name,
  fn: ActivityFunction<I, O>,
  defaults?: ActivityDefaults & { readonly input?: undefined },
): Activity<I, O, Name>;
export function activity<I, O, Name extends string>(
  name: Name,
  fn: ActivityFunction<I, O>,
  defaults: ActivityDefaults = {},
): Activity<I, O, Name> {
  return defineActivity(name, fn, defaults, "activity");
}

/** `kind`: the word for error messages. */
export function defineActivity<I, O, Name extends string>(
  name: Name,
  fn: ActivityFunction<I, O>,
  defaults: ActivityDefaults,
  kind: "activity" | "job",
): Activity<I, O, Name> {
  parseName(name, `${kind} name`);
  const what = `${kind} "${name}"`;
  checkFunction(fn, what);
  checkMembers<ActivityDefaults>(defaults, ACTIVITY_DEFAULTS, what);
  if (defaults.executor !== undefined) checkExecutor(defaults.executor, `executor of ${what}`);
  checkSchema(defaults.input, `input of ${what}`);
  checkSchema(defaults.output, `output of ${what}`);
  const options = activityOptions(defaults, what);
  const queue = queueSettings(defaults, what);
  nameForStacks(fn, name);
  const settings = queue === null ? {} : { queue };
  return Object.freeze({ kind: "activity", name, defaults, options, handler: fn, ...settings });
}

/** Whether the value is an activity, also one of another installed copy of the package. */
export function isActivity(value: unknown): value is Activity<never, unknown> {
  return (
    typeof value === "object" && value !== null && "kind" in value && value.kind === "activity"
  );
}

/**
 * Without a name, V8 infers one from the code around the function, such as "charge.retry", and shows it in
 * stacks.
 */
export function nameForStacks(fn: { readonly name: string }, name: string): void {
  if (fn.name === "") Reflect.defineProperty(fn, "name", { value: name, configurable: true });
}

/** Options of an orchestration. */
export interface OrchestrationOptions {
  /** A semantic version. An execution stays on the version with which it started. Default "1.0.0". */
  readonly version?: string;
  /**
   * Checks the input of every start. The code receives the schema's output. The worker that runs the instance
   * checks it, so the schema should be synchronous; a caller that passes the definition checks it too.
   */
  readonly input?: StandardSchema;
  /** Checks the result. It must be synchronous. */
  readonly output?: StandardSchema;
  /**
   * What happens if the code diverges from the history: "block" (default) waits for other code, "fail" ends
   * the instance.
   */
  readonly onNondeterminism?: "block" | "fail";
  /**
   * How many executions the store keeps of an instance that continues as new, including the current one. Default:
   * the runtime's `retention.keepExecutions`.
   */
  readonly keepExecutions?: number;
}
const ORCHESTRATION_OPTIONS: Members<OrchestrationOptions> = {
  version: true,
  input: true,
  output: true,
  onNondeterminism: true,
  keepExecutions: true,
};
/** The argument of a definition's `onOpen`. */
export interface OpenedStore {
  /** A client on the store, with the codec of the runtime. */
  readonly client: ActivityClient;
  readonly log: Logger;
  /** The runtime that starts. */
  readonly runtimeId: string;
}

/** What a definition is, if Perdure made its orchestration: `schedule(…)`, `limiter(…)` or `entity(…)`. */
export type OrchestrationRole = "schedule" | "limiter" | "entity";

/** An orchestration, created by `orchestration(…)`. A flow is an orchestration too. */
export interface Orchestration<I, O, Nodes = Record<never, never>> {
  readonly kind: "orchestration";
  readonly name: string;
  readonly version: string;
  readonly options: OrchestrationOptions;
  readonly handler: (ctx: never, input: never) => Promise<unknown>;
  /** Set for a schedule, a limiter and an entity. Runtimes publish it with the name, for the dashboard. */
  readonly role?: OrchestrationRole;
  /** Set for a flow: the hash of its structure, which is part of its version (semantics 23). */
  readonly hash?: string;
  /** Activities that are registered with the orchestration: the functions of a flow's nodes. */
  readonly activities?: readonly Activity<never, unknown>[];
  /**
   * Called once by every runtime that registers the definition, when the runtime starts. If it rejects, the
   * runtime shuts down and its `start` rejects with the same error. A schedule applies its rule here: the
   * runtime may not import schedules.
   */
  readonly onOpen?: (opened: OpenedStore) => Promise<void>;
  /** Set for a job: how long ended instances are kept, by status. */
  readonly keepMs?: Readonly<Partial<Record<TerminalStatus, number>>>;
  readonly "~types"?: {
    readonly input: (input: I) => void;
    readonly output: () => O;
    /** The outputs of a flow's nodes by path. */
    readonly nodes?: () => Nodes;
  };
}

/**
 * Defines an orchestration: a deterministic async function that coordinates work and is replayed from its
 * history.
 */
export function orchestration<Schema extends StandardSchema, O>(
  name: string,
  fn: (ctx: OrchestrationContext<SchemaInput<Schema>>, input: SchemaOutput<Schema>) => Promise<O>,
  options: OrchestrationOptions & { readonly input: Schema },
): Orchestration<SchemaInput<Schema>, O>;
export function orchestration<I = undefined, O = unknown>(
  name: string,
  fn: (ctx: OrchestrationContext<I>, input: I) => Promise<O>,
  options?: OrchestrationOptions & { readonly input?: undefined },
): Orchestration<I, O>;
export function orchestration<I, O>(
  name: string,
  fn: (ctx: OrchestrationContext<I>, input: I) => Promise<O>,
  options: OrchestrationOptions = {},
): Orchestration<I, O> {
  parseName(name, "orchestration name");
  const what = `orchestration "${name}"`;
  checkFunction(fn, what);
  checkMembers<OrchestrationOptions>(options, ORCHESTRATION_OPTIONS, what);
  const version = options.version ?? "1.0.0";
  parseVersion(version);
  if (version === JOB_VERSION) {
    throw invalidArgument(
      `version of ${what} must not be "${JOB_VERSION}", which is reserved for jobs.`,
    );
  }
  checkSchema(options.input, `input of ${what}`);
  checkSchema(options.output, `output of ${what}`);
  checkChoice(options.onNondeterminism, ["block", "fail"], `onNondeterminism of "${name}"`);
  checkInteger(options.keepExecutions, 1, `keepExecutions of "${name}"`);
  return Object.freeze({ kind: "orchestration", name, version, options, handler: fn });
}

/** The name of an event, with the types of the raised and the received data. */
export interface EventDef<T, Raised = T> {
  readonly kind: "event";
  readonly name: string;
  readonly schema?: StandardSchema;
  readonly "~types"?: { readonly raised: (data: Raised) => void; readonly received: () => T };
}

/**
 * Defines a typed event name. A schema validates the data when a caller raises the event with this definition,
 * and when a wait with this definition receives it. The wait cannot check an asynchronous schema.
 */
export function event<Schema extends StandardSchema>(
  name: string,
  schema: Schema,
): EventDef<SchemaOutput<Schema>, SchemaInput<Schema>>;
export function event<T = undefined>(name: string): EventDef<T>;
export function event<T>(name: string, schema?: StandardSchema): EventDef<T> {
  parseName(name, "event name");
  checkSchema(schema, `event "${name}"`);
  return Object.freeze({ kind: "event", name, ...defined({ schema }) });
}

/** The options of a call in their recorded form. Absent options are omitted. */
export function activityOptions(options: RunOptions, what: string): ActivityOptions {
  const { timeout, scheduleToClose, priority, tags, session, heartbeatTimeout, key } = options;
  const retry = retryPolicy(options);
  if (priority !== undefined) checkPriority(priority, what);
  return {
    ...(retry === undefined ? {} : { retry }),
    ...(timeout === undefined ? {} : { timeoutMs: positive(timeout, `timeout of ${what}`) }),
    ...(scheduleToClose === undefined
      ? {}
      : { scheduleToCloseMs: positive(scheduleToClose, `scheduleToClose of ${what}`) }),
    ...(heartbeatTimeout === undefined
      ? {}
      : { heartbeatTimeoutMs: positive(heartbeatTimeout, `heartbeatTimeout of ${what}`) }),
    ...(session === undefined ? {} : { session: parseSession(session, what) }),
    ...(tags === undefined ? {} : { tags: normalizeTags(tags, what) }),
    ...(priority === undefined ? {} : { priority }),
    ...(key === undefined ? {} : { queueKey: parseQueueKey(key, what) }),
  };
}

export function checkPriority(priority: number, what: string): void {
  if (Number.isInteger(priority) && priority >= 1 && priority <= 5) return;
  const got = showValue(priority);
  throw invalidArgument(`priority of ${what} must be a whole number from 1 to 5; got ${got}.`);
}

function positive(duration: Duration, what: string): number {
  const ms = parseDuration(duration, what);
  if (ms > 0) return ms;
  throw invalidArgument(`${what} must be greater than 0; got ${showValue(duration)}.`);
}

const SESSION_BYTES_MAX = 256;

function parseSession(session: unknown, what: string): string {
  if (typeof session !== "string" || session === "") {
    const got = showValue(session);
    const rule = "must be a text of at least one character";
    throw invalidArgument(`session of ${what} ${rule}; got ${got}.`);
  }
  checkStorable(session, `session of ${what}`);
  const bytes = Buffer.byteLength(session);
  if (bytes <= SESSION_BYTES_MAX) return session;
  const message = `session of ${what} must have at most ${SESSION_BYTES_MAX} bytes; got ${bytes}.`;
  throw new PerdureError("LIMIT_EXCEEDED", message);
}
