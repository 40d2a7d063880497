// What user code throws to steer its retries. Neither is a PerdureError: they are the user's failures.
//   R1. A failure made from a NonRetryableError, or a subclass of it, is not retried whatever the policy.
//   R2. A RetryAfterError only moves the next attempt; whether there is one is the policy's to say.

import { type Duration, formatDuration, parseDuration } from "./duration.ts";
import { brandError } from "./error-brand.ts";

/** Throw it in an activity or a step when trying again cannot help. */
export class NonRetryableError extends Error {
  static {
    brandError(this, "NonRetryableError");
  }
}

/** Throw it in an activity or a step when the other side said how long to wait. */
export class RetryAfterError extends Error {
  static {
    brandError(this, "RetryAfterError");
  }

  readonly delayMs: number;

  constructor(delay: Duration, message?: string, options?: ErrorOptions) {
    const delayMs = parseDuration(delay, "RetryAfterError's delay");
    super(message ?? `retry after ${formatDuration(delayMs)}`, options);
    this.delayMs = delayMs;
  }
}
