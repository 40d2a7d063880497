// A poller: polls the store for one kind of work on notifications, when something comes due, and once per
// poll interval as a safety net.
//   - One request is in flight at a time. All wakes during a request cause one further request.
//   - It takes nothing beyond the free capacity (I12).
//   - Errors of the store are retried with backoff for as long as they last (P6).
//   - After `stop` no request is sent and no timer remains, even if a reply arrives later.

import { backOffMs } from "../../core/commit/back-off.ts";
import type { TimerHandle } from "../../core/time/environment.ts";
import type { RuntimeContext } from "../context.ts";

/** Whether to send another request at once, and when the next work comes due (store clock). */
export interface PollResult {
  readonly again: boolean;
  readonly nextAt: number | null;
}

export class Poller {
  readonly #runtime: RuntimeContext;
  readonly #poll: () => Promise<PollResult>;
  #wanted = false;
  #isPolling = false;
  #scheduled = false;
  #stopped = false;
  #timer: TimerHandle | null = null;
  #backoff: TimerHandle | null = null;
  #timerAt = Infinity;

  /** `poll` sends one request. */
  constructor(runtime: RuntimeContext, poll: () => Promise<PollResult>) {
    this.#runtime = runtime;
    this.#poll = poll;
  }

  /** Whether no request is in flight or about to be sent. A timer may be set. */
  get isIdle(): boolean {
    return !this.#wanted && !this.#scheduled && !this.#isPolling;
  }

  /** Polls in the next macrotask. */
  wake(): void {
    this.#wanted = true;
    if (this.#scheduled || this.#isPolling || this.#stopped) return;
    this.#scheduled = true;
    this.#runtime.environment.immediate(() => {
      this.#scheduled = false;
      if (!this.#isPolling && !this.#stopped) void this.#pollAll();
    });
  }

  /** Polls after this many milliseconds. */
  wakeIn(delayMs: number): void {
    const at = this.#runtime.monotonic() + Math.max(delayMs, 0);
    if (at >= this.#timerAt || this.#stopped) return;
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = this.#runtime.wheel.schedule(at, () => {
      this.#timerAt = Infinity;
      this.wake();
    });
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#backoff?.cancel();
  }

  async #pollAll(): Promise<void> {
    this.#isPolling = true;
    for (let failures = 0; this.#wanted && !this.#stopped;) {
      this.#wanted = false;
      try {
        const { again, nextAt } = await this.#poll();
        failures = 0;
        if (again) this.#wanted = true;
        // By the store's clock nothing is due yet, even if the local copy of that clock says otherwise.
        // Wait at least 1 ms to avoid a busy loop.
        if (nextAt !== null) this.wakeIn(Math.max(nextAt - this.#runtime.storeNow(), 1));
      } catch (error) {
        if (this.#stopped) return;
        this.#runtime.onStoreError(error);
        this.#wanted = true;
        await this.#pause(failures++);
      }
    }
    this.#isPolling = false;
  }

  #pause(failures: number): Promise<void> {
    const { environment } = this.#runtime;
    const delayMs = backOffMs(environment, failures);
    return new Promise((resolve) => {
      this.#backoff = environment.setTimer(delayMs, resolve);
    });
  }
}
