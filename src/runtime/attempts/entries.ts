// Entries: activities and steps are entered one per macrotask, in order.
//   - The microtasks of an entry run before the next entry, so the whole synchronous cost of an entry
//     counts towards the time slice of the event loop (loop-slice.ts). A batch of any size blocks the
//     loop for at most one slice plus one entry.
//   - Entries of different names take turns (lanes.ts).
//   - entries.1: The first entry of a batch runs at once, so a single piece of work does not wait for a
//     macrotask.
//   - Macrotasks are requested in groups of AHEAD_MAX. The macrotasks of one group run in the same turn
//     of the event loop.

import type { Environment } from "../../core/time/environment.ts";
import { Lanes } from "../health/lanes.ts";
import type { LoopSlice } from "../health/loop-slice.ts";

const AHEAD_MAX = 256;

export class Entries {
  readonly #environment: Pick<Environment, "immediate">;
  readonly #slice: LoopSlice;
  readonly #waiting = new Lanes<() => void>();
  #requested = 0;

  constructor(environment: Pick<Environment, "immediate">, slice: LoopSlice) {
    this.#environment = environment;
    this.#slice = slice;
  }

  /** `name` is the name of the definition that is entered. */
  add(name: string, enter: () => void): void {
    if (this.#requested > 0 || !this.#slice.mayBegin("entries")) {
      this.#waiting.add(name, enter);
      return this.#request();
    }
    this.#requestOne(); // entries.1: entries added before this macrotask wait for it
    enter();
  }

  #request(): void {
    const wanted = Math.min(this.#waiting.length, AHEAD_MAX);
    while (this.#requested < wanted) this.#requestOne();
  }

  #requestOne(): void {
    this.#requested++;
    this.#environment.immediate(this.#enterNext);
  }

  readonly #enterNext = (): void => {
    this.#requested--;
    if (this.#waiting.length > 0 && this.#slice.mayBegin("entries")) this.#waiting.take()?.();
    if (this.#requested === 0) this.#request();
  };
}
