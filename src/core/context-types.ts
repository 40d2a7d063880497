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

/**
 * The arguments of a call whose input may be left out when the function takes none. Used with NoInfer: the
 * definition alone says what the input is, or a misspelt member would be taken for one of a wider type.
 */
export type InputArguments<I, Options> = unknown extends I
  ? [input?: I, options?: Options]
  : undefined extends I
    ? [input?: I, options?: Options]
    : [input: I, options?: Options];

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
}
/** What `ctx.startDetached` is told about the instance it starts. */
export interface DetachedOptions {
  readonly id: string;
  readonly version?: string;
}
/** What `ctx.event` may be told about one wait. */
export interface EventOptions {
  /** "ever" (default): the oldest unread one; "now": only one that is taken after this wait was recorded. */
  readonly since?: "ever" | "now";
  /** Shown to people who ask what the instance is waiting for. */
  readonly details?: unknown;
}

/** Something to wait for: a task, or a function that is run as a scope. */
export type Branch<T> = Task<T> | (() => T | Promise<T>);
export type BranchValue<B> = B extends () => infer R ? Awaited<R> : Awaited<B>;
type Branches = readonly (Branch<unknown> | Promise<unknown>)[];
type Cancellable = readonly Branch<unknown>[];
export type RaceWinner<B> = {
  [K in keyof B]: { readonly key: K; readonly value: BranchValue<B[K]> };
}[keyof B];
export type RaceIndexWinner<B extends Cancellable> = {
  readonly index: number;
  readonly value: BranchValue<B[number]>;
};

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
  run<AI, AO>(
    activity: Activity<AI, AO>,
    ...rest: InputArguments<NoInfer<AI>, RunOptions>
  ): Task<Awaited<AO>>;
  run(activity: string, input?: unknown, options?: RunOptions): Task<unknown>;
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
  call<CI, CO>(
    child: Orchestration<CI, CO>,
    ...rest: InputArguments<NoInfer<CI>, CallOptions>
  ): Task<CO>;
  call(child: string, input?: unknown, options?: CallOptions): Task<unknown>;
  /** Starts another orchestration that lives on its own. */
  startDetached<CI>(
    child: Orchestration<CI, unknown>,
    input: NoInfer<CI>,
    options: DetachedOptions,
  ): void;
  startDetached(child: string, input: unknown, options: DetachedOptions): void;
  /** Waits for a time, however long, or until a moment. */
  sleep(until: Duration | Date): Task<void>;
  /** Takes the next message of that name. */
  event<T, Raised>(event: EventDef<T, Raised>, options?: EventOptions): Task<T>;
  event(event: string, options?: EventOptions): Task<unknown>;
  events<T, Raised>(event: EventDef<T, Raised>): AsyncIterable<T>;
  events(event: string): AsyncIterable<unknown>;
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
