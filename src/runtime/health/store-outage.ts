// Store outages: counts every error of the store and logs an outage less and less often until it is over
// (P6).
//   - The first error is logged at once, the next after 5 s, 10 s, 20 s and so on, up to 5 minutes.
//   - The outage is over when the store replies and nothing has failed for QUIET_MS. That is longer than
//     any backoff, so a store that can be read and not written still counts as unavailable.
//   - A store that is lost does not come back. That is logged once, as an error.

import { formatDuration } from "../../core/time/duration.ts";
import { StoreLostError } from "../../core/provider/store-lost.ts";
import type { RuntimeContext } from "../context.ts";
import { errorMessage } from "../../core/errors/errors.ts";

const PAUSE_MS = 5_000;
const PAUSE_MS_MAX = 300_000;
const QUIET_MS = 10_000;

export class StoreOutage {
  readonly #runtime: RuntimeContext;
  /** First and last error of the current outage, by the monotonic clock; null: no outage. */
  #outage: { readonly since: number; last: number } | null = null;
  #logAt = 0;
  #pauseMs = PAUSE_MS;
  #isLost = false;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  /** A call failed and will be retried. */
  reportError(error: unknown): void {
    this.#runtime.stats.providerErrors++;
    if (error instanceof StoreLostError) return this.#lost(error);
    const now = this.#runtime.monotonic();
    if (this.#outage === null) {
      this.#outage = { since: now, last: now };
      this.#logAt = now;
      this.#pauseMs = PAUSE_MS;
    }
    this.#outage.last = now;
    if (now < this.#logAt) return;
    this.#logAt = now + this.#pauseMs;
    this.#pauseMs = Math.min(this.#pauseMs * 2, PAUSE_MS_MAX);
    this.#runtime.log("warn", `store unavailable, retrying: ${errorMessage(error)}`, {});
  }

  #lost({ message }: StoreLostError): void {
    if (!this.#isLost) this.#runtime.log("error", `the store is lost: ${message}`, {});
    this.#isLost = true;
  }

  /** The store has replied. */
  answered(): void {
    if (this.#outage === null || this.#runtime.monotonic() - this.#outage.last < QUIET_MS) return;
    const { since, last } = this.#outage;
    this.#outage = null;
    const seconds = Math.round((last - since) / 1_000);
    this.#runtime.log("info", `store recovered after ${seconds} s`, { seconds });
  }

  /** `setBackMs`: by how much the clock was set back since the last call. */
  clockSetBack(setBackMs: number): void {
    if (setBackMs === 0) return;
    const by = formatDuration(setBackMs);
    const message = `the store's clock was set back by about ${by}: work that was due stays due; timers and retries set earlier fire up to ${by} later`;
    this.#runtime.log("warn", message, { setBackMs });
  }
}
