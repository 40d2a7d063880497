// Telemetry: the interface between the engine and an observer such as `perdure/otel`.
//   - Without an observer there is no cost.
//   - The engine reports an event after the commit that records it has returned (I13), and reports nothing in
//       a replay.
//   - telemetry.1: An observer never changes an outcome. The engine ignores errors that an observer throws.

import type { EventBody } from "../history/events.ts";
import type { QueueOutcomes } from "../provider/queues.ts";

/** A start by a client. */
export interface StartSpan {
  readonly orchestration: string;
  readonly instanceId: string;
}

/** A request by a client, from the call to the answer. */
export interface AskSpan {
  readonly request: string;
  /** The instance that is asked. */
  readonly instanceId: string;
}

/**
 * How an ask ended. "refused": the code refused the request. "failed": its handler threw. "timedOut": there was no
 * answer in time. "error": any other error, such as an instance that has ended or an aborted wait.
 */
export type AskOutcome = "answered" | "refused" | "failed" | "timedOut" | "error";

/** A received call from outside: to a callback, to an activity that completes later, or to a webhook. */
export interface CallbackSpan {
  readonly kind: "callback" | "activity" | "webhook";
  /** The name of the callback, the activity or the webhook. */
  readonly name: string;
  /** The instance that the call is for; undefined for a webhook. */
  readonly instanceId: string | undefined;
}
/** How a call from outside ended. */
export interface CallbackEnd {
  /** Such as "completed", "accepted", "started", "callback_closed" or "value_refused". */
  readonly outcome: string;
  /** The trace context in which the instance was started; undefined if it is not known. */
  readonly traceParent?: string | undefined;
}

/** One attempt of an activity or a step. */
export interface AttemptSpan {
  readonly kind: "activity" | "step";
  readonly name: string;
  readonly instanceId: string;
  readonly execution: number;
  readonly orchestration: string;
  readonly sequence: number;
  readonly attempt: number;
  readonly tags: readonly string[];
  /** The trace context in which the instance was started; undefined if there is none. */
  readonly traceParent: string | undefined;
}

/**
 * How an attempt ended. "cancelled" includes a lost lease and a shutdown. "deferred": its code has ended, and a call from
 * outside completes the activity. "unconfigured": the worker has no settings of callbacks.
 */
export type AttemptOutcome =
  | "completed"
  | "failed"
  | "timedOut"
  | "cancelled"
  | "died"
  | "undecodable"
  | "deferred"
  | "unconfigured";

/** A turn, after its commit. */
export interface TurnRecord {
  readonly orchestration: string;
  readonly version: string;
  readonly instanceId: string;
  readonly execution: number;
  readonly events: readonly EventBody[];
  /**
   * The number of recorded events that the runtime replayed before the turn; 0 if the instance was cached.
   */
  readonly replayed: number;
  readonly historyLength: number;
  /** When the execution started, by the store's clock. */
  readonly startedAt: number;
  readonly at: number;
  readonly traceParent: string | undefined;
}

/** Items of a stream that were written or read. */
export interface StreamItemsRecord {
  readonly stream: string;
  readonly direction: "written" | "read";
  readonly count: number;
}

/** Measurements of a runtime, read when the observer collects. */
export interface RuntimeFigures {
  readonly runtimeId: string;
  readonly activeActivities: number;
  readonly cachedInstances: number;
  readonly refusedTurns: number;
  readonly evictions: number;
  readonly blocked: number;
  readonly loopStalls: number;
  readonly loopStallMaxMs: number;
}
export interface StoreFigures {
  readonly instances: Readonly<Record<string, number>>;
  readonly dueMessages: number;
  readonly keptMessages: number;
  readonly expiredMessages: number;
  readonly waitingTasks: number;
  readonly runningTasks: number;
  readonly strandedLeases: number;
}
/** How an attempt of a queue ended. */
export type QueueOutcome = keyof Omit<QueueOutcomes, "name">;
/** Measurements of one queue, over all runtimes. */
export interface QueueMeasures {
  /** The name of the activity. */
  readonly name: string;
  /** Due tasks that no worker holds. */
  readonly depth: number;
  readonly running: number;
  /** How long the oldest due task has waited; 0 if none waits. */
  readonly oldestAgeMs: number;
}
export interface FigureSource {
  runtime(): RuntimeFigures;
  store(): Promise<StoreFigures>;
  queues(): Promise<readonly QueueMeasures[]>;
}

/** An observer of the engine; `perdure/otel` creates one. It never changes an outcome. */
export interface Telemetry {
  /** Wraps a start by a client. `fn` receives the trace context to store with the instance. */
  start<T>(span: StartSpan, fn: (traceParent: string | undefined) => Promise<T>): Promise<T>;
  /** Wraps a request by a client, until its answer. Absent: the observer does not observe requests. */
  ask?<T>(span: AskSpan, fn: () => Promise<T>): Promise<T>;
  /** A request by a client ended after `durationMs`. */
  askOver?(span: AskSpan, outcome: AskOutcome, durationMs: number): void;
  /** Wraps a received call from outside, until its answer. Absent: the observer does not observe them. */
  callback?<T extends CallbackEnd>(span: CallbackSpan, fn: () => Promise<T>): Promise<T>;
  /**
   * A call from outside ended with this outcome. `kind` "unknown": its token or its address is not valid, or the call
   * was refused before it was read.
   */
  callbackOver?(kind: CallbackSpan["kind"] | "unknown", outcome: string): void;
  /**
   * Runs `fn` in the trace of a received HTTP request, whose header `traceparent` is given, unless a span is active
   * already. Absent: the observer does not continue traces of requests.
   */
  request?<T>(traceParent: string, fn: () => T): T;
  /** Wraps an attempt. Returns the result of `fn`, which may be a promise. */
  attempt<T>(span: AttemptSpan, fn: () => T): T;
  /** An attempt ended after `durationMs`. */
  attemptOver(span: AttemptSpan, outcome: AttemptOutcome, durationMs: number): void;
  turn(record: TurnRecord): void;
  /**
   * A call of the store ended: a group commit with its number of items, or a lease call with the number of
   * leases.
   */
  operation(name: string, result: { items: number; durationMs: number; failed: boolean }): void;
  /**
   * An event that waited for an instance that does not exist has expired (semantics 18a). An observer without
   * this method does not count them.
   */
  messageExpired?(record: { readonly event: string; readonly instanceId: string }): void;
  /**
   * Items of a stream were written by an activity or an orchestration, or delivered to a reader. An observer
   * without this method does not count them.
   */
  streamItems?(record: StreamItemsRecord): void;
  /**
   * An attempt of a queue ended: "failed" is final, "retried" leads to another attempt. Called when the attempt ends, like
   * `attemptOver`. An observer without this method does not count them.
   */
  queueOutcome?(queue: string, outcome: QueueOutcome): void;
  /** A runtime started. The engine calls the returned function when the runtime stops. */
  observe(source: FigureSource): () => void;
}
