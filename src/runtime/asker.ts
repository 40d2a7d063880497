// An asker: asks the store for one kind of thing when there is news, when something comes due, and once
// in a poll interval as a safety net.
//   DI1. One request of each kind is in flight; what is asked meanwhile is asked once more afterwards.
//   DI2. Nothing is taken that there is no room for (I12).
//   DI3. Errors of the store are retried with back-off for as long as it takes (P6).
//   DI4. Once stopped nothing is asked and no timer is left, whatever answers still come.

import { backOffMs } from "../core/committer.ts";
import type { Environment, TimerHandle } from "../core/environment.ts";
import type { TimerWheel } from "../core/timer-wheel.ts";

/** One kind of thing that is asked for. */
export interface Source {
  /** Asks once; whether it is worth asking again at once, and when something comes due (store clock). */
  ask(): Promise<{ again: boolean; nextAt: number | null }>;
}

export class Asker {
  readonly #source: Source;
  readonly #environment: Environment;
  readonly #wheel: TimerWheel;
  readonly #storeNow: () => number;
  readonly #onError: (error: unknown) => void;
  #wanted = false;
  #asking = false;
  #scheduled = false;
  #stopped = false;
  #timer: TimerHandle | null = null;
  #backOff: TimerHandle | null = null;
  #timerAt = Infinity;

  constructor(options: {
    source: Source;
    environment: Environment;
    wheel: TimerWheel;
    storeNow: () => number;
    onError: (error: unknown) => void;
  }) {
    this.#source = options.source;
    this.#environment = options.environment;
    this.#wheel = options.wheel;
    this.#storeNow = options.storeNow;
    this.#onError = options.onError;
  }

  get isIdle(): boolean {
    return !this.#asking && !this.#scheduled;
  }

  /** There is news: ask at the next macrotask. */
  wake(): void {
    this.#wanted = true;
    if (this.#scheduled || this.#asking || this.#stopped) return;
    this.#scheduled = true;
    this.#environment.immediate(() => {
      this.#scheduled = false;
      if (!this.#asking && !this.#stopped) void this.#askAll();
    });
  }

  /** Something comes due in that many milliseconds. */
  wakeIn(delayMs: number): void {
    const at = this.#environment.monotonic() + Math.max(delayMs, 0);
    if (at >= this.#timerAt || this.#stopped) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = this.#wheel.schedule(at, () => {
      this.#timerAt = Infinity;
      this.wake();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#backOff?.cancel();
  }

  async #askAll(): Promise<void> {
    this.#asking = true;
    for (let failures = 0; this.#wanted && !this.#stopped;) {
      this.#wanted = false;
      try {
        const { again, nextAt } = await this.#source.ask();
        failures = 0;
        if (again) this.#wanted = true;
        // Not due by the store's clock, whatever our copy of it says: asking at once would only spin.
        if (nextAt !== null) this.wakeIn(Math.max(nextAt - this.#storeNow(), 1));
      } catch (error) {
        if (this.#stopped) return;
        this.#onError(error);
        this.#wanted = true;
        await this.#pause(failures++);
      }
    }
    this.#asking = false;
  }

  #pause(failures: number): Promise<void> {
    const delayMs = backOffMs(this.#environment, failures);
    return new Promise((resolve) => {
      this.#backOff = this.#environment.setTimer(delayMs, resolve);
    });
  }
}
