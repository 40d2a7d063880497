// Rate limits: a token bucket per caller, and one per IP address for unauthenticated requests.
//   - A bucket holds `burst` requests and refills at `perSecond`. An empty bucket answers 429 with
//        Retry-After (S29).
//   - At most BUCKETS_MAX buckets are kept. The least recently used one is dropped, and would start full
//        again.

import { Refusal } from "../http/problems.ts";

const BUCKETS_MAX = 10_000;

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}
interface Bucket {
  left: number;
  at: number;
}

export class RateLimit {
  readonly #buckets = new Map<string, Bucket>();
  readonly #rate: Rate;
  readonly #now: () => number;

  /** `now`: a monotonic clock in milliseconds. */
  constructor(rate: Rate, now: () => number) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Counts one request of the caller, or throws RATE_LIMITED. */
  take(caller: string): void {
    const { perSecond, burst } = this.#rate;
    const now = this.#now();
    const bucket = this.#buckets.get(caller) ?? { left: burst, at: now };
    // Deleted and inserted again, so that the map is ordered by last use.
    this.#buckets.delete(caller);
    if (this.#buckets.size >= BUCKETS_MAX) {
      const oldest = this.#buckets.keys().next().value;
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    this.#buckets.set(caller, bucket);
    bucket.left = Math.min(burst, bucket.left + ((now - bucket.at) * perSecond) / 1_000);
    bucket.at = now;
    if (bucket.left >= 1) {
      bucket.left -= 1;
      return;
    }
    const waitSeconds = Math.max(1, Math.ceil((1 - bucket.left) / perSecond));
    throw new Refusal("RATE_LIMITED", undefined, { "Retry-After": String(waitSeconds) });
  }
}
