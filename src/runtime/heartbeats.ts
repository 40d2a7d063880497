// Heartbeats: what running attempts say of themselves (details, or progress), on its way to the store.
//   HB1. Written at most once in `everyMs`, all together in one call; the newest of each attempt counts.
//   HB2. The first ones go at once. What could not be written is tried again, unless newer ones came.
//   HB3. A claim that the store does not know any more is told: the attempt has lost its lease.

import type { TimerHandle } from "../core/environment.ts";
import type { LeasedTask, TaskClaim } from "../core/provider/tasks.ts";
import type { TimerWheel } from "../core/timer-wheel.ts";

export interface HeartbeatsOptions {
  readonly wheel: TimerWheel;
  readonly monotonic: () => number;
  readonly everyMs: number;
  readonly write: (
    said: readonly (readonly [LeasedTask, string])[],
  ) => Promise<readonly TaskClaim[]>;
  readonly onLost: (claim: TaskClaim) => void;
  readonly trouble: (error: unknown) => void;
}

export class Heartbeats {
  readonly #o: HeartbeatsOptions;
  #waiting = new Map<LeasedTask, string>();
  #writtenAt = -Infinity;
  #timer: TimerHandle | null = null;

  constructor(options: HeartbeatsOptions) {
    this.#o = options;
  }

  note(task: LeasedTask, said: string): void {
    this.#waiting.set(task, said);
    this.#schedule();
  }

  /** Writes what waits; at an orderly end, before tasks are handed back. */
  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    const { monotonic, write, onLost, trouble } = this.#o;
    const batch = this.#waiting;
    if (batch.size === 0) return;
    this.#waiting = new Map();
    this.#writtenAt = monotonic();
    try {
      const lost = await write([...batch]);
      for (const claim of lost) onLost(claim);
    } catch (error) {
      trouble(error);
      for (const [task, said] of batch) {
        if (!this.#waiting.has(task)) this.#waiting.set(task, said);
      }
      this.#schedule();
    }
  }

  #schedule(): void {
    if (this.#timer !== null) return;
    const at = Math.max(this.#o.monotonic(), this.#writtenAt + this.#o.everyMs);
    this.#timer = this.#o.wheel.schedule(at, () => void this.flush());
  }
}
