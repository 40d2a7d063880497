// Retry errors: user code throws them to control its retries. They are user failures, so they are not
// PerdureErrors.
//   - An attempt that fails with a NonRetryableError, or a subclass of it, is not retried, whatever the
//       policy says.
//   - A RetryAfterError sets the delay of the next attempt. The policy decides whether there is a next
//       attempt.

import { type Duration, formatDuration, parseDuration } from "../time/duration.ts";
import { brandError } from "./brand.ts";

/** Throw this error in an activity or a step if a retry cannot succeed. */
export class NonRetryableError extends Error {
  static {
    brandError(this, "NonRetryableError");
  }
}

/** Throw this error in an activity or a step if the called service said how long to wait. */
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
