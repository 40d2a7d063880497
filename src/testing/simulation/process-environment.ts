// What one simulated process knows of time and chance.
//   PE1. Its clocks are its own: wall time is skewed against everybody else's and may jump; the monotonic clock
//        began at another moment, and goes on while the process is paused.
//   PE2. Its random numbers are a stream of its own.

import { TIMER_MAX_MS, type Environment, type TimerHandle } from "../../core/environment.ts";
import type { Chance } from "./chance.ts";
import type { Loop, Timeline } from "./timeline.ts";

/** When every simulation begins. */
export const WALL_START = Date.UTC(2026, 0, 1);

export class ProcessEnvironment implements Environment {
  readonly #timeline: Timeline;
  readonly #loop: Loop;
  readonly #chance: Chance;
  readonly #monotonicStart: number;
  #skewMs = 0;

  constructor(options: { timeline: Timeline; loop: Loop; chance: Chance }) {
    this.#timeline = options.timeline;
    this.#loop = options.loop;
    this.#chance = options.chance;
    this.#monotonicStart = 1_000_000 + options.chance.below(1_000_000);
  }

  now(): number {
    return WALL_START + this.#timeline.now + this.#skewMs;
  }
  monotonic(): number {
    return this.#monotonicStart + this.#timeline.now;
  }
  setTimer(delayMs: number, fn: () => void): TimerHandle {
    if (Number.isNaN(delayMs)) throw new RangeError("a timer's delay is not a number");
    const bounded = Math.min(Math.max(Math.ceil(delayMs), 0), TIMER_MAX_MS);
    return this.#timeline.after(bounded, fn, this.#loop);
  }
  immediate(fn: () => void): void {
    this.#timeline.post(this.#loop, fn);
  }
  random(): number {
    return this.#chance.random();
  }
  randomHex(bytes: number): string {
    return this.#chance.hex(bytes);
  }

  skew(ms: number): void {
    this.#skewMs += ms;
  }
}
