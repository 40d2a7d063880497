// The loop slice: decides when user code must return to the event loop.
//   - Deliveries and entries of activities and steps share one slice. After SLICE_MS nothing more begins
//     until the event loop has turned, so timers, I/O, heartbeats and other requests of the process run
//     in between.
//   - Every slice begins at least one piece of work, even if that takes longer than the slice.
//   - loop-slice.1: A user that a slice refused gets its share of the next one: the other user leaves it half
//     of the time, and it may begin at least one piece. Otherwise the user whose macrotasks come first would
//     take every slice.

import type { Environment } from "../../core/time/environment.ts";

const SLICE_MS = 5;

export type SliceUser = "deliveries" | "entries";

export class LoopSlice {
  readonly #environment: Pick<Environment, "monotonic" | "immediate">;
  #began: number | null = null;
  #isEnding = false;
  /** The users that the previous slice refused and that have not begun anything since (loop-slice.1). */
  #waiting = new Set<SliceUser>();
  #refused = new Set<SliceUser>();

  constructor(environment: Pick<Environment, "monotonic" | "immediate">) {
    this.#environment = environment;
  }

  /**
   * To be called in a macrotask before user code begins. If false, call again in a macrotask that is
   * requested after this call.
   */
  mayBegin(user: SliceUser): boolean {
    if (this.#refused.has(user)) return false;
    const hasWaited = this.#waiting.delete(user);
    const now = this.#environment.monotonic();
    this.#began ??= now;
    const sliceMs = this.#waiting.size === 0 ? SLICE_MS : SLICE_MS / 2;
    if (hasWaited || now - this.#began < sliceMs) return true;
    this.#refused.add(user);
    if (this.#isEnding) return false;
    this.#isEnding = true;
    // A macrotask that is requested now runs after the event loop has turned.
    this.#environment.immediate(this.#renew);
    return false;
  }

  readonly #renew = (): void => {
    this.#began = null;
    this.#isEnding = false;
    const waiting = this.#waiting;
    waiting.clear();
    this.#waiting = this.#refused;
    this.#refused = waiting;
  };
}
