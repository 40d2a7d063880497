// Rate limits: a token bucket per key.
//   - A bucket holds `burst` requests and refills at `perSecond`.
//   - At most BUCKETS_MAX buckets are kept. The least recently used one is dropped, and would start full
//        again.

const BUCKETS_MAX = 10_000;

export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}
interface Bucket {
  left: number;
  at: number;
}

export class RateBuckets {
  readonly #buckets = new Map<string, Bucket>();
  readonly #rate: Rate;
  readonly #now: () => number;

  /** `now`: a monotonic clock in milliseconds. */
  constructor(rate: Rate, now: () => number) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Counts one request of the key. Returns 0, or how many whole seconds the key must wait. */
  take(key: string): number {
    const { perSecond, burst } = this.#rate;
    const now = this.#now();
    const bucket = this.#buckets.get(key) ?? { left: burst, at: now };
    // Deleted and inserted again, so that the map is ordered by last use.
    this.#buckets.delete(key);
    if (this.#buckets.size >= BUCKETS_MAX) {
      const oldest = this.#buckets.keys().next().value;
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    this.#buckets.set(key, bucket);
    bucket.left = Math.min(burst, bucket.left + ((now - bucket.at) * perSecond) / 1_000);
    bucket.at = now;
    if (bucket.left < 1) return Math.max(1, Math.ceil((1 - bucket.left) / perSecond));
    bucket.left -= 1;
    return 0;
  }
}
