// Work without a store: attempts of activities and steps, their time-outs and retries, in this process.
//   MW1. The rules are those of the queue: what a policy repeats, after how long, and what a time-out counts as
//        (semantics 10, 11).
//   MW2. The first of {outcome, time-out, cancel} decides an attempt; everything later is ignored.

import type { ActivityContext, ActivityInfo, StepContext } from "../core/activity-context.ts";
import { asyncContext, type WorkFrame } from "../core/async-context.ts";
import type { Codec } from "../core/codec.ts";
import { PerdureError, isPerdureError } from "../core/errors.ts";
import { toFailure, type Failure } from "../core/failure.ts";
import { logFailedAttempt, whyNoRetry } from "../core/failure-lines.ts";
import { attemptFields } from "../core/log-fields.ts";
import { makeLogger, type Logger, type LogSink } from "../core/log.ts";
import { CancelledError } from "../core/outcome-errors.ts";
import { RetryAfterError } from "../core/retry-errors.ts";
import { normalizeRetry, retryDelay, shouldRetry, type RetryPolicy } from "../core/retry-policy.ts";
import type { TimerHandle } from "../core/environment.ts";
import type { TimerWheel } from "../core/timer-wheel.ts";

export interface MemoryHost {
  readonly codec: Codec;
  readonly log: LogSink;
  readonly wheel: TimerWheel;
  readonly monotonic: () => number;
  readonly random: () => number;
}
export interface WorkOptions {
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
  readonly heartbeatTimeoutMs?: number;
}
export type WorkOutcome =
  | { readonly kind: "completed"; readonly output: string; readonly attempts: number }
  | { readonly kind: "failed"; readonly failure: Failure; readonly attempts: number };

/** One call, over all its attempts. */
export class MemoryWork {
  readonly #host: MemoryHost;
  readonly #frame: WorkFrame;
  readonly #options: WorkOptions;
  readonly #invoke: (context: MemoryContext) => unknown;
  readonly #contextOf: (attempt: number, controller: AbortController) => MemoryContext;
  readonly #onOutcome: (outcome: WorkOutcome) => void;
  /** The end of this attempt's time, or the beginning of the next one. */
  #timer: TimerHandle | null = null;
  #beatTimer: TimerHandle | null = null;
  readonly #info: ActivityInfo;
  #controller = new AbortController();
  #isOver = false;
  #lastHeartbeat: unknown = undefined;

  constructor(options: {
    host: MemoryHost;
    info: ActivityInfo;
    kind: WorkFrame["kind"];
    key: string;
    options: WorkOptions;
    invoke: (context: MemoryContext) => unknown;
    onOutcome: (outcome: WorkOutcome) => void;
  }) {
    const { host, info, kind, key } = options;
    this.#host = host;
    this.#info = info;
    this.#frame = { kind, name: info.activity, instanceId: info.instanceId };
    this.#options = options.options;
    this.#invoke = options.invoke;
    this.#onOutcome = options.onOutcome;
    this.#contextOf = (attempt, controller) =>
      new MemoryContext({
        kind,
        attempt,
        key,
        info,
        signal: controller.signal,
        log: host.log,
        lastHeartbeat: this.#lastHeartbeat,
        onHeartbeat: (details) => {
          if (details !== undefined) this.#lastHeartbeat = details;
          this.#beat(attempt, controller);
        },
      });
    this.#attempt(1);
  }

  cancel(reason: string): void {
    this.#end();
    this.#controller.abort(new CancelledError(reason));
  }

  #attempt(attempt: number): void {
    const controller = new AbortController();
    this.#controller = controller;
    const { timeoutMs } = this.#options;
    if (timeoutMs !== undefined) {
      this.#timer = this.#after(timeoutMs, () => this.#late(attempt, "activity"));
    }
    this.#beat(attempt, controller);
    const context = this.#contextOf(attempt, controller);
    void this.#enter(context).then((settle) => {
      if (!this.#isOver && this.#controller === controller) settle(attempt);
    });
  }

  /** Never rejects; what it gives says how the attempt went. */
  async #enter(context: MemoryContext): Promise<(attempt: number) => void> {
    let value: unknown;
    try {
      value = await asyncContext.run(this.#frame, () => this.#invoke(context));
    } catch (error) {
      const refused = isPerdureError(error, "INVALID_ARGUMENT") ? { retryable: false } : {};
      const failure = toFailure(error, { codec: this.#host.codec, ...refused });
      const delayMs = error instanceof RetryAfterError ? error.delayMs : null;
      return (attempt) => this.#failed(attempt, failure, delayMs);
    }
    try {
      const output = this.#host.codec.encode(value);
      return (attempt) => {
        this.#end();
        this.#onOutcome({ kind: "completed", output, attempts: attempt });
      };
    } catch (error) {
      const failure = toFailure(error, { retryable: false, codec: this.#host.codec });
      return (attempt) => this.#failed(attempt, failure, null);
    }
  }

  #beat(attempt: number, controller: AbortController): void {
    const { heartbeatTimeoutMs } = this.#options;
    if (heartbeatTimeoutMs === undefined || this.#controller !== controller) return;
    this.#beatTimer?.cancel();
    const silent = (): void => this.#late(attempt, "activity heartbeat");
    this.#beatTimer = this.#after(heartbeatTimeoutMs, silent);
  }

  #late(attempt: number, what: string): void {
    const message = `timeout: ${what} timed out`;
    const failure: Failure = {
      category: "application",
      kind: "timeout",
      name: "TimeoutError",
      message,
      retryable: true,
    };
    const attemptUnderWay = this.#controller;
    this.#failed(attempt, failure, null);
    attemptUnderWay.abort(new PerdureError("TIMEOUT", message));
  }

  #failed(attempts: number, failure: Failure, delayMs: number | null): void {
    this.#stopTimers();
    this.#controller = new AbortController(); // what the attempt does from here on is ignored (MW2)
    const policy = this.#options.retry ?? normalizeRetry(undefined);
    const { kind } = this.#frame;
    const count = { failures: attempts, max: policy.maxAttempts };
    const description = { attempt: attempts, info: this.#info };
    const failed = { kind, description, failure, count };
    if (!shouldRetry({ policy, failures: attempts, failure })) {
      this.#end();
      const next = { kind: "none", why: whyNoRetry(count) } as const;
      logFailedAttempt(this.#host.log, { ...failed, next });
      return this.#onOutcome({ kind: "failed", failure, attempts });
    }
    const after = delayMs ?? retryDelay(policy, attempts, this.#host.random);
    logFailedAttempt(this.#host.log, { ...failed, next: { kind: "retry", delayMs: after } });
    this.#timer = this.#after(after, () => this.#attempt(attempts + 1));
  }

  #after(delayMs: number, fn: () => void): TimerHandle {
    return this.#host.wheel.schedule(this.#host.monotonic() + delayMs, fn);
  }
  #stopTimers(): void {
    this.#timer?.cancel();
    this.#beatTimer?.cancel();
  }
  #end(): void {
    this.#isOver = true;
    this.#stopTimers();
  }
}

/** What an activity sees where there is no store. */
export class MemoryContext implements ActivityContext, StepContext {
  readonly attempt: number;
  readonly idempotencyKey: string;
  readonly info: ActivityInfo;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly lastHeartbeat: unknown;
  readonly heartbeat: (details?: unknown) => void;
  readonly progress: (value: unknown) => void;

  constructor(options: {
    kind: "activity" | "step";
    attempt: number;
    key: string;
    info: ActivityInfo;
    signal: AbortSignal;
    log: LogSink;
    lastHeartbeat: unknown;
    onHeartbeat: (details: unknown) => void;
  }) {
    const { attempt, info } = options;
    this.attempt = attempt;
    this.idempotencyKey = options.key;
    this.info = info;
    this.signal = options.signal;
    this.log = makeLogger(options.log, attemptFields(options.kind, attempt, info));
    this.lastHeartbeat = options.lastHeartbeat;
    this.heartbeat = (details) => options.onHeartbeat(details);
    this.progress = () => options.onHeartbeat(undefined); // a sign of life; nobody can watch
  }

  get client(): never {
    throw new PerdureError("INVALID_ARGUMENT", "runFlow has no store, and so no client.");
  }
}
