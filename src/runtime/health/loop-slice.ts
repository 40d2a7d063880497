// The loop slice: decides when user code must return to the event loop.
//   - Deliveries and entries of activities and steps share one slice. After SLICE_MS nothing more begins
//     until the event loop has turned, so timers, I/O, heartbeats and other requests of the process run
//     in between.
//   - Every slice begins at least one piece of work, even if that takes longer than the slice.

import type { Environment } from "../../core/time/environment.ts";

const SLICE_MS = 5;

export class LoopSlice {
  readonly #environment: Pick<Environment, "monotonic" | "immediate">;
  #began: number | null = null;
  #isOver = false;

  constructor(environment: Pick<Environment, "monotonic" | "immediate">) {
    this.#environment = environment;
  }

  /**
   * To be called in a macrotask before user code begins. If false, call again in a macrotask that is
   * requested after this call.
   */
  mayBegin(): boolean {
    if (this.#isOver) return false;
    const now = this.#environment.monotonic();
    this.#began ??= now;
    if (now - this.#began < SLICE_MS) return true;
    this.#isOver = true;
    // A macrotask that is requested now runs after the event loop has turned.
    this.#environment.immediate(this.#renew);
    return false;
  }

  readonly #renew = (): void => {
    this.#isOver = false;
    this.#began = null;
  };
}
