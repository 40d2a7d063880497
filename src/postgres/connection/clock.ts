// Clock: an estimate of the store's clock in this process.
//   - Every decision by time uses `clock()` in the schema (I3). This estimate is only for what the process
//       must know without a query.
//   - A sample with a short round trip is more precise. A sample expires after SAMPLE_MS, because clocks
//       drift.
//   - postgres.clock.1: With a custom environment, the time is the environment's, here and in every
//       transaction.

import type { Environment } from "../../core/time/environment.ts";
import { systemEnvironment } from "../../core/time/system-environment.ts";

const SAMPLE_MS = 30_000;
/** postgres.clock.1 */
const CUSTOM_CLOCK_LOCK_MS = 30_000;

export class StoreClock {
  readonly #environment: Environment;
  readonly #isCustom: boolean;
  /** The store's time minus the environment's monotonic time. */
  #offset: number;
  #uncertaintyMs = Infinity;
  #sampledAt = -Infinity;

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#isCustom = environment !== systemEnvironment;
    this.#offset = environment.now() - environment.monotonic();
  }

  now(): number {
    if (this.#isCustom) return Math.floor(this.#environment.now());
    return Math.floor(this.#environment.monotonic() + this.#offset);
  }

  /** The time that a transaction must use as the store's time; empty means the server's clock. */
  get transactionTime(): string {
    return this.#isCustom ? String(this.now()) : "";
  }

  /** The lock timeout for the server. It runs on the server's clock, so with a custom clock it is fixed. */
  lockMs(wanted: number): number {
    return this.#isCustom ? CUSTOM_CLOCK_LOCK_MS : wanted;
  }

  /**
   * Adds a sample: the store's time was `storeNow` at some moment between `askedAt` and now (monotonic
   * clock).
   */
  addSample(storeNow: number, askedAt: number): void {
    const now = this.#environment.monotonic();
    const uncertaintyMs = now - askedAt;
    if (uncertaintyMs > this.#uncertaintyMs && now - this.#sampledAt < SAMPLE_MS) return;
    // The store truncates its time to whole milliseconds, hence the half.
    this.#offset = storeNow + 0.5 - (askedAt + uncertaintyMs / 2);
    this.#uncertaintyMs = uncertaintyMs;
    this.#sampledAt = now;
  }
}
