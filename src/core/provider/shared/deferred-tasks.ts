// Deferred tasks: the outcome of an activity that was completed or failed by a call from outside.

import {
  ONE_ATTEMPT,
  retryDelay,
  shouldRetry,
  type RetryPolicy,
} from "../../define/retry-policy.ts";
import type { Failure } from "../../errors/failure-record.ts";
import type { ActivityCompleted, ActivityFailed } from "../../history/events.ts";
import type { CallbackTarget, TaskCall } from "../callbacks.ts";
import { activityKey } from "./message-keys.ts";

/** The message to the instance. */
export interface LaterOutcome {
  /** JSON text of ActivityCompleted or ActivityFailed. */
  readonly data: string;
  readonly key: string;
}

export function completedLater(
  target: CallbackTarget,
  output: string,
  attempts: number,
): LaterOutcome {
  const { sequence: scheduled } = target;
  const body: ActivityCompleted = { kind: "ActivityCompleted", scheduled, output, attempts };
  return { data: JSON.stringify(body), key: activityKey(target) };
}

/** What follows from a failed attempt, as for an attempt that threw (core/attempts/decide.ts). */
export function failedLater(
  target: CallbackTarget,
  call: Extract<TaskCall, { readonly kind: "fail" }>,
  task: {
    readonly attempts: number;
    /** The failures that count towards the maximum of the policy, including this one. */
    readonly failures: number;
    readonly retry: RetryPolicy | undefined;
  },
):
  | { readonly kind: "retry"; readonly delayMs: number }
  | { readonly kind: "outcome"; readonly outcome: LaterOutcome } {
  const failure = JSON.parse(call.failure) as Failure; // a client wrote it from an error
  const { attempts, failures, retry: policy = ONE_ATTEMPT } = task;
  if (shouldRetry({ policy, failures, failure })) {
    const delayMs = call.retryAfterMs ?? retryDelay(policy, failures, () => call.random);
    return { kind: "retry", delayMs };
  }
  const { sequence: scheduled } = target;
  const body: ActivityFailed = { kind: "ActivityFailed", scheduled, failure, attempts };
  const outcome = { data: JSON.stringify(body), key: activityKey(target) };
  return { kind: "outcome", outcome };
}
