// Compaction: a long flow continues as new, with its state as input, to keep its history short (semantics
// 26).
//   - It happens only when all threads wait and no work is in flight. The next execution schedules timers
//        and waits again, with their times and in their order. The state contains the pending compensations
//        and the results of nodes outside loops.
//   - After `after` events, or 4 MiB, the flow tries to compact at every point from which it can resume.
//        Concurrent branches may always have work in flight. After five times as many events, a branch that
//        would begin new work therefore waits for the others, for ten seconds at most.
//   - A state over 1 MiB is not carried over; the flow tries again later.
//   - All decisions follow from the history alone, so a replay makes the same ones.

import type { Carried } from "../../core/history/carried-results.ts";
import type { FlowState } from "./frames.ts";
import type { FlowRun } from "./interpreter.ts";

const COMPACT_AFTER = 1_000;
const COMPACT_BYTES = 4 * 1024 * 1024;
const HOLD_FACTOR = 5;
const HOLD_MS = 10_000;
const STATE_CHARACTERS_MAX = 1024 * 1024;
const RESULTS_CHARACTERS_MAX = 256 * 1024;

export class Compaction {
  readonly #run: FlowRun;
  readonly #stateOf: () => Omit<FlowState, "results">;
  readonly #after: number;
  readonly #results = new Map<string, Carried>();
  /** Threads that wait for the others before they begin new work. */
  readonly #held = new Set<() => void>();
  #nextAt: number;
  #nextBytes = COMPACT_BYTES;
  #holdAt: number;
  #hasContinued = false;

  constructor(run: FlowRun, after: number | undefined, stateOf: () => Omit<FlowState, "results">) {
    this.#run = run;
    this.#stateOf = stateOf;
    this.#after = after ?? COMPACT_AFTER;
    this.#nextAt = this.#after;
    this.#holdAt = this.#after * HOLD_FACTOR;
  }

  /** Records the result of a node outside loops, from this execution or a previous one. */
  keep(path: string, result: Carried): void {
    this.#results.set(path, result);
  }

  get isDue(): boolean {
    return this.#run.calls.events >= this.#nextAt || this.#run.calls.bytes >= this.#nextBytes;
  }

  /** A thread calls this before it begins work, at a point from which the next execution can resume it. */
  async beforeWork(path: string): Promise<void> {
    if (!this.isDue) return;
    if (this.#hasContinued || (this.#run.threads.isAlone && this.#try())) return never();
    if (this.#run.calls.events < this.#holdAt) return;
    await this.#hold(path);
  }

  /** Called when every thread waits. */
  onIdle(): void {
    if (!this.isDue || this.#hasContinued || this.#try()) return;
    if (this.#run.threads.hasNoWork) for (const release of this.#held) release();
  }

  async #hold(path: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#run.calls.sleep(path, { delayMs: HOLD_MS });
    this.#held.add(resolve);
    try {
      await this.#run.threads.wait(Promise.race([timer, promise]));
    } finally {
      this.#held.delete(resolve);
      this.#holdAt = this.#run.calls.events + this.#after;
      timer.cancel();
    }
  }

  #try(): boolean {
    if (!this.#run.threads.hasNoWork || this.#run.calls.isCancelled) return false;
    const state = this.#run.calls.encode(this.#state());
    if (state.length > STATE_CHARACTERS_MAX) {
      this.#nextAt = this.#run.calls.events + this.#after;
      this.#nextBytes = this.#run.calls.bytes + COMPACT_BYTES;
      return false;
    }
    this.#hasContinued = true;
    this.#run.calls.continueWith(state);
    return true;
  }

  #state(): FlowState {
    return { ...this.#stateOf(), results: this.#carried() };
  }

  /**
   * Results up to the size limit, oldest first. A result over the limit becomes a reference to its
   * execution.
   */
  #carried(): FlowState["results"] {
    const all = [...this.#results];
    if (this.#run.calls.encode(all).length <= RESULTS_CHARACTERS_MAX) return all;
    let left = RESULTS_CHARACTERS_MAX;
    return all.map(([path, result]) => {
      if ("execution" in result) return [path, result] as const;
      const size = this.#run.calls.encode(result.value).length;
      if (size > left) return [path, { execution: this.#run.ctx.info.executionId }] as const;
      left -= size;
      return [path, result] as const;
    });
  }
}

/** A new promise each time: a shared one would keep every thread that waits for it in memory. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
