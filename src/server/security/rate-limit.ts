// Rate limits: a bucket per caller, and one per IP address for unauthenticated requests (callback/http/rate-buckets.ts). An
// empty bucket answers 429 with Retry-After (S29).

import { RateBuckets, type Rate } from "../../callback/http/rate-buckets.ts";
import { Refusal } from "../http/problems.ts";

export class RateLimit {
  readonly #buckets: RateBuckets;

  /** `now`: a monotonic clock in milliseconds. */
  constructor(rate: Rate, now: () => number) {
    this.#buckets = new RateBuckets(rate, now);
  }

  /** Counts one request of the caller, or throws RATE_LIMITED. */
  take(caller: string): void {
    const waitSeconds = this.#buckets.take(caller);
    if (waitSeconds === 0) return;
    throw new Refusal("RATE_LIMITED", undefined, { "Retry-After": String(waitSeconds) });
  }
}
