// Retry policies: how many attempts a call has, and how long to wait between them.
//   Owns: parsing the options `attempts` and `retry`, whether there is a next attempt, and the delay before
//   it.
//   Does not own: the attempt count and the time of the next attempt. The task's row holds both (semantics
//   10).
//   - retry-policy.1: A resolved policy is plain JSON and complete. The store keeps it with the task, so that
//       a later change of a default does not affect a queued task.
//   - retry-policy.2: A delay is a whole, finite number of milliseconds at every attempt. Jitter only
//       shortens it.
//   - An unknown field is an error, because a misspelt field would have no effect.

import { parseDuration, type Duration } from "../time/duration.ts";
import { invalidArgument } from "../checks.ts";
import type { PerdureError } from "../errors/errors.ts";
import type { Failure } from "../errors/failure-record.ts";
import { showValue } from "../ids/ids.ts";

export const BACKOFF_KINDS = ["none", "fixed", "linear", "exponential"] as const;
export type BackoffKind = (typeof BACKOFF_KINDS)[number];

export interface BackoffOptions {
  /** Default "exponential". */
  readonly kind?: BackoffKind;
  /** Default 100 ms. */
  readonly base?: Duration;
  /** Exponential only. At least 1, default 2. */
  readonly factor?: number;
  /** Linear and exponential. Default 30 s, or `base` where that is longer. */
  readonly max?: Duration;
  /** The largest fraction of a delay, 0 to 1, by which a random number shortens it. Default 0. */
  readonly jitter?: number;
}

/** How often a failed attempt is repeated, and after how long. */
export interface RetryOptions {
  /** The first one included. Default 3. */
  readonly maxAttempts?: number;
  readonly backoff?: BackoffOptions;
  /** Whether an attempt that timed out is repeated. Default true. */
  readonly onTimeout?: boolean;
  /** Names of errors after which there is no further attempt. */
  readonly nonRetryable?: readonly string[];
}

/** How often it is attempted: `attempts` is a number, `retry` a policy. They exclude each other. */
export type Attempts =
  | {
      /**
       * Attempts at most, the first one included. `attempts: 5` is `retry: { maxAttempts: 5 }`. Default 1.
       */
      readonly attempts?: number;
      readonly retry?: undefined;
    }
  | {
      readonly attempts?: undefined;
      /** A policy. For a number of attempts write `attempts: 5`. Without both there is one attempt. */
      readonly retry?: RetryOptions;
    };

export interface RetryPolicy {
  readonly maxAttempts: number;
  readonly backoff: {
    readonly kind: BackoffKind;
    readonly baseMs: number;
    readonly factor: number;
    readonly maxMs: number;
    readonly jitter: number;
  };
  readonly onTimeout: boolean;
  readonly nonRetryable: readonly string[];
}

const ATTEMPTS_DEFAULT = 3;
const ATTEMPTS_MAX = 2_147_483_647; // an integer column anywhere
const BASE_MS_DEFAULT = 100;
const MAX_MS_DEFAULT = 30_000;
const RETRY_FIELDS = ["maxAttempts", "backoff", "onTimeout", "nonRetryable"];
const BACKOFF_FIELDS = ["kind", "base", "factor", "max", "jitter"];
const ATTEMPTS_EXPECTED = `a whole number from 1 to ${ATTEMPTS_MAX}`;

/** The policy of a call that has none. */
export const ONE_ATTEMPT = policyOf({ maxAttempts: 1 });

/** The policy as stored, from the options as given; undefined if they say nothing about attempts. */
export function retryPolicy(options: Attempts): RetryPolicy | undefined {
  const { attempts, retry }: { attempts?: unknown; retry?: unknown } = options;
  if (typeof retry === "number") {
    const example = isAttempts(retry) ? retry : 5;
    const wayOut = `for a number of attempts write attempts: ${example}`;
    throw invalidArgument(`retry must be an object; ${wayOut}.`);
  }
  if (attempts === undefined) {
    return options.retry === undefined ? undefined : policyOf(options.retry);
  }
  if (retry !== undefined) {
    const message = `attempts and retry exclude each other; write retry: { maxAttempts: ${showValue(attempts)}, … }.`;
    throw invalidArgument(message);
  }
  if (!isAttempts(attempts)) throw refusal("attempts", attempts, ATTEMPTS_EXPECTED);
  return policyOf({ maxAttempts: attempts });
}

/** Milliseconds until the next attempt; `failedAttempt` counts from 1, `random` is in [0, 1). */
export function retryDelay(
  policy: RetryPolicy,
  failedAttempt: number,
  random: () => number,
): number {
  const delayMs = fullDelay(policy.backoff, failedAttempt);
  if (policy.backoff.jitter === 0) return delayMs;
  return Math.ceil(delayMs * (1 - policy.backoff.jitter * random()));
}

/** Whether there is a next attempt. `failures` counts this one, and every earlier one. */
export function shouldRetry(attempt: {
  readonly policy: RetryPolicy;
  readonly failures: number;
  readonly failure: Pick<Failure, "name" | "retryable" | "kind">;
}): boolean {
  const { policy, failures, failure } = attempt;
  if (failures >= policy.maxAttempts || !failure.retryable) return false;
  if (failure.kind === "timeout" && !policy.onTimeout) return false;
  return !policy.nonRetryable.includes(failure.name);
}

function fullDelay(backoff: RetryPolicy["backoff"], failedAttempt: number): number {
  const { kind, baseMs, factor, maxMs } = backoff;
  if (kind === "none" || baseMs === 0) return 0; // 0 × Infinity, an overflowed power, would be NaN
  if (kind === "fixed") return baseMs;
  if (kind === "linear") return Math.min(baseMs * failedAttempt, maxMs);
  // A power that overflows is Infinity; Math.min then returns the maximum.
  return Math.min(Math.round(baseMs * factor ** (failedAttempt - 1)), maxMs);
}

function policyOf(retry: RetryOptions): RetryPolicy {
  checkFields(retry, "retry", RETRY_FIELDS);
  const { maxAttempts = ATTEMPTS_DEFAULT, onTimeout = true, nonRetryable = [] } = retry;
  const backoff = backoffOf(retry.backoff);
  if (!isAttempts(maxAttempts)) throw refusal("retry.maxAttempts", maxAttempts, ATTEMPTS_EXPECTED);
  if (typeof onTimeout !== "boolean") throw refusal("retry.onTimeout", onTimeout, "true or false");
  if (!Array.isArray(nonRetryable)) {
    throw refusal("retry.nonRetryable", nonRetryable, "a list of error names");
  }
  const names = nonRetryable.map((name: unknown, i) => {
    if (typeof name === "string" && name !== "") return name;
    throw refusal(`retry.nonRetryable[${i}]`, name, "an error's name");
  });
  return Object.freeze({ maxAttempts, backoff, onTimeout, nonRetryable: Object.freeze(names) });
}

function isAttempts(value: unknown): value is number {
  return (
    typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= ATTEMPTS_MAX
  );
}

function backoffOf(backoff: BackoffOptions = {}): RetryPolicy["backoff"] {
  checkFields(backoff, "retry.backoff", BACKOFF_FIELDS);
  const { kind = "exponential", base = BASE_MS_DEFAULT, factor = 2, jitter = 0 } = backoff;
  if (!BACKOFF_KINDS.includes(kind)) {
    throw refusal("retry.backoff.kind", kind, `one of ${BACKOFF_KINDS.join(", ")}`);
  }
  if (!Number.isFinite(factor) || factor < 1) {
    throw refusal("retry.backoff.factor", factor, "a finite number, 1 or more");
  }
  if (!(typeof jitter === "number" && jitter >= 0 && jitter <= 1)) {
    throw refusal("retry.backoff.jitter", jitter, "a fraction from 0 to 1");
  }
  const baseMs = parseDuration(base, "retry.backoff.base");
  const { max = Math.max(MAX_MS_DEFAULT, baseMs) } = backoff;
  const maxMs = parseDuration(max, "retry.backoff.max");
  return Object.freeze({ kind, baseMs, factor, maxMs, jitter: jitter + 0 });
}

function checkFields(value: unknown, what: string, known: readonly string[]): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw refusal(what, value, `an object of ${known.join(", ")}`);
  }
  const unknown = Object.keys(value).find((field) => !known.includes(field));
  if (unknown !== undefined) throw refusal(`${what}: field`, unknown, `one of ${known.join(", ")}`);
}

function refusal(what: string, value: unknown, expected: string): PerdureError {
  return invalidArgument(`${what} must be ${expected}; got ${showValue(value)}.`);
}
