// Virtual environment: an Environment whose time moves only in `advance`, with seeded random numbers.
//   Owns: the clocks, the timers, the random numbers. Does not own: the host's macrotasks. They stay real,
//   so the microtasks of one callback end before the next callback runs (environment.1, environment.2).
//   - virtual-environment.1: Time passes only in `advance`. A timer fires when the monotonic clock reads
//        exactly its due time. Timers with the same due time fire in the order in which they were set.
//   - virtual-environment.2: All work that one timer started has settled before the next timer fires.
//   - The same seed gives the same numbers.
//   - The limits of the host's timers apply: a delay is in whole milliseconds and at most TIMER_MAX_MS
//       (environment.3). Code that ignores these limits fails in a test, not after 25 days in production.

import { TIMER_MAX_MS, type Environment, type TimerHandle } from "../core/time/environment.ts";
import { checkMembers } from "../core/checks.ts";
import { hexOf, seededNumbers } from "./seeded-numbers.ts";
import { popFirst, pushTimer, type HeapTimer } from "./timer-heap.ts";

/** Options of a virtual environment. */
export interface VirtualEnvironmentOptions {
  /** A whole number; the seed of `random` and `randomHex`. Default 1. */
  readonly seed?: number;
  /** Wall time at the start, in milliseconds. Default 2026-01-01T00:00:00Z. */
  readonly startAt?: number;
}

interface Timer extends HeapTimer {
  readonly fn: () => void;
  cancelled: boolean;
}

const START_AT_DEFAULT = Date.UTC(2026, 0, 1);
/** Not 0: a clock that reads 0 hides code that confuses "no time given" with "time 0". */
const MONOTONIC_START = 1_000_000;
/** Rounds of the host's event loop without an immediate, after which all work counts as settled. */
const QUIET_ROUNDS = 5;

const hostSetImmediate = setImmediate;

/** Virtual time that a test controls, and random numbers from a seed. */
export class VirtualEnvironment implements Environment {
  #monotonic = MONOTONIC_START;
  /** Wall time minus monotonic time. */
  #skew: number;
  #timers: Timer[] = [];
  #nextOrder = 0;
  #immediates = 0;
  #immediatesEver = 0;
  #advancing = false;
  readonly #draw: () => number;

  constructor(options: VirtualEnvironmentOptions = {}) {
    checkMembers(options, { seed: true, startAt: true }, "a virtual environment");
    this.#skew = (options.startAt ?? START_AT_DEFAULT) - MONOTONIC_START;
    this.#draw = seededNumbers(options.seed ?? 1);
  }

  now(): number {
    return this.#monotonic + this.#skew;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  setTimer(delayMs: number, fn: () => void): TimerHandle {
    if (Number.isNaN(delayMs))
      throw new RangeError("The delay of a timer must be a number; got NaN.");
    const due = this.#monotonic + Math.min(Math.max(Math.ceil(delayMs), 0), TIMER_MAX_MS);
    const timer: Timer = { due, order: this.#nextOrder++, fn, cancelled: false };
    pushTimer(this.#timers, timer);
    return {
      cancel: () => {
        timer.cancelled = true;
      },
    };
  }

  immediate(fn: () => void): void {
    this.#immediates += 1;
    this.#immediatesEver += 1;
    hostSetImmediate(() => {
      this.#immediates -= 1;
      fn();
    });
  }

  random(): number {
    return this.#draw() / 2 ** 32;
  }

  randomHex(bytes: number): string {
    return hexOf(this.#draw, bytes);
  }

  /** The number of callbacks of `immediate` that have not run yet. */
  get outstandingImmediates(): number {
    return this.#immediates;
  }

  /** The wall time of the earliest timer, or null if no timer is set. */
  nextTimerAt(): number | null {
    const next = this.#next();
    return next === undefined ? null : next.due + this.#skew;
  }

  /** Resolves after several rounds of the host's event loop in a row without an immediate. */
  async settle(): Promise<void> {
    let quiet = 0;
    while (quiet < QUIET_ROUNDS) {
      const before = this.#immediatesEver;
      await new Promise<void>((resolve) => void hostSetImmediate(resolve));
      quiet = this.#immediates === 0 && this.#immediatesEver === before ? quiet + 1 : 0;
    }
  }

  /** Advances time and fires the timers that come due (virtual-environment.1, virtual-environment.2). */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0))
      throw new RangeError(`advance: the time in ms must be zero or more; got ${ms}.`);
    if (this.#advancing)
      throw new Error("advance: a previous call is still running; await it first.");
    this.#advancing = true;
    try {
      const target = this.#monotonic + ms;
      await this.settle();
      for (let next = this.#next(); next !== undefined && next.due <= target; next = this.#next()) {
        popFirst(this.#timers);
        this.#monotonic = next.due;
        next.fn();
        await this.settle();
      }
      this.#monotonic = target;
    } finally {
      this.#advancing = false;
    }
  }

  /** Moves wall time forwards or back, as an operator or NTP does. No timer fires. */
  jumpWallClock(ms: number): void {
    this.#skew += ms;
  }

  #next(): Timer | undefined {
    while (this.#timers[0]?.cancelled === true) popFirst(this.#timers);
    return this.#timers[0];
  }
}
