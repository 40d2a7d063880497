// Entries: activities and steps are entered one per macrotask, in order.
//   EN1. The microtasks of an entry run before the next entry, so its whole synchronous cost counts towards the
//        slice of the loop (loop-slice.ts). A batch of any size holds the loop for one slice and one entry at most.
//   EN2. The first entry of a batch runs at once, so that a single piece of work waits for no macrotask.
//   EN3. Macrotasks are requested in groups of AHEAD_MAX: those of a group follow each other without a loop turn.

import type { Environment } from "../core/environment.ts";
import type { LoopSlice } from "./loop-slice.ts";

const AHEAD_MAX = 256;

export class Entries {
  readonly #environment: Pick<Environment, "immediate">;
  readonly #slice: LoopSlice;
  #waiting: ((() => void) | null)[] = [];
  #head = 0;
  #requested = 0;

  constructor(environment: Pick<Environment, "immediate">, slice: LoopSlice) {
    this.#environment = environment;
    this.#slice = slice;
  }

  add(enter: () => void): void {
    if (this.#requested > 0 || !this.#slice.mayBegin()) {
      this.#waiting.push(enter);
      return this.#request();
    }
    this.#requestOne(); // EN2: what comes before this macrotask waits
    enter();
  }

  get #left(): number {
    return this.#waiting.length - this.#head;
  }

  #request(): void {
    const wanted = Math.min(this.#left, AHEAD_MAX);
    while (this.#requested < wanted) this.#requestOne();
  }

  #requestOne(): void {
    this.#requested++;
    this.#environment.immediate(this.#enterNext);
  }

  readonly #enterNext = (): void => {
    this.#requested--;
    if (this.#left > 0 && this.#slice.mayBegin()) this.#take()?.();
    if (this.#requested === 0) this.#request();
  };

  #take(): (() => void) | null {
    const enter = this.#waiting[this.#head] ?? null;
    this.#waiting[this.#head++] = null;
    if (this.#head === this.#waiting.length) {
      this.#waiting = [];
      this.#head = 0;
    }
    return enter;
  }
}
