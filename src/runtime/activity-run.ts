// One attempt of an activity or a step: enters user code once and says how it went.
//   AR1. Nothing that user code throws, rejects with or does late escapes from here (I8).
//   AR2. The signal exists when it is asked for, not before; an abort before that is remembered.
//   AR3. A timeout ends the attempt at once; what the code does afterwards is ignored (semantics 11).

import type { ActivityContext, ActivityInfo, StepContext } from "../core/activity-context.ts";
import { asyncContext, type WorkFrame } from "../core/async-context.ts";
import type { Codec } from "../core/codec.ts";
import { isPerdureError } from "../core/errors.ts";
import { toFailure, type Failure } from "../core/failure.ts";
import { makeLogger, type Logger, type LogSink } from "../core/log.ts";
import { RetryAfterError } from "../core/retry-errors.ts";

export type AttemptResult =
  | { readonly kind: "completed"; readonly output: string }
  | { readonly kind: "failed"; readonly failure: Failure; readonly retryAfterMs: number | null };

/** Where an activity's heartbeats come from and go to; steps have none. */
export interface AttemptBeats {
  beat(details: unknown): void;
  last(): unknown;
}
export interface AttemptOptions {
  readonly attempt: number;
  readonly key: string;
  readonly info: ActivityInfo;
  readonly sink: LogSink;
  readonly beats?: AttemptBeats;
}

/** The abort side of an attempt, and what its context shows. */
export class Attempt implements ActivityContext, StepContext {
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly info: ActivityInfo;
  readonly #sink: LogSink;
  #controller: AbortController | null = null;
  #reason: unknown = undefined;
  readonly #beats: AttemptBeats | null;
  #log: Logger | null = null;
  #heartbeat: ((details?: unknown) => void) | null = null;

  constructor(options: AttemptOptions) {
    this.attempt = options.attempt;
    this.idempotencyKey = options.key;
    this.info = options.info;
    this.#sink = options.sink;
    this.#beats = options.beats ?? null;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get log(): Logger {
    this.#log ??= makeLogger(this.#sink, {
      instance: this.info.instanceId,
      activity: this.info.activity,
      attempt: this.attempt,
    });
    return this.#log;
  }

  get heartbeat(): (details?: unknown) => void {
    this.#heartbeat ??= (details) => this.#beats?.beat(details);
    return this.#heartbeat;
  }

  get lastHeartbeat(): unknown {
    return this.#beats?.last();
  }

  abort(reason: Error): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
  }
}

/** Runs `fn` to its end. Never rejects. */
export async function runAttempt(options: {
  frame: WorkFrame;
  fn: () => unknown;
  codec: Codec;
}): Promise<AttemptResult> {
  const { frame, fn, codec } = options;
  let value: unknown;
  try {
    value = await asyncContext.run(frame, fn);
  } catch (error) {
    return failed(error, codec);
  }
  try {
    return { kind: "completed", output: codec.encode(value) };
  } catch (error) {
    // A result that cannot be stored will not become storable by running again.
    return {
      kind: "failed",
      failure: toFailure(error, { retryable: false, codec }),
      retryAfterMs: null,
    };
  }
}

function failed(error: unknown, codec: Codec): AttemptResult {
  const retryAfterMs = error instanceof RetryAfterError ? error.delayMs : null;
  // What a schema or a rule refuses is refused again.
  const options = isPerdureError(error, "INVALID_ARGUMENT")
    ? { codec, retryable: false }
    : { codec };
  return { kind: "failed", failure: toFailure(error, options), retryAfterMs };
}

export function timeoutFailure(what: string): Failure {
  return {
    category: "application",
    kind: "timeout",
    name: "TimeoutError",
    message: `timeout: ${what} timed out`,
    retryable: true,
  };
}
