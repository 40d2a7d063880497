// Definitions: what users write down once and register: activities, orchestrations, events.
//   D1. A definition is checked when it is made: a bad name, version or default never reaches a store.
//   D2. Types flow from here: whoever holds a definition needs no cast.

import type { ActivityContext } from "./activity-context.ts";
import { parseDuration, type Duration } from "./duration.ts";
import { PerdureError } from "./errors.ts";
import { checkExecutor, type Executor } from "./executor.ts";
import type { ActivityOptions } from "./history-events.ts";
import { parseName } from "./ids.ts";
import type { OrchestrationContext } from "./context-types.ts";
import { checkChoice, checkFunction, checkMembers, type Members } from "./known-members.ts";
import { normalizeRetry, type Retry } from "./retry-policy.ts";
import { parseVersion } from "./semver.ts";
import { parseSession } from "./session-id.ts";
import {
  checkSchema,
  type SchemaInput,
  type SchemaOutput,
  type StandardSchema,
} from "./standard-schema.ts";
import { normalizeTags } from "./tags.ts";

/** What a caller may say about an activity call. */
export interface RunOptions {
  /** Attempts, or a policy. Without it an activity runs once. */
  readonly retry?: Retry | number;
  /** For one attempt. */
  readonly timeout?: Duration;
  /** From the call to the final outcome, waiting in the queue and retries included. */
  readonly scheduleToClose?: Duration;
  /** 1 (first) to 5. Default: the instance's own. */
  readonly priority?: number;
  /** Only workers with all of these tags take it. An empty list: none, whatever the activity's defaults are. */
  readonly tags?: string | readonly string[];
  /** Runs where the other activities of this session run, for as long as its worker lives and it is in use. */
  readonly session?: string;
  /** Longest time between two heartbeats of one attempt, and before the first. */
  readonly heartbeatTimeout?: Duration;
}
/** What an activity's definition says for every call of it; `ctx.run` may replace all but the executor and the schemas. */
export interface ActivityDefaults extends RunOptions {
  /** Where it runs, in place of the runtime's choice. */
  readonly executor?: Executor;
  readonly input?: StandardSchema;
  readonly output?: StandardSchema;
}
export const RUN_OPTIONS: Members<RunOptions> = {
  retry: true,
  timeout: true,
  scheduleToClose: true,
  priority: true,
  tags: true,
  session: true,
  heartbeatTimeout: true,
};
const ACTIVITY_DEFAULTS: Members<ActivityDefaults> = {
  ...RUN_OPTIONS,
  executor: true,
  input: true,
  output: true,
};
export type ActivityFunction<I, O> = (input: I, ctx: ActivityContext) => O | Promise<O>;

/** An activity, as `activity(…)` makes it: a name, a function, defaults, and the types of both sides. */
export interface Activity<I, O, Name extends string = string> {
  readonly kind: "activity";
  readonly name: Name;
  readonly defaults: ActivityDefaults;
  /** The defaults as they are recorded. */
  readonly options: ActivityOptions;
  readonly handler: (input: never, ctx: ActivityContext) => unknown;
  readonly "~types"?: { readonly input: (input: I) => void; readonly output: () => O };
}

/** Defines an activity: a function that does real work, at least once. */
export function activity<Schema extends StandardSchema, O, Name extends string = string>(
  name: Name,
  fn: ActivityFunction<SchemaOutput<Schema>, O>,
  defaults: ActivityDefaults & { readonly input: Schema },
): Activity<SchemaInput<Schema>, O, Name>;
// A function without an input has the default, undefined: options in the place of the input do not compile.
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
  parseName(name, "activity name");
  const what = `activity "${name}"`;
  checkFunction(fn, what);
  checkMembers<ActivityDefaults>(defaults, ACTIVITY_DEFAULTS, what);
  if (defaults.executor !== undefined) {
    checkExecutor(defaults.executor, `executor of ${what}`);
  }
  checkSchema(defaults.input, `input of ${what}`);
  checkSchema(defaults.output, `output of ${what}`);
  const options = activityOptions(defaults, what);
  return Object.freeze({ kind: "activity", name, defaults, options, handler: fn });
}

/** What an orchestration's definition says besides its name and its function. */
export interface OrchestrationOptions {
  /** Semantic version; an instance stays on the one it started with. Default "1.0.0". */
  readonly version?: string;
  readonly input?: StandardSchema;
  readonly output?: StandardSchema;
  /** What a divergence from history does: "block" (default) waits for other code, "fail" ends the instance. */
  readonly onNondeterminism?: "block" | "fail";
}
const ORCHESTRATION_OPTIONS: Members<OrchestrationOptions> = {
  version: true,
  input: true,
  output: true,
  onNondeterminism: true,
};
/** An orchestration, as `orchestration(…)` makes it; a flow is one too. */
export interface Orchestration<I, O, Nodes = Record<never, never>> {
  readonly kind: "orchestration";
  readonly name: string;
  readonly version: string;
  readonly options: OrchestrationOptions;
  readonly handler: (ctx: never, input: never) => Promise<unknown>;
  /** Set where the version pins more than a number: a flow's structure (semantics 23). */
  readonly hash?: string;
  /** What is registered along with it: the steps of a flow. */
  readonly activities?: readonly Activity<never, unknown>[];
  readonly "~types"?: {
    readonly input: (input: I) => void;
    readonly output: () => O;
    /** A flow's outputs by path. */
    readonly nodes?: () => Nodes;
  };
}

/** Defines an orchestration: a deterministic async function that coordinates, replayed from its history. */
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
  checkSchema(options.input, `input of ${what}`);
  checkSchema(options.output, `output of ${what}`);
  checkChoice(options.onNondeterminism, ["block", "fail"], `onNondeterminism of "${name}"`);
  return Object.freeze({ kind: "orchestration", name, version, options, handler: fn });
}

/** An event's name, with the types of what is raised and what is received. */
export interface EventDef<T, Raised = T> {
  readonly kind: "event";
  readonly name: string;
  readonly schema?: StandardSchema;
  readonly "~types"?: { readonly raised: (data: Raised) => void; readonly received: () => T };
}

/** Defines a typed event name; a schema, if given, checks what is raised. */
export function event<Schema extends StandardSchema>(
  name: string,
  schema: Schema,
): EventDef<SchemaOutput<Schema>, SchemaInput<Schema>>;
export function event<T = undefined>(name: string): EventDef<T>;
export function event<T>(name: string, schema?: StandardSchema): EventDef<T> {
  parseName(name, "event name");
  checkSchema(schema, `event "${name}"`);
  return Object.freeze({ kind: "event", name, ...(schema === undefined ? {} : { schema }) });
}

/** Options of one call, as they are recorded; unset ones are left out. */
export function activityOptions(options: RunOptions, what: string): ActivityOptions {
  const { retry, timeout, scheduleToClose, priority, tags, session, heartbeatTimeout } = options;
  if (priority !== undefined) checkPriority(priority, what);
  return {
    ...(retry === undefined ? {} : { retry: normalizeRetry(retry) }),
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
  };
}

export function checkPriority(priority: number, what: string): void {
  if (Number.isInteger(priority) && priority >= 1 && priority <= 5) return;
  const message = `priority of ${what} is a whole number from 1 to 5, not ${String(priority)}.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

function positive(duration: Duration, what: string): number {
  const ms = parseDuration(duration, what);
  if (ms > 0) return ms;
  throw new PerdureError("INVALID_ARGUMENT", `${what} must be more than 0.`);
}
