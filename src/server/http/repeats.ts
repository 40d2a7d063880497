// Repeats: caches the answers to requests with an Idempotency-Key, for requests that repeat them.
//   - A repeated request gets the first answer, even if that is still being computed. The same key with
//        another body is an error (KEY_REUSED). request-binding.ts defines which requests are the same.
//   - Errors are not cached: a refused request had no effect, and a repetition is executed.
//   - The cache is in memory: at most REPEATS_MAX outcomes, each for LIFE_MS. Beyond that the store
//        deduplicates: starts, events, restarts and forks pass the key as their request id. All other
//        operations are idempotent.
//   - repeats.1: If the instance of an answer has been deleted since, even if its id is in use again, the
//        answer is dropped and the request is executed again.

import { PerdureError } from "../../core/errors/errors.ts";
import type { RequestBinding } from "./request-binding.ts";

const REPEATS_MAX = 1_000;
const LIFE_MS = 3_600_000;
/** The largest answer that is cached, in characters. */
const CHARS_MAX = 65_536;

/** An answer that can be sent again. */
export interface Outcome {
  readonly status: number;
  readonly text: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** The time of the answer, by the store's clock. */
  readonly at: number;
  /** The instance that the request created. */
  readonly made?: string;
}
interface CachedOutcome {
  readonly digest: string;
  readonly outcome: Promise<Outcome>;
  readonly until: number;
}

export class Repeats {
  readonly #cache = new Map<string, CachedOutcome>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** `holds`: whether the instance of an outcome still exists. */
  async once(
    { requestId, requestDigest: digest }: RequestBinding,
    act: () => Promise<Outcome>,
    holds: (outcome: Outcome) => Promise<boolean>,
  ): Promise<{ readonly outcome: Outcome; readonly replayed: boolean }> {
    const earlier = this.#cache.get(requestId);
    if (earlier !== undefined && earlier.until > this.#now()) {
      if (earlier.digest !== digest) {
        const message =
          "The Idempotency-Key was already used for a request with another query or body.";
        throw new PerdureError("KEY_REUSED", message);
      }
      const outcome = await earlier.outcome;
      if (await holds(outcome)) return { outcome, replayed: true };
      this.#forget(requestId, earlier.outcome);
      return this.once({ requestId, requestDigest: digest }, act, holds);
    }
    const outcome = act();
    this.#store(requestId, { digest, outcome, until: this.#now() + LIFE_MS });
    outcome.then(
      ({ text }) => {
        if ((text?.length ?? 0) > CHARS_MAX) this.#forget(requestId, outcome);
      },
      () => this.#forget(requestId, outcome),
    );
    return { outcome: await outcome, replayed: false };
  }

  #forget(requestId: string, outcome: Promise<Outcome>): void {
    if (this.#cache.get(requestId)?.outcome === outcome) this.#cache.delete(requestId);
  }

  #store(requestId: string, cached: CachedOutcome): void {
    this.#cache.delete(requestId);
    if (this.#cache.size >= REPEATS_MAX) {
      const oldest = this.#cache.keys().next().value;
      if (oldest !== undefined) this.#cache.delete(oldest);
    }
    this.#cache.set(requestId, cached);
  }
}
