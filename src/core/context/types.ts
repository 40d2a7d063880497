// The public types of an orchestration's context.
//   - All members of `ctx` are bound: they can be destructured.
//   - A call is recorded when it is made, in call order, not when it is awaited.

import type { Attributes, AttributeValue } from "../define/attributes.ts";
import type { StepContext } from "./activity-context.ts";
import type { ContextValues, InheritedContext } from "./app-types.ts";
import type { CallbackCalls } from "./callback-types.ts";
import type { Activity, EventDef, Orchestration, RunOptions } from "../define/definitions.ts";
import type { EntityDef } from "../define/entity.ts";
import type { AnyRequest, RequestDef, ValueDef } from "../define/request.ts";
import type { AnyStream, StreamWritten } from "../define/stream.ts";
import type { Duration } from "../time/duration.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Attempts } from "../define/retry-policy.ts";

/**
 * A durable promise. It works with `Promise.all` and similar functions, but only the methods here cancel
 * durably.
 */
export interface Task<T> extends Promise<T> {
  /**
   * Cancels the open work. An await of the task rejects with CancelledError. No effect after the task has
   * settled.
   */
  cancel(reason?: string): void;
  /** A task with the mapped value of this one. Cancelling either task cancels both. */
  map<U>(fn: (value: T) => U): Task<U>;
  [Symbol.dispose](): void;
}

/** The arguments of a call. The input is optional if the function has no input. */
export type InputArguments<I, Options> = unknown extends I
  ? [input?: I, options?: Options]
  : undefined extends I
    ? [input?: I, options?: Options]
    : [input: I, options?: Options];

/** A compile error for a function in the place of the input of a call by name. */
export type NotFunction<I, Hint> = [I] extends [(...args: never) => unknown] ? Hint : unknown;
type RunHint = "ctx.run takes an input here, not a function: did you mean ctx.step(name, fn)?";
export type InputHint = "A function cannot be stored: pass the input as data.";

/*
 * The target of a call is a definition, which has the types, or a name. One generic signature covers both:
 * with overloads, the compiler would report every mistake in the input as a mistake in the target.
 */
/** The arguments of `ctx.run` after the activity. */
export type RunArguments<A, I> = [A] extends [Activity<infer AI, unknown>]
  ? InputArguments<AI, RunOptions>
  : [input?: I, options?: RunOptions];
/** The result of an activity; unknown for a call by name. */
export type ActivityOutput<A> = [A] extends [Activity<never, infer O>] ? Awaited<O> : unknown;
/** The input of an activity; unknown for a call by name. */
export type ActivityInput<A> = [A] extends [Activity<infer I, unknown>] ? I : unknown;
/** The arguments of `enqueue` after the job. */
export type EnqueueArguments<A, I, Options> = [A] extends [Activity<infer AI, unknown>]
  ? InputArguments<AI, Options>
  : [input?: I, options?: Options];
/** The arguments after an orchestration. */
export type OrchestrationArguments<C, I, Options> = [C] extends [Orchestration<infer CI, unknown>]
  ? InputArguments<CI, Options>
  : [input?: I, options?: Options];
/** The result of an orchestration; unknown for a call by name. */
export type OrchestrationOutput<C> = [C] extends [Orchestration<never, infer O>] ? O : unknown;
/** The input of an orchestration; unknown for a call by name. */
export type OrchestrationInput<C> = [C] extends [Orchestration<infer I, unknown>] ? I : unknown;
/** The data of an event; unknown for an event given by name. */
export type EventValue<E> = [E] extends [EventDef<infer T, never>] ? T : unknown;

/** The arguments of `raise` after the event. */
export type RaiseArguments<E, Options> = [E] extends [EventDef<unknown, infer Raised>]
  ? unknown extends Raised
    ? [data?: Raised, options?: Options]
    : undefined extends Raised
      ? [data?: Raised, options?: Options]
      : [data: Raised, options?: Options]
  : [data?: unknown, options?: Options];
/** The outputs of a flow's nodes by their paths. */
export type OrchestrationNodes<C> = [C] extends [Orchestration<never, unknown, infer Nodes>]
  ? Nodes
  : Record<never, never>;

/** Options of `ctx.step`. */
export type StepOptions = Attempts & {
  readonly timeout?: Duration;
};
/** Options of `ctx.call`. */
export interface CallOptions extends InheritedContext {
  /** The id of the child. Default: derived from the id of the parent. */
  readonly id?: string;
  readonly version?: string;
  /**
   * What happens to a running child when the parent ends. Default "cancel". With "abandon" the child
   * continues when its parent ends, its scope is cancelled or its race is lost. Only cancelling its own task
   * cancels it.
   */
  readonly onParentClose?: "cancel" | "abandon";
  /** 1 (first) to 5. Default: the caller's. */
  readonly priority?: number;
  /** Searchable values of the child. */
  readonly attributes?: Attributes;
  /** The child begins after this time. */
  readonly delay?: Duration;
}
/** Options of `ctx.startDetached`. */
export interface DetachedOptions extends InheritedContext {
  readonly id: string;
  readonly version?: string;
  /** 1 (first) to 5. Default: the caller's. */
  readonly priority?: number;
  /** Searchable values of the new instance. */
  readonly attributes?: Attributes;
  /** The instance begins after this time. */
  readonly delay?: Duration;
  /** What happens if the id is in use, as in `client.start`. Default "fail". */
  readonly onConflict?: "fail" | "useExisting" | "restart" | "terminateExisting";
}
/** The result of `ctx.startDetached`. "existing": `onConflict` was "useExisting", and the id was in use. */
export type DetachedOutcome = "started" | "existing";
/** Options of `ctx.raise`. */
export interface ContextRaiseOptions {
  /** "keep": the event waits for an instance that does not exist yet. Default "fail". */
  readonly ifMissing?: "fail" | "keep";
  /** How long a kept event waits. Only with `ifMissing: "keep"`. Default: 7 days. */
  readonly keepFor?: Duration;
}
/** How an ask starts the instance that it asks, if that does not exist. */
export interface AskStartOptions<C extends AnyTarget = AnyTarget> extends InheritedContext {
  readonly orchestration: C;
  readonly input?: OrchestrationInput<C>;
  readonly version?: string;
  /** What happens if the instance has ended. Default "fail". */
  readonly ifEnded?: "fail" | "restart";
}
type AnyTarget = Orchestration<never, unknown> | string;
/** Options of `ctx.ask`. */
export interface ContextAskOptions {
  /** How long to wait for the answer. Then the call rejects with `TIMEOUT`. Default: no timeout. */
  readonly timeout?: Duration;
  /** Starts the instance in the same commit if it does not exist. */
  readonly start?: AskStartOptions;
}

/** A request that the code has received. It must be answered or refused once. */
export interface RequestCall<I, O> {
  /** The request id. */
  readonly id: string;
  readonly name: string;
  readonly input: I;
  /** The instance that asks. Undefined: a client asks. */
  readonly from: { readonly id: string } | undefined;
  readonly isAnswered: boolean;
  /** Answers the request. The asker gets the answer when this turn is committed. */
  answer(value: O): void;
  /** Refuses the request: the asker gets a RequestError of kind "refused" with this reason. */
  refuse(reason: string | Error): void;
  /** Ends the request with a failure: the asker gets a RequestError of kind "failed" with this cause. */
  fail(error: unknown): void;
  /** Whether this is a request of that definition, for loops over several requests. */
  is<I2, O2, Sent, Answered>(
    request: RequestDef<I2, O2, Sent, Answered>,
  ): this is RequestCall<I2, Answered>;
}
/** Options of `ctx.serve`. */
export interface ServeOptions<I = unknown> {
  /** Run the handlers one at a time, in order of arrival. Default: concurrently. */
  readonly serial?: boolean;
  /**
   * Checks the input before the request is received: an error that it throws refuses the request, and nothing is
   * recorded. It must be synchronous and must not use `ctx`.
   */
  readonly validate?: (input: I) => void;
}
/** The calls of these requests. */
export type RequestCallOf<R> =
  R extends RequestDef<infer I, unknown, never, infer Answered>
    ? RequestCall<I, Answered>
    : RequestCall<unknown, unknown>;
/** The input of a request; anything for a request given by name. */
export type RequestSent<R> =
  R extends RequestDef<unknown, unknown, infer Sent, never> ? Sent : unknown;
/** The answer to a request; unknown for a request given by name. */
export type RequestOutput<R> = R extends RequestDef<unknown, infer O, never, never> ? O : unknown;
/** The arguments of `ask` after the request. */
export type AskArguments<R, Options> = InputArguments<RequestSent<R>, Options>;
/** Options of `ctx.waitFor`. */
export interface WaitForOptions<T extends Duration | undefined = Duration | undefined> {
  /**
   * How long to wait, from the call on. Then the wait is cancelled, and the result is null. Default: forever.
   */
  readonly timeout?: T;
  /**
   * "ever" (default): the oldest unread event. "now": only an event that is delivered after this wait was
   * recorded.
   */
  readonly since?: "ever" | "now";
  /** Shown by `describe()` and the dashboard with the wait. */
  readonly details?: unknown;
  /** Only code raises this event: the dashboard does not offer to raise it. Default false. */
  readonly internal?: boolean;
}

/** A wait without a timeout never returns null. */
export type NullOnTimeout<T> = [T] extends [undefined] ? never : null;

/** A branch of a combinator: a task, or a function that runs as a scope. */
export type Branch<T> = Task<T> | (() => T | Promise<T>);
export type BranchValue<B> = B extends () => infer R ? Awaited<R> : Awaited<B>;
type Branches = readonly (Branch<unknown> | Promise<unknown>)[];
type Cancellable = readonly Branch<unknown>[];
export type RaceWinner<B> = {
  [K in keyof B]: { readonly key: K; readonly value: BranchValue<B[K]> };
}[keyof B];
/**
 * For a list written in the call, the type of `index` determines the type of `value`. Otherwise `index` is a
 * number.
 */
export type RaceIndexWinner<B extends Cancellable> = {
  [K in keyof B]: {
    readonly index: K extends `${infer Index extends number}` ? Index : number;
    readonly value: BranchValue<B[K]>;
  };
}[number];

/** Facts about the execution. All of them except `isReplaying` are the same in every replay. */
export interface OrchestrationInfo {
  readonly instanceId: string;
  readonly executionId: number;
  readonly name: string;
  readonly version: string;
  readonly parent: { readonly id: string; readonly sequence: number } | undefined;
  readonly isReplaying: boolean;
  /** The number of events up to the last delivered one. */
  readonly historyLength: number;
  /** The bytes of the history rows before the row of the last delivered event. */
  readonly historyBytes: number;
  readonly cancelRequested: boolean;
  readonly attributes: Attributes;
}

/**
 * The key-values of an instance. Reads and writes take effect at once, without a round trip. Writes are
 * recorded.
 */
export interface KeyValues {
  get<T = unknown>(key: string): T | undefined;
  set(key: string, value: unknown): void;
  delete(key: string): void;
  clear(): void;
  /** Sorted by key. */
  entries<T = unknown>(): readonly (readonly [key: string, value: T])[];
  readonly size: number;
  /** Deletes the keys that were set longer ago than `age`. Returns their number. */
  pruneOlderThan(age: Duration): number;
  /** Reads a key of another instance. The value is read once and recorded. */
  of(instanceId: string): { get<T = unknown>(key: string): Task<T | undefined> };
}

/** A stream of the instance, as its orchestration sees it. */
export interface OrchestrationStream<Written> {
  /** Appends a value. Readers get it when this turn is committed. */
  write(value: Written): void;
  /** Closes the stream with this turn: its readers end, and further writes throw. */
  close(): void;
}

/** The context of an orchestration: all its calls and waits go through it. Members are bound. */
export interface OrchestrationContext<I = unknown> extends CallbackCalls {
  /** Runs an activity. */
  run<A extends Activity<never, unknown> | string, I extends NotFunction<I, RunHint>>(
    activity: A,
    ...rest: RunArguments<A, I>
  ): Task<ActivityOutput<A>>;
  /** Runs a function in this process and records its outcome. */
  step<O>(name: string, fn: (s: StepContext) => O | Promise<O>, options?: StepOptions): Task<O>;
  /**
   * Runs your statements and the step's checkpoint in one transaction: both are committed or neither, exactly
   * once. `tx` is a `DatabaseSync` on SQLite, where the function must be synchronous, and a client of `pg` on
   * PostgreSQL. The function may run more than once, but commits once.
   */
  tx<O, Transaction = unknown>(
    name: string,
    fn: (tx: Transaction) => O | Promise<O>,
    options?: StepOptions,
  ): Task<O>;
  /** Runs another orchestration as a child and waits for its result. */
  call<C extends Orchestration<never, unknown> | string, I extends NotFunction<I, InputHint>>(
    child: C,
    ...rest: OrchestrationArguments<C, I, CallOptions>
  ): Task<OrchestrationOutput<C>>;
  /**
   * Starts an orchestration that is independent of this one, in the commit of this turn. The task has the outcome;
   * if the code does not use it, a failure is logged.
   */
  startDetached<C extends Orchestration<never, unknown> | string>(
    child: C,
    input: OrchestrationInput<C>,
    options: DetachedOptions,
  ): Task<DetachedOutcome>;
  /**
   * Raises an event at another instance, in the commit of this turn. The task resolves when the event is delivered
   * or kept; if the code does not use it, a failure is logged.
   */
  raise<E extends EventDef<unknown, never> | string>(
    instanceId: string,
    event: E,
    ...rest: RaiseArguments<E, ContextRaiseOptions>
  ): Task<void>;
  /** Asks another instance and waits for the answer, for any length of time. */
  ask<R extends AnyRequest | string>(
    instanceId: string,
    request: R,
    ...rest: AskArguments<R, ContextAskOptions>
  ): Task<RequestOutput<R>>;
  /** The requests of these definitions, one at a time, in order of arrival, for `for await`. */
  requests<const R extends readonly (AnyRequest | string)[]>(
    ...requests: R
  ): AsyncIterable<RequestCallOf<R[number]>>;
  /**
   * Runs a handler for every request of that definition, alongside this code. The value that it returns is the
   * answer; an error that it throws refuses the request. Cancel the task to stop.
   */
  serve<I, O, Sent, Answered>(
    request: RequestDef<I, O, Sent, Answered>,
    handler: (
      input: I,
      call: RequestCall<I, Answered>,
    ) => Answered | void | Promise<Answered | void>,
    options?: ServeOptions<I>,
  ): Task<never>;
  /** Waits for a duration of any length, or until a point in time. */
  sleep(until: Duration | Date): Task<void>;
  /**
   * Waits for an event and takes it: the oldest unread one of that name. With `timeout`: null when it is
   * over. If the event has a schema, an event that the schema refuses stays unread and the wait goes on.
   */
  waitFor<E extends EventDef<unknown, never> | string, T extends Duration | undefined = undefined>(
    event: E,
    options?: WaitForOptions<T>,
  ): Task<EventValue<E> | NullOnTimeout<T>>;
  /** Every event of that name, one after the other, for `for await`. */
  events<E extends EventDef<unknown, never> | string>(event: E): AsyncIterable<EventValue<E>>;
  /** A stream of this instance, for readers outside: `handle.stream()`. */
  stream<S extends AnyStream | string>(stream: S): OrchestrationStream<StreamWritten<S>>;
  /** The entity with this key. Its handlers are durable calls, its reads are recorded. */
  entity<Calls>(entity: EntityDef<unknown, Calls>, key: string): Calls;
  /** Runs a block that can be cancelled as a whole. */
  scope<T>(fn: () => T | Promise<T>): Task<T>;
  /** All values, in order. The first failure rejects and cancels the other branches. */
  all<const B extends Branches>(branches: B): Task<{ -readonly [K in keyof B]: BranchValue<B[K]> }>;
  allSettled<const B extends Branches>(
    branches: B,
  ): Task<{ -readonly [K in keyof B]: PromiseSettledResult<BranchValue<B[K]>> }>;
  /** The first success. Cancels the other branches. Rejects with AggregateError if all fail. */
  any<const B extends Cancellable>(branches: B): Task<BranchValue<B[number]>>;
  /** The first outcome, success or failure. Cancels the other branches. */
  race<const B extends Cancellable>(branches: B): Task<RaceIndexWinner<B>>;
  race<const B extends Readonly<Record<string, Branch<unknown>>>>(branches: B): Task<RaceWinner<B>>;
  /** Ends this execution and starts the next one with an empty history: `return ctx.continueAsNew(…)`. */
  continueAsNew(input: I, options?: { readonly version?: string }): Promise<never>;
  /** The time of the last delivered event. */
  now(): Date;
  uuid(): string;
  random(): number;
  /**
   * Whether to take the new path of a change: true beyond the recorded history, and in every replay of such a
   * call.
   */
  patched(change: string, options?: { readonly retired?: boolean }): boolean;
  /** Sets the custom status: any value. `describe` and `watch` show it. Null removes it. */
  setStatus(value: unknown): void;
  readonly status: unknown;
  /** The key-values of this instance. They survive continueAsNew. */
  readonly kv: KeyValues;
  /** Sets a typed value. Undefined removes it. */
  set<T>(value: ValueDef<T>, to: T | undefined): void;
  /** A typed value; undefined if it is not set. */
  get<T>(value: ValueDef<T>): T | undefined;
  /** Sets searchable values: texts, numbers, booleans and dates. Null removes an attribute. */
  setAttributes(attributes: Readonly<Record<string, AttributeValue | null>>): void;
  /** Runs a block to its end, even if the instance is cancelled. */
  shield<T>(fn: () => T | Promise<T>): Promise<T>;
  /** Compensation: runs in reverse order if the orchestration fails or is cancelled. */
  compensate(fn: () => unknown): void;
  /** Silent while replaying. */
  readonly log: Logger;
  readonly info: OrchestrationInfo;
  /** The context of the start. Empty if there is none. */
  readonly context: ContextValues;
}
