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

export interface VirtualEnvironmentOptions {
  /** Whole number; what `random` and `randomHex` follow from. Default 1. */
  readonly seed?: number;
  /** Wall time at the beginning. Default 2026-01-01T00:00:00Z. */
  readonly startAt?: number;
}

interface Timer {
  readonly due: number;
  readonly order: number;
  readonly fn: () => void;
  cancelled: boolean;
}

const START_AT_DEFAULT = Date.UTC(2026, 0, 1);
/** Not 0: a clock that reads 0 hides code that takes "no time given" and "time 0" for the same. */
const MONOTONIC_START = 1_000_000;
/** Rounds of the host's loop without news after which everything is taken to be at rest. */
const QUIET_ROUNDS = 5;

const hostSetImmediate = setImmediate;

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
    this.#skew = (options.startAt ?? START_AT_DEFAULT) - MONOTONIC_START;
    this.#draw = sfc32(options.seed ?? 1);
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
    push(this.#timers, timer);
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
    let hex = "";
    for (let i = 0; i < bytes; i++) hex += (this.#draw() >>> 24).toString(16).padStart(2, "0");
    return hex;
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
        pop(this.#timers);
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
    while (this.#timers[0]?.cancelled === true) pop(this.#timers);
    return this.#timers[0];
  }
}

function before(a: Timer, b: Timer): boolean {
  return a.due < b.due || (a.due === b.due && a.order < b.order);
}

/** A binary heap: no timer comes before the one at half its index. */
function push(heap: Timer[], timer: Timer): void {
  let index = heap.length;
  heap.push(timer);
  while (index > 0) {
    const parentIndex = (index - 1) >> 1;
    const parent = heap[parentIndex];
    if (parent === undefined || !before(timer, parent)) break;
    heap[index] = parent;
    index = parentIndex;
  }
  heap[index] = timer;
}

function pop(heap: Timer[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    let childIndex = 2 * index + 1;
    let child = heap[childIndex];
    const right = heap[childIndex + 1];
    if (child !== undefined && right !== undefined && before(right, child)) {
      child = right;
      childIndex += 1;
    }
    if (child === undefined || !before(child, last)) break;
    heap[index] = child;
    index = childIndex;
  }
  heap[index] = last;
}

/** Chris Doty-Humphrey's small fast counter, 32 bits a draw, its state spread from the seed by splitmix. */
function sfc32(seed: number): () => number {
  let mix = seed | 0;
  const spread = (): number => {
    mix = (mix + 0x9e3779b9) | 0;
    let z = Math.imul(mix ^ (mix >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return z ^ (z >>> 15);
  };
  let a = spread();
  let b = spread();
  let c = spread();
  let counter = 1;
  const draw = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  for (let i = 0; i < 12; i++) draw();
  return draw;
}
