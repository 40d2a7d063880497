// Compaction: a long flow ends its execution and goes on in the next one, with its own state (semantics 26).
//   CP1. Done only where everything stands still and no work is under way; timers and waits are asked for again, at the
//        times and in the order they had. What was deferred and the results of nodes outside loops travel along.
//   CP2. It is tried past `after` events, or 4 MiB, at every point that can be taken up again. Where branches keep
//        each other busy, a branch that would begin new work past five times as many waits for the others, ten
//        seconds at most.
//   CP3. A state of more than 1 MiB does not travel: it is tried again later.
//   CP4. All of this follows from history alone, so that a replay decides the same.

import type { Carried } from "../core/carried-results.ts";
import type { NodeCalls } from "../core/node-calls.ts";
import type { FlowState } from "./frames.ts";
import type { Threads } from "./threads.ts";

const COMPACT_AFTER = 1_000;
const COMPACT_BYTES = 4 * 1024 * 1024;
const HOLD_FACTOR = 5;
const HOLD_MS = 10_000;
const STATE_CHARACTERS_MAX = 1024 * 1024;
const RESULTS_CHARACTERS_MAX = 256 * 1024;

export class Compaction {
  readonly #calls: NodeCalls;
  readonly #threads: Threads;
  readonly #stateOf: () => Omit<FlowState, "results">;
  readonly #after: number;
  readonly #execution: number;
  readonly #results = new Map<string, Carried>();
  readonly #held = new Set<() => void>();
  #nextAt: number;
  #nextBytes = COMPACT_BYTES;
  #holdAt: number;
  #isOver = false;

  constructor(options: {
    calls: NodeCalls;
    threads: Threads;
    execution: number;
    after: number | undefined;
    stateOf: () => Omit<FlowState, "results">;
  }) {
    this.#calls = options.calls;
    this.#threads = options.threads;
    this.#stateOf = options.stateOf;
    this.#execution = options.execution;
    this.#after = options.after ?? COMPACT_AFTER;
    this.#nextAt = this.#after;
    this.#holdAt = this.#after * HOLD_FACTOR;
  }

  /** A node outside of loops has ended, in this execution or in one before. */
  keep(path: string, result: Carried): void {
    this.#results.set(path, result);
  }

  get isDue(): boolean {
    return this.#calls.events >= this.#nextAt || this.#calls.bytes >= this.#nextBytes;
  }

  /** A thread is about to begin work, and can be begun again from here. */
  async pass(path: string): Promise<void> {
    if (!this.isDue) return;
    if (this.#isOver || (this.#threads.isAlone && this.#try())) return never();
    if (this.#calls.events < this.#holdAt) return;
    await this.#hold(path);
  }

  /** Every thread stands still. */
  rest(): void {
    if (!this.isDue || this.#isOver || this.#try()) return;
    if (this.#threads.isFree) for (const release of this.#held) release();
  }

  async #hold(path: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = this.#calls.sleep(path, { delayMs: HOLD_MS });
    this.#held.add(resolve);
    try {
      await this.#threads.stand(Promise.race([timer, promise]));
    } finally {
      this.#held.delete(resolve);
      this.#holdAt = this.#calls.events + this.#after;
      timer.cancel();
    }
  }

  #try(): boolean {
    if (!this.#threads.isFree || this.#calls.isCancelled) return false;
    const state = this.#calls.encode(this.#state());
    if (state.length > STATE_CHARACTERS_MAX) {
      this.#nextAt = this.#calls.events + this.#after;
      this.#nextBytes = this.#calls.bytes + COMPACT_BYTES;
      return false;
    }
    this.#isOver = true;
    this.#calls.continueWith(state);
    return true;
  }

  #state(): FlowState {
    return { ...this.#stateOf(), results: this.#carried() };
  }

  /** Results within the bound, oldest first; of the others, where they are to be found. */
  #carried(): FlowState["results"] {
    const all = [...this.#results];
    if (this.#calls.encode(all).length <= RESULTS_CHARACTERS_MAX) return all;
    let left = RESULTS_CHARACTERS_MAX;
    return all.map(([path, result]) => {
      if ("execution" in result) return [path, result] as const;
      const size = this.#calls.encode(result.value).length;
      if (size > left) return [path, { execution: this.#execution }] as const;
      left -= size;
      return [path, result] as const;
    });
  }
}

/** A new one each time: whoever waits for it must be forgotten with it. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
