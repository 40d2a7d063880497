// The public face of an orchestration's context: what `ctx` offers, in types.
//   X1. Everything is bound: members may be taken apart.
//   X2. A call is recorded when it is made, in call order, not when it is awaited.

import type { StepContext } from "./activity-context.ts";
import type { Activity, EventDef, Orchestration, RunOptions } from "./definitions.ts";
import type { Duration } from "./duration.ts";
import type { Logger } from "./log.ts";
import type { Retry } from "./retry-policy.ts";

/** A durable promise. It works with `Promise.all` and friends; only the methods here cancel durably. */
export interface Task<T> extends Promise<T> {
  /** Cancels what is still open; an await of it rejects with CancelledError. Does nothing once settled. */
  cancel(reason?: string): void;
  /** The same work with its value mapped; cancelling either cancels both. */
  map<U>(fn: (value: T) => U): Task<U>;
  [Symbol.dispose](): void;
}

/** The arguments of a call. The input is optional when the function takes none. */
export type InputArguments<I, Options> = unknown extends I
  ? [input?: I, options?: Options]
  : undefined extends I
    ? [input?: I, options?: Options]
    : [input: I, options?: Options];

/** Refuses a function where the input of a call by name is expected. */
export type NotFunction<I, Hint> = [I] extends [(...args: never) => unknown] ? Hint : unknown;
type RunHint = "ctx.run takes an input here, not a function: did you mean ctx.step(name, fn)?";
export type InputHint = "A function cannot be stored: pass the input as data.";

/*
 * A call names its target by a definition, which gives the types, or by a string. One generic signature covers both:
 * with overloads, every mistake in the input would be reported as a mistake in the target.
 */
/** The arguments of `ctx.run` after the activity. */
export type RunArguments<A, I> = [A] extends [Activity<infer AI, unknown>]
  ? InputArguments<AI, RunOptions>
  : [input?: I, options?: RunOptions];
/** What an activity returns; unknown for one that is given by its name. */
export type ActivityOutput<A> = [A] extends [Activity<never, infer O>] ? Awaited<O> : unknown;
/** The arguments after an orchestration. */
export type OrchestrationArguments<C, I, Options> = [C] extends [Orchestration<infer CI, unknown>]
  ? InputArguments<CI, Options>
  : [input?: I, options?: Options];
/** What an orchestration returns; unknown for one that is given by its name. */
export type OrchestrationOutput<C> = [C] extends [Orchestration<never, infer O>] ? O : unknown;
/** The input of an orchestration; anything for one that is given by its name. */
export type OrchestrationInput<C> = [C] extends [Orchestration<infer I, unknown>] ? I : unknown;
/** What an event carries; unknown for one that is given by its name. */
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

/** What `ctx.step` may be told about one step. */
export interface StepOptions {
  readonly retry?: Retry | number;
  readonly timeout?: Duration;
}
/** What `ctx.call` may be told about a child. */
export interface CallOptions {
  /** The child's id; without it one is derived from the parent's. */
  readonly id?: string;
  readonly version?: string;
  /**
   * What the parent's end does to a child that is still running. Default "cancel". One that is abandoned lives on
   * whatever takes its siblings along; only a cancel of its own task reaches it.
   */
  readonly onParentClose?: "cancel" | "abandon";
  /** 1 (first) to 5. Default: the caller's. */
  readonly priority?: number;
}
/** What `ctx.startDetached` is told about the instance it starts. */
export interface DetachedOptions {
  readonly id: string;
  readonly version?: string;
  /** 1 (first) to 5. Default: the caller's. */
  readonly priority?: number;
}
/** What `ctx.event` may be told about one wait. */
export interface EventOptions {
  /** "ever" (default): the oldest unread one; "now": only one that is taken after this wait was recorded. */
  readonly since?: "ever" | "now";
  /** Shown to people who ask what the instance is waiting for. */
  readonly details?: unknown;
  /** Only code sends this event: the dashboard does not offer to raise it. Default false. */
  readonly internal?: boolean;
}

/** Something to wait for: a task, or a function that is run as a scope. */
export type Branch<T> = Task<T> | (() => T | Promise<T>);
export type BranchValue<B> = B extends () => infer R ? Awaited<R> : Awaited<B>;
type Branches = readonly (Branch<unknown> | Promise<unknown>)[];
type Cancellable = readonly Branch<unknown>[];
export type RaceWinner<B> = {
  [K in keyof B]: { readonly key: K; readonly value: BranchValue<B[K]> };
}[keyof B];
/** Of a list written in the call, `index` says which value it is; of any other list it is a number. */
export type RaceIndexWinner<B extends Cancellable> = {
  [K in keyof B]: {
    readonly index: K extends `${infer Index extends number}` ? Index : number;
    readonly value: BranchValue<B[K]>;
  };
}[number];

/** What an orchestration may know of itself. All but `isReplaying` is the same at every replay. */
export interface OrchestrationInfo {
  readonly instanceId: string;
  readonly executionId: number;
  readonly name: string;
  readonly version: string;
  readonly parent: { readonly id: string; readonly sequence: number } | undefined;
  readonly isReplaying: boolean;
  /** Events up to the one last delivered. */
  readonly historyLength: number;
  /** Bytes of the rows before the one that holds the event last delivered. */
  readonly historyBytes: number;
  readonly cancelRequested: boolean;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Reads and writes take effect at once and cost no round trip; writes are recorded. */
export interface KeyValues {
  get<T = unknown>(key: string): T | undefined;
  set(key: string, value: unknown): void;
  delete(key: string): void;
  clear(): void;
  /** Sorted by key. */
  entries<T = unknown>(): readonly (readonly [key: string, value: T])[];
  readonly size: number;
  /** Deletes what was set longer ago than that; how many there were. */
  pruneOlderThan(age: Duration): number;
  /** Another instance's key-values: read once, recorded. */
  of(instanceId: string): { get<T = unknown>(key: string): Task<T | undefined> };
}

/** Everything an orchestration waits for, and everything it says, goes through this. Members are bound. */
export interface OrchestrationContext<I = unknown> {
  /** Runs an activity. */
  run<A extends Activity<never, unknown> | string, I extends NotFunction<I, RunHint>>(
    activity: A,
    ...rest: RunArguments<A, I>
  ): Task<ActivityOutput<A>>;
  /** Runs a function in this process and records its outcome. */
  step<O>(name: string, fn: (s: StepContext) => O | Promise<O>, options?: StepOptions): Task<O>;
  /**
   * Statements of yours and the step's own checkpoint in one transaction: both or neither, exactly once. `tx` is a
   * `DatabaseSync` on SQLite, where the function is synchronous, and a client of `pg` on PostgreSQL. It may run more
   * than once; it commits once.
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
  /** Starts another orchestration that lives on its own. */
  startDetached<C extends Orchestration<never, unknown> | string>(
    child: C,
    input: OrchestrationInput<C>,
    options: DetachedOptions,
  ): void;
  /** Waits for a time, however long, or until a moment. */
  sleep(until: Duration | Date): Task<void>;
  /** Takes the next message of that name. */
  event<E extends EventDef<unknown, never> | string>(
    event: E,
    options?: EventOptions,
  ): Task<EventValue<E>>;
  events<E extends EventDef<unknown, never> | string>(event: E): AsyncIterable<EventValue<E>>;
  /** A block that is cancelled as one. */
  scope<T>(fn: () => T | Promise<T>): Task<T>;
  /** All values, in order; the first failure rejects and cancels the rest. */
  all<const B extends Branches>(branches: B): Task<{ -readonly [K in keyof B]: BranchValue<B[K]> }>;
  allSettled<const B extends Branches>(
    branches: B,
  ): Task<{ -readonly [K in keyof B]: PromiseSettledResult<BranchValue<B[K]>> }>;
  /** The first success; the rest is cancelled. Rejects with AggregateError when all fail. */
  any<const B extends Cancellable>(branches: B): Task<BranchValue<B[number]>>;
  /** The first outcome, success or failure; the rest is cancelled. */
  race<const B extends Cancellable>(branches: B): Task<RaceIndexWinner<B>>;
  race<const B extends Readonly<Record<string, Branch<unknown>>>>(branches: B): Task<RaceWinner<B>>;
  /** Ends this execution and starts the next with fresh history: `return ctx.continueAsNew(…)`. */
  continueAsNew(input: I, options?: { readonly version?: string }): Promise<never>;
  /** The time of the event last delivered. */
  now(): Date;
  uuid(): string;
  random(): number;
  /** Whether to take the new path of a change: true beyond the recorded past, and wherever it was true before. */
  patched(change: string, options?: { readonly retired?: boolean }): boolean;
  /** Custom status: any value, shown by `describe` and `watch`; null takes it away. */
  setStatus(value: unknown): void;
  readonly status: unknown;
  /** This instance's key-values; they survive continueAsNew. */
  readonly kv: KeyValues;
  /** Searchable texts; null takes one away. */
  setAttributes(attributes: Readonly<Record<string, string | null>>): void;
  /** Runs to its end although the instance is being cancelled. */
  shield<T>(fn: () => T | Promise<T>): Promise<T>;
  /** Compensation: runs in reverse order if the orchestration fails or is cancelled. */
  defer(fn: () => unknown): void;
  /** Silent while replaying. */
  readonly log: Logger;
  readonly info: OrchestrationInfo;
}
