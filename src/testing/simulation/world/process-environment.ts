// Process environment: the clocks, timers and random numbers of one simulated process.
//   - Each process has separate clocks. Its wall time differs from that of other processes and may jump. Its
//        monotonic clock starts at another value and continues while the process is paused.
//   - Each process has a separate stream of random numbers.

import {
  TIMER_MAX_MS,
  type Environment,
  type TimerHandle,
} from "../../../core/time/environment.ts";
import type { SeededRandom } from "./seeded-random.ts";
import type { Loop, Timeline } from "../timeline.ts";

/** The wall time at the start of every simulation. */
export const WALL_START = Date.UTC(2026, 0, 1);

export class ProcessEnvironment implements Environment {
  readonly #timeline: Timeline;
  readonly #loop: Loop;
  readonly #random: SeededRandom;
  readonly #monotonicStart: number;
  #skewMs = 0;

  constructor(options: { timeline: Timeline; loop: Loop; random: SeededRandom }) {
    this.#timeline = options.timeline;
    this.#loop = options.loop;
    this.#random = options.random;
    this.#monotonicStart = 1_000_000 + options.random.below(1_000_000);
  }

  now(): number {
    return WALL_START + this.#timeline.now + this.#skewMs;
  }
  monotonic(): number {
    return this.#monotonicStart + this.#timeline.now;
  }
  setTimer(delayMs: number, fn: () => void): TimerHandle {
    if (Number.isNaN(delayMs))
      throw new RangeError("The delay of a timer must be a number; got NaN.");
    const bounded = Math.min(Math.max(Math.ceil(delayMs), 0), TIMER_MAX_MS);
    return this.#timeline.after(bounded, fn, this.#loop);
  }
  immediate(fn: () => void): void {
    this.#timeline.post(this.#loop, fn);
  }
  random(): number {
    return this.#random.fraction();
  }
  randomHex(bytes: number): string {
    return this.#random.hex(bytes);
  }

  skew(ms: number): void {
    this.#skewMs += ms;
  }
}
