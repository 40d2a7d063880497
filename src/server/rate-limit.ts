// Rate limits: a bucket for each caller, and one for each address from which nobody known comes.
//   RL1. A bucket holds `burst` requests and is filled by `perSecond`; an empty one is 429 with Retry-After (S29).
//   RL2. At most BUCKETS_MAX buckets are kept; the one unused for longest makes room, and starts full again.

import { Refusal } from "./problems.ts";

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

  /** `now` is a monotonic clock in milliseconds. */
  constructor(rate: Rate, now: () => number) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Takes one request of the caller's, or refuses it. */
  take(caller: string): void {
    const { perSecond, burst } = this.#rate;
    const now = this.#now();
    const bucket = this.#buckets.get(caller) ?? { left: burst, at: now };
    // Taken out and put back: the map's order is that of use.
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
