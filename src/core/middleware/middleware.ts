// The public types of middleware, and the check of the option `middleware`.

import { checkFunction, invalidArgument, unknownMember } from "../checks.ts";
import type { ActivityInfo } from "../context/activity-context.ts";
import type { ContextInput, ContextValues } from "../context/app-types.ts";
import { showValue } from "../ids/ids.ts";

/**
 * A start: of an instance ("start"), of a job ("enqueue"), or of many ("startMany", "enqueueMany", whose input is the
 * list of items). Its middleware may change input, options and context.
 */
export interface StartCall {
  readonly kind: "start" | "startMany" | "enqueue" | "enqueueMany";
  /** The name of the orchestration or of the job. */
  readonly name: string;
  readonly input: unknown;
  /** The options of the call without `context`. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly context: ContextInput;
}
/** What a start has started. */
export interface StartedInstances {
  readonly ids: readonly string[];
}
/** An event. Its middleware may change the data (`input`) and the options. */
export interface RaiseCall {
  readonly kind: "raise";
  /** The name of the event. */
  readonly name: string;
  readonly input: unknown;
  readonly options: Readonly<Record<string, unknown>>;
  /** Empty: an event has no context. */
  readonly context: ContextInput;
  readonly instanceId: string;
}
/** A request. Its middleware may change input, options and context. */
export interface AskCall {
  readonly kind: "ask";
  /** The name of the request. */
  readonly name: string;
  readonly input: unknown;
  /** The options of the call. `start` is without `context`. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The context of the instance if the call starts it. */
  readonly context: ContextInput;
  readonly instanceId: string;
}
/** The attempt that a call is made in. */
export interface AttemptOptions {
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly info: ActivityInfo;
}
/** An attempt of an activity. Its middleware may change input and result. */
export interface ActivityCall {
  readonly kind: "activity";
  readonly name: string;
  readonly input: unknown;
  readonly options: AttemptOptions;
  readonly context: ContextValues;
  readonly instanceId: string;
}
/** An attempt of a step. Its middleware may change the result. */
export interface StepCall extends Omit<ActivityCall, "kind" | "input"> {
  readonly kind: "step";
  /** A step has no input. */
  readonly input: undefined;
}

/** Continues with the call, or with a changed copy of it. It can be called once. */
export type Next<Call, Result> = (call?: Call) => Promise<Result>;

/**
 * Functions around calls. The first middleware of the list is the outermost. `start`, `raise` and `ask` must call `next`
 * and return its result, or throw. What `activity` and `step` return is the result of the attempt.
 */
export interface Middleware {
  readonly start?: (
    call: StartCall,
    next: Next<StartCall, StartedInstances>,
  ) => StartedInstances | Promise<StartedInstances>;
  readonly raise?: (call: RaiseCall, next: Next<RaiseCall, void>) => void | Promise<void>;
  readonly ask?: (call: AskCall, next: Next<AskCall, unknown>) => unknown;
  readonly activity?: (call: ActivityCall, next: Next<ActivityCall, unknown>) => unknown;
  readonly step?: (call: StepCall, next: Next<StepCall, unknown>) => unknown;
}

/** One function of a middleware. */
export type Layer<Call, Result> = (call: Call, next: Next<Call, Result>) => unknown;
type LayersOf<Call, Result> = readonly Layer<Call, Result>[] | null;

/** The functions of all middleware by kind, in order. Null: there are none of this kind. */
export interface Layers {
  readonly start: LayersOf<StartCall, StartedInstances>;
  readonly raise: LayersOf<RaiseCall, void>;
  readonly ask: LayersOf<AskCall, unknown>;
  readonly activity: LayersOf<ActivityCall, unknown>;
  readonly step: LayersOf<StepCall, unknown>;
}

const KINDS = { start: true, raise: true, ask: true, activity: true, step: true } as const;

export const NO_LAYERS: Layers = {
  start: null,
  raise: null,
  ask: null,
  activity: null,
  step: null,
};

/** Throws INVALID_ARGUMENT unless it is a list of middleware. */
export function layersOf(middleware: readonly Middleware[] | undefined): Layers {
  if (middleware === undefined) return NO_LAYERS;
  const given: unknown = middleware;
  if (!Array.isArray(given)) {
    throw invalidArgument(`middleware must be a list; got ${showValue(given)}.`);
  }
  for (const [index, each] of middleware.entries()) checkOne(each, `middleware[${index}]`);
  const of = <Kind extends keyof Middleware>(kind: Kind) => {
    const layers = middleware.flatMap((each) => each[kind]?.bind(each) ?? []);
    return layers.length === 0 ? null : (layers as NonNullable<Layers[Kind]>); // by kind
  };
  return {
    start: of("start"),
    raise: of("raise"),
    ask: of("ask"),
    activity: of("activity"),
    step: of("step"),
  };
}

function checkOne(middleware: unknown, what: string): void {
  if (typeof middleware !== "object" || middleware === null || Array.isArray(middleware)) {
    throw invalidArgument(`${what} must be an object of functions; got ${showValue(middleware)}.`);
  }
  const unknown = Object.keys(middleware).find((name) => !Object.hasOwn(KINDS, name));
  if (unknown !== undefined) throw invalidArgument(unknownMember(unknown, KINDS, what));
  for (const kind of Object.keys(KINDS)) {
    const fn: unknown = Reflect.get(middleware, kind); // also of a class
    if (fn !== undefined) checkFunction(fn, `${what}.${kind}`);
  }
}
