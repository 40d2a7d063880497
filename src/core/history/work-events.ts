// History events of activities and of inline steps (events.ts).

import type { RetryPolicy } from "../define/retry-policy.ts";
import type { Failure } from "../errors/failure.ts";
import type { OfNode } from "./events.ts";
import type { MayBeReplaced } from "./repair-records.ts";

/** Options of an activity call. The defaults of the activity are already applied. */
export interface ActivityOptions {
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
  readonly scheduleToCloseMs?: number;
  readonly heartbeatTimeoutMs?: number;
  readonly session?: string;
  readonly tags?: readonly string[];
  readonly priority?: number;
  readonly queueKey?: string; // replay does not compare it
}
export interface ActivityScheduled extends ActivityOptions, OfNode {
  readonly kind: "ActivityScheduled";
  readonly name: string;
  readonly input: string;
  /** The metadata of the node and of the flow. The activity can read it. */
  readonly metadata?: NodeMetadata;
}
export interface NodeMetadata {
  readonly node?: unknown;
  readonly flow?: unknown;
}
/**
 * When the code of the last attempt began, by the store's clock, and for how many milliseconds it ran. Absent if the code
 * did not run, if a call from outside completed the activity, and in histories of earlier versions.
 */
export interface AttemptTimes {
  readonly ran?: readonly [began: number, durationMs: number];
}
export interface ActivityCompleted extends MayBeReplaced, AttemptTimes {
  readonly kind: "ActivityCompleted";
  readonly scheduled: number;
  readonly output: string;
  readonly attempts: number;
}
export interface ActivityFailed extends AttemptTimes {
  readonly kind: "ActivityFailed";
  readonly scheduled: number;
  readonly failure: Failure;
  readonly attempts: number;
}
export interface ActivityCancelRequested {
  readonly kind: "ActivityCancelRequested";
  readonly scheduled: number;
  readonly reason: string;
}

export interface StepScheduled {
  readonly kind: "StepScheduled";
  readonly name: string;
  /** The step runs in a transaction of the store (`ctx.tx`). */
  readonly transaction?: true;
  readonly retry?: RetryPolicy;
  readonly timeoutMs?: number;
}
export interface StepAttemptFailed {
  readonly kind: "StepAttemptFailed";
  readonly scheduled: number;
  readonly attempt: number;
  readonly failure: Failure;
  readonly due: number;
}
export interface StepCompleted extends MayBeReplaced {
  readonly kind: "StepCompleted";
  readonly scheduled: number;
  readonly output: string;
  readonly attempts: number;
}
export interface StepFailed {
  readonly kind: "StepFailed";
  readonly scheduled: number;
  readonly failure: Failure;
  readonly attempts: number;
}
export interface StepCancelRequested {
  readonly kind: "StepCancelRequested";
  readonly scheduled: number;
  readonly reason: string;
}
