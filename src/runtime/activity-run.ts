// One attempt of an activity or a step: enters user code once and says how it went.
//   AR1. Nothing that user code throws, rejects with or does late escapes from here (I8).
//   AR2. The signal exists when it is asked for, not before; an abort before that is remembered.
//   AR3. A timeout ends the attempt at once; what the code does afterwards is ignored (semantics 11).

import type {
  ActivityClient,
  ActivityContext,
  ActivityInfo,
  StepContext,
} from "../core/activity-context.ts";
import { asyncContext, type WorkFrame } from "../core/async-context.ts";
import type { Codec } from "../core/codec.ts";
import { isPerdureError } from "../core/errors.ts";
import { toFailure, type Failure } from "../core/failure.ts";
import { attemptFields } from "../core/log-fields.ts";
import { makeLogger, type Logger, type LogSink } from "../core/log.ts";
import { RetryAfterError } from "../core/retry-errors.ts";

export type AttemptResult =
  | { readonly kind: "completed"; readonly output: string }
  | { readonly kind: "failed"; readonly failure: Failure; readonly retryAfterMs: number | null };

/** Its input cannot be read: here, for want of a key, or by anybody. */
export interface Undecodable {
  readonly kind: "undecodable";
  readonly why: string;
  readonly keyMissing: boolean;
}

/** How an activity's attempt ended; where it ran elsewhere, also that it did not. */
export type ActivityResult =
  AttemptResult | Undecodable | { readonly kind: "died"; readonly why: string };

/** What an attempt is told about itself. */
export interface AttemptDescription {
  readonly attempt: number;
  readonly key: string;
  readonly info: ActivityInfo;
}

/** The abort side of an attempt, and what its context shows. */
export class Attempt implements StepContext {
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly info: ActivityInfo;
  readonly #sink: LogSink;
  readonly #kind: "activity" | "step";
  #controller: AbortController | null = null;
  #reason: unknown = undefined;
  #log: Logger | null = null;

  constructor(
    { attempt, key, info }: AttemptDescription,
    sink: LogSink,
    kind: "activity" | "step",
  ) {
    this.attempt = attempt;
    this.idempotencyKey = key;
    this.info = info;
    this.#sink = sink;
    this.#kind = kind;
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get log(): Logger {
    const { attempt, info } = this;
    this.#log ??= makeLogger(this.#sink, attemptFields(this.#kind, attempt, info));
    return this.#log;
  }

  abort(reason: Error): void {
    this.#reason ??= reason;
    this.#controller?.abort(reason);
  }
}

/** What an activity says while it runs, as texts. */
export interface ActivityVoice {
  /** Null: it lives; there is nothing to keep. */
  heartbeat(details: string | null): void;
  progress(value: string): void;
}
/** What all activities of a place have in common. */
export interface ActivityServices {
  readonly log: LogSink;
  readonly codec: Codec;
  readonly client: ActivityClient;
}

/** What only activities have. A value that cannot be stored is refused where it is given. */
export class ActivityAttempt extends Attempt implements ActivityContext {
  readonly #services: ActivityServices;
  readonly #lastHeartbeat: string | null;
  readonly #voice: ActivityVoice;
  #heartbeat: ((details?: unknown) => void) | null = null;
  #progress: ((value: unknown) => void) | null = null;

  constructor(
    description: AttemptDescription,
    services: ActivityServices,
    its: { readonly lastHeartbeat: string | null; readonly voice: ActivityVoice },
  ) {
    super(description, services.log, "activity");
    this.#services = services;
    this.#lastHeartbeat = its.lastHeartbeat;
    this.#voice = its.voice;
  }

  get client(): ActivityClient {
    return this.#services.client;
  }

  get heartbeat(): (details?: unknown) => void {
    const { codec } = this.#services;
    this.#heartbeat ??= (details) =>
      this.#voice.heartbeat(details === undefined ? null : codec.encode(details));
    return this.#heartbeat;
  }

  get lastHeartbeat(): unknown {
    const text = this.#lastHeartbeat;
    return text === null ? undefined : this.#services.codec.decode(text);
  }

  get progress(): (value: unknown) => void {
    this.#progress ??= (value) => this.#voice.progress(this.#services.codec.encode(value));
    return this.#progress;
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
    return failedAttempt(error, codec);
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

/** What an attempt came to whose input the codec refuses with this. */
export function undecodable(error: unknown): Undecodable {
  const keyMissing = isPerdureError(error, "KEY_MISSING");
  return { kind: "undecodable", why: String(error), keyMissing };
}

/** What an attempt came to that threw this. */
export function failedAttempt(error: unknown, codec: Codec): AttemptResult {
  const retryAfterMs = error instanceof RetryAfterError ? error.delayMs : null;
  // What a schema or a rule refuses is refused again.
  const isRule =
    isPerdureError(error, "INVALID_ARGUMENT") || isPerdureError(error, "LIMIT_EXCEEDED");
  const options = isRule ? { codec, retryable: false } : { codec };
  return { kind: "failed", failure: toFailure(error, options), retryAfterMs };
}

/** The attempt's end was not its code's doing, as far as anybody knows. */
export function deathFailure(activity: string, why: string): Failure {
  return {
    category: "infrastructure",
    name: "ThreadDied",
    message: `the thread of activity ${activity} died: ${why}`,
    retryable: true,
  };
}

/** Its process died with it again and again, or nothing can read it: it is not entered any more. */
export function poisonFailure(message: string): Failure {
  return { category: "poison", name: "PoisonError", message, retryable: false };
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
