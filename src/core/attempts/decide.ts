// The retry decision: what follows from the result of an attempt. It logs every failed attempt.

import { ONE_ATTEMPT, retryDelay, shouldRetry, type RetryPolicy } from "../define/retry-policy.ts";
import type { Failure } from "../errors/failure.ts";
import { logFailedAttempt, whyNoRetry, type FailedAttempt } from "../telemetry/failure-lines.ts";
import type { LogSink } from "../telemetry/log.ts";
import type { AttemptResult } from "./run-attempt.ts";

export type Decision =
  | { readonly kind: "completed"; readonly output: string }
  | { readonly kind: "failed"; readonly failure: Failure }
  | { readonly kind: "retry"; readonly failure: Failure; readonly delayMs: number };

export interface DecidedAttempt extends Pick<FailedAttempt, "description"> {
  /** The retry policy of the call. Without one, the first failure is final. */
  readonly policy: RetryPolicy | undefined;
  /** The failures of the call that count towards the policy's maximum, including this attempt. */
  readonly failures: number;
}

export function decide(
  result: AttemptResult,
  { description, policy = ONE_ATTEMPT, failures }: DecidedAttempt,
  { log, random }: { readonly log: LogSink; readonly random: () => number },
): Decision {
  if (result.kind === "completed") return result;
  const { failure, retryAfterMs } = result;
  const count = { failures, max: policy.maxAttempts };
  const failed = { description, failure, count };
  if (!shouldRetry({ policy, failures, failure })) {
    logFailedAttempt(log, { ...failed, next: { kind: "none", why: whyNoRetry(count) } });
    return { kind: "failed", failure };
  }
  const delayMs = retryAfterMs ?? retryDelay(policy, failures, random);
  logFailedAttempt(log, { ...failed, next: { kind: "retry", delayMs } });
  return { kind: "retry", failure, delayMs };
}
