// One attempt: its state, its timeouts and its one outcome. README.md shows the states.
//   - running-attempt.1: The first of {result, timeout, abort} decides the attempt. Later results, timeouts,
//     aborts and heartbeats are ignored (semantics 11).
//   - The timeouts start with `begin`, not while the attempt waits for a slot or a thread.

import type { WorkFrame } from "../context/async-context.ts";
import { timeoutFailure } from "../errors/built-in-failures.ts";
import { PerdureError } from "../errors/errors.ts";
import type { AttemptOutcome } from "../telemetry/telemetry.ts";
import type { TimerHandle } from "../time/environment.ts";
import type { TimerWheel } from "../time/timer-wheel.ts";
import type { DescribedAttempt } from "./attempt-context.ts";
import type { FailedResult } from "./run-attempt.ts";

export type AttemptState = "waiting" | "running" | AttemptOutcome;

export interface AttemptClock {
  readonly wheel: TimerWheel;
  readonly monotonic: () => number;
}

/** The timeouts of a call. */
export interface AttemptTimeouts {
  readonly timeoutMs?: number;
  readonly heartbeatTimeoutMs?: number;
}

/** Aborts the user code of an attempt. */
export interface AttemptHandle {
  abort(reason: Error): void;
  /** The code did not end within its grace period: ends the thread that runs it. */
  giveUp?(): void;
}

export class RunningAttempt {
  readonly description: DescribedAttempt;
  readonly frame: WorkFrame;
  handle: AttemptHandle = UNENTERED;
  /** Reports the attempt to telemetry; null if telemetry is off. */
  watch: { enter<T>(fn: () => T): T; over(outcome: AttemptOutcome): void } | null = null;
  readonly #clock: AttemptClock;
  #state: AttemptState = "waiting";
  #timer: TimerHandle | null = null;
  #beatTimer: TimerHandle | null = null;
  /** The time of the last heartbeat, or of the start. */
  #beatAt = 0;
  #begunAt = 0;

  constructor(description: DescribedAttempt, clock: AttemptClock) {
    this.description = description;
    this.frame = description.frame;
    this.#clock = clock;
  }

  get state(): AttemptState {
    return this.#state;
  }
  get isOver(): boolean {
    return this.#state !== "waiting" && this.#state !== "running";
  }

  /** User code is about to be called. A timeout aborts the code and then calls `onTimeout`. */
  begin(timeouts: AttemptTimeouts | null, onTimeout: (result: FailedResult) => void): void {
    if (this.#state !== "waiting") return;
    this.#state = "running";
    if (timeouts === null) return;
    const { kind } = this.frame;
    const { timeoutMs, heartbeatTimeoutMs } = timeouts;
    this.#beatAt = this.#clock.monotonic();
    this.#begunAt = this.#beatAt;
    if (timeoutMs !== undefined) {
      const over = (): void => this.#timeOut(kind, onTimeout);
      this.#timer = this.#clock.wheel.schedule(this.#beatAt + timeoutMs, over);
    }
    if (heartbeatTimeoutMs === undefined) return;
    this.#watchBeats(heartbeatTimeoutMs, () => this.#timeOut(`${kind} heartbeat`, onTimeout));
  }

  /** A heartbeat or progress. False: the attempt is over, and the caller must ignore the report. */
  beat(): boolean {
    if (this.isOver) return false;
    this.#beatAt = this.#clock.monotonic();
    return true;
  }

  /** What is left of the timeouts. */
  left({ timeoutMs, heartbeatTimeoutMs }: AttemptTimeouts): {
    timeoutMs?: number;
    heartbeatMs?: number;
  } {
    const now = this.#clock.monotonic();
    const left = (end: number): number => Math.max(end - now, 0);
    return {
      ...(timeoutMs === undefined ? {} : { timeoutMs: left(this.#begunAt + timeoutMs) }),
      ...(heartbeatTimeoutMs === undefined
        ? {}
        : { heartbeatMs: left(this.#beatAt + heartbeatTimeoutMs) }),
    };
  }

  /** Ends the attempt. False: it was over before (running-attempt.1). */
  end(outcome: AttemptOutcome): boolean {
    if (this.isOver) return false;
    this.#state = outcome;
    this.stopTimeouts();
    this.watch?.over(outcome);
    return true;
  }

  /** Ends the attempt and aborts its code. The code may still run for a while. */
  abort(reason: Error, outcome: AttemptOutcome = "cancelled"): boolean {
    if (!this.end(outcome)) return false;
    this.handle.abort(reason);
    return true;
  }

  stopTimeouts(): void {
    this.#timer?.cancel();
    this.#beatTimer?.cancel();
  }

  #timeOut(what: string, onTimeout: (result: FailedResult) => void): void {
    const failure = timeoutFailure(what);
    const reason = new PerdureError("TIMEOUT", failure.message);
    if (!this.abort(reason, "timedOut")) return;
    onTimeout({ kind: "failed", failure, retryAfterMs: null });
  }

  /**
   * One timer per attempt. When it fires it is moved to the current deadline, so a heartbeat costs no timer
   * operation.
   */
  #watchBeats(timeoutMs: number, over: () => void): void {
    const { wheel, monotonic } = this.#clock;
    this.#beatTimer = wheel.schedule(this.#beatAt + timeoutMs, () => {
      if (monotonic() < this.#beatAt + timeoutMs) this.#watchBeats(timeoutMs, over);
      else over();
    });
  }
}

const UNENTERED: AttemptHandle = { abort: () => undefined };
