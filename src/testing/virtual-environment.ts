// Virtual time and seeded chance: an Environment that stands still until it is told to move.
//   Owns: the clocks, the timers, the random numbers.  Does not own: the host's macrotasks, which stay
//   real, so that the microtasks of one callback are over before the next one runs (E1, E2).
//   V1. Time passes in `advance` and nowhere else. A timer fires when the monotonic clock stands at its due
//       time exactly; those of one due time fire in the order in which they were set.
//   V2. Between two timers everything that the first one set off has come to rest.
//   V3. The same seed gives the same numbers.
//   V4. What the host would not do is not done here either: a timer takes whole milliseconds and at most
//       TIMER_MAX_MS (E3), so that code that forgets it fails in a test and not after 25 days.

import { TIMER_MAX_MS, type Environment, type TimerHandle } from "../core/environment.ts";
import { checkMembers } from "../core/known-members.ts";
import { hexOf, seededNumbers } from "./seeded-numbers.ts";
import { popFirst, pushTimer, type HeapTimer } from "./timer-heap.ts";

/** How a virtual environment begins. */
export interface VirtualEnvironmentOptions {
  /** Whole number; what `random` and `randomHex` follow from. Default 1. */
  readonly seed?: number;
  /** Wall time at the beginning. Default 2026-01-01T00:00:00Z. */
  readonly startAt?: number;
}

interface Timer extends HeapTimer {
  readonly fn: () => void;
  cancelled: boolean;
}

const START_AT_DEFAULT = Date.UTC(2026, 0, 1);
/** Not 0: a clock that reads 0 hides code that takes "no time given" and "time 0" for the same. */
const MONOTONIC_START = 1_000_000;
/** Rounds of the host's loop without news after which everything is taken to be at rest. */
const QUIET_ROUNDS = 5;

const hostSetImmediate = setImmediate;

/** Time that passes when a test says so, and chance that follows from a seed. */
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
    if (Number.isNaN(delayMs)) throw new RangeError("a timer's delay is not a number");
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

  /** How many callbacks of `immediate` have not run yet. */
  get outstandingImmediates(): number {
    return this.#immediates;
  }

  /** The wall time at which the next timer fires if nothing sets an earlier one; null: there is none. */
  nextTimerAt(): number | null {
    const next = this.#next();
    return next === undefined ? null : next.due + this.#skew;
  }

  /** Resolves when several rounds of the host's loop in a row have seen no immediate. */
  async settle(): Promise<void> {
    let quiet = 0;
    while (quiet < QUIET_ROUNDS) {
      const before = this.#immediatesEver;
      await new Promise<void>((resolve) => void hostSetImmediate(resolve));
      quiet = this.#immediates === 0 && this.#immediatesEver === before ? quiet + 1 : 0;
    }
  }

  /** Lets that much time pass, firing what comes due on the way (V1, V2). */
  async advance(ms: number): Promise<void> {
    if (!(ms >= 0)) throw new RangeError(`cannot advance by ${ms} ms`);
    if (this.#advancing) throw new Error("time is advancing already; await the call before");
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

  /** Moves wall time, as an operator or NTP does: forwards or back, and no timer fires by it. */
  jumpWallClock(ms: number): void {
    this.#skew += ms;
  }

  #next(): Timer | undefined {
    while (this.#timers[0]?.cancelled === true) popFirst(this.#timers);
    return this.#timers[0];
  }
}
