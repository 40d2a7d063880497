// Clock: this process's copy of the store's clock.
//   C1. It decides nothing: whatever is decided by time is decided by `clock()` in the schema (I3). It is what
//       `now()` answers without asking.
//   C2. A sample is worth as much as its round trip was short; it grows old, because clocks drift.
//   C3. On an environment of one's own, time is the environment's, here and in every transaction.

import type { Environment } from "../core/environment.ts";
import { systemEnvironment } from "../core/system-environment.ts";

const SAMPLE_MS = 30_000;
/** C3 */
const OWN_LOCK_MS = 30_000;

export class StoreClock {
  readonly #environment: Environment;
  readonly #isOwn: boolean;
  /** The store's time minus the environment's monotonic time. */
  #offset: number;
  #doubtMs = Infinity;
  #sampledAt = -Infinity;

  constructor(environment: Environment) {
    this.#environment = environment;
    this.#isOwn = environment !== systemEnvironment;
    this.#offset = environment.now() - environment.monotonic();
  }

  now(): number {
    if (this.#isOwn) return Math.floor(this.#environment.now());
    return Math.floor(this.#environment.monotonic() + this.#offset);
  }

  /** The time that a transaction is to take for the store's; empty: the server's own. */
  get given(): string {
    return this.#isOwn ? String(this.now()) : "";
  }

  /** How long the server lets a statement wait for a lock: its time, of which another clock knows nothing. */
  lockMs(wanted: number): number {
    return this.#isOwn ? OWN_LOCK_MS : wanted;
  }

  /** The store said what time it is, some time between `askedAt` and now on the monotonic clock. */
  told(storeNow: number, askedAt: number): void {
    const now = this.#environment.monotonic();
    const doubtMs = now - askedAt;
    if (doubtMs > this.#doubtMs && now - this.#sampledAt < SAMPLE_MS) return;
    this.#offset = storeNow + 0.5 - (askedAt + doubtMs / 2); // the store cuts its milliseconds off
    this.#doubtMs = doubtMs;
    this.#sampledAt = now;
  }
}
