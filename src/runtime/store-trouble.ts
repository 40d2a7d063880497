// Trouble with the store: counted each time, told less and less often, and told when it is over (P6: it is gone
// through, not given up).
//   TR1. The first error is told at once, then after 5 s, 10 s, 20 s and so on up to 5 minutes.
//   TR2. It is over when the store answers and nothing failed for QUIET_MS, which is longer than any back-off: a store
//        that reads and does not write is still in trouble.
//   TR3. A store that is lost does not come back: that is logged once, as an error.

import { formatDuration } from "../core/duration.ts";
import type { Environment } from "../core/environment.ts";
import type { LogSink } from "../core/log.ts";
import { StoreLostError } from "../core/provider/store-lost.ts";
import type { RuntimeStats } from "./stats.ts";

const PAUSE_MS = 5_000;
const PAUSE_MS_MAX = 300_000;
const QUIET_MS = 10_000;

export class StoreTrouble {
  readonly #environment: Environment;
  readonly #log: LogSink;
  readonly #stats: RuntimeStats;
  /** Monotonic: the first and the last error of the trouble there is; null: none. */
  #now: { readonly since: number; last: number } | null = null;
  #tellAt = 0;
  #pauseMs = PAUSE_MS;
  #isLost = false;

  constructor(options: {
    readonly environment: Environment;
    readonly log: LogSink;
    readonly stats: RuntimeStats;
  }) {
    this.#environment = options.environment;
    this.#log = options.log;
    this.#stats = options.stats;
  }

  /** A call failed, and will be repeated. */
  readonly tell = (error: unknown): void => {
    this.#stats.providerErrors++;
    if (error instanceof StoreLostError) return this.#lost(error);
    const now = this.#environment.monotonic();
    if (this.#now === null) {
      this.#now = { since: now, last: now };
      this.#tellAt = now;
      this.#pauseMs = PAUSE_MS;
    }
    this.#now.last = now;
    if (now < this.#tellAt) return;
    this.#tellAt = now + this.#pauseMs;
    this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS_MAX);
    const message = error instanceof Error ? error.message : String(error);
    this.#log("warn", `the store is in trouble, trying on: ${message}`, {});
  };

  #lost({ message }: StoreLostError): void {
    if (!this.#isLost) this.#log("error", `the store is lost: ${message}`, {});
    this.#isLost = true;
  }

  /** The store has answered. */
  answered(): void {
    if (this.#now === null || this.#environment.monotonic() - this.#now.last < QUIET_MS) return;
    const { since, last } = this.#now;
    this.#now = null;
    const seconds = Math.round((last - since) / 1_000);
    this.#log("info", `the store is well again, after ${seconds} s of trouble`, { seconds });
  }

  /** By how much, since the last call of this. */
  clockSetBack(setBackMs: number): void {
    if (setBackMs === 0) return;
    const by = formatDuration(setBackMs);
    const message = `the store's clock was set back by about ${by}: work that was due stays due; timers and retries that were set before fire up to ${by} later`;
    this.#log("warn", message, { setBackMs });
  }
}
