// What the engine tells an observer, and what it asks of one: the seam of `perdure/otel`.
//   TE1. Without an observer nothing here costs anything.
//   TE2. Nothing is told before the commit that records it has returned (I13), and nothing while replaying.
//   TE3. An observer changes no outcome: one that throws is left out of what it threw at.

import type { EventBody } from "./history-events.ts";

/** A start by a client. */
export interface StartSpan {
  readonly orchestration: string;
  readonly instanceId: string;
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
  /** The trace context that the instance was started in; undefined: none. */
  readonly traceParent: string | undefined;
}

/** How an attempt ended; "cancelled" also stands for a lost lease and a shutdown. */
export type AttemptOutcome =
  "completed" | "failed" | "timedOut" | "cancelled" | "died" | "undecodable";

/** A turn, after its commit. */
export interface TurnRecord {
  readonly orchestration: string;
  readonly version: string;
  readonly instanceId: string;
  readonly execution: number;
  readonly events: readonly EventBody[];
  /** Recorded events that were replayed first; 0: it was hot. */
  readonly replayed: number;
  readonly historyLength: number;
  /** When the execution began, by the store's clock. */
  readonly startedAt: number;
  readonly at: number;
  readonly traceParent: string | undefined;
}

/** Figures that are read when somebody looks. */
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
  readonly waitingTasks: number;
  readonly runningTasks: number;
  readonly strandedLeases: number;
}
export interface FigureSource {
  runtime(): RuntimeFigures;
  store(): Promise<StoreFigures>;
}

/** Who is told what the engine does: `perdure/otel` makes one. It changes no outcome. */
export interface Telemetry {
  /** Runs a client's start; `fn` is given the trace context to write with it. */
  start<T>(span: StartSpan, fn: (traceParent: string | undefined) => Promise<T>): Promise<T>;
  /** Enters an attempt; what `fn` returns, a promise or not, is returned. */
  attempt<T>(span: AttemptSpan, fn: () => T): T;
  /** An attempt is over, after `durationMs`. */
  attemptOver(span: AttemptSpan, outcome: AttemptOutcome, durationMs: number): void;
  turn(record: TurnRecord): void;
  /** A call of the store that writes or takes: a group commit with its number of items, a lease with what it got. */
  operation(name: string, result: { items: number; durationMs: number; failed: boolean }): void;
  /** A runtime has begun; the returned function is called at its end. */
  observe(source: FigureSource): () => void;
}
