// The loop slice: says when user code must give the event loop back.
//   LS1. Deliveries and entries of activities and steps share one slice. After SLICE_MS nothing more begins until
//        the loop has turned: timers, I/O, heartbeats and other requests of the process run in between.
//   LS2. Every slice begins at least one piece, however long that piece takes.

import type { Environment } from "../core/environment.ts";

const SLICE_MS = 20;

export class LoopSlice {
  readonly #environment: Pick<Environment, "monotonic" | "immediate">;
  #began: number | null = null;
  #isOver = false;

  constructor(environment: Pick<Environment, "monotonic" | "immediate">) {
    this.#environment = environment;
  }

  /** To be asked in a macrotask before user code begins. False: ask again in a macrotask requested from now on. */
  mayBegin(): boolean {
    if (this.#isOver) return false;
    const now = this.#environment.monotonic();
    this.#began ??= now;
    if (now - this.#began < SLICE_MS) return true;
    this.#isOver = true;
    // A macrotask that is requested now runs after the loop has turned.
    this.#environment.immediate(this.#renew);
    return false;
  }

  readonly #renew = (): void => {
    this.#isOver = false;
    this.#began = null;
  };
}
