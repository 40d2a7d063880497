// What an orchestration receives when work that it asked for failed: one class for each kind of work.
//   T1. `message` is the failure's own, unchanged, so that texts users match on survive every layer.
//   T2. `cause` is the restored original error; `failure` is the stored form it was restored from.
//   T3. `kind` says who gave up: the user's code, the clock, or the poison rule.

import { brandError } from "./error-brand.ts";
import { type ErrorCode, PerdureError } from "./errors.ts";
import type { Failure } from "./failure-record.ts";

export type TaskErrorKind = "application" | "timeout" | "poison";

export interface TaskErrorInit {
  /** How often user code was entered. */
  readonly attempts: number;
  readonly failure: Failure;
  /** `fromFailure(failure, codec)`, made by the caller because it knows the codec. */
  readonly cause: unknown;
}

/** What the three below have in common. Not thrown itself. */
export abstract class TaskError extends PerdureError {
  static {
    brandError(this, "TaskError");
  }

  readonly kind: TaskErrorKind;
  readonly attempts: number;
  readonly failure: Failure;

  constructor(code: ErrorCode, init: TaskErrorInit) {
    super(code, init.failure.message, { cause: init.cause });
    this.kind = taskErrorKind(init.failure);
    this.attempts = init.attempts;
    this.failure = init.failure;
  }
}

/** `ctx.run` rejects with it. */
export class ActivityError extends TaskError {
  static {
    brandError(this, "ActivityError");
  }

  declare readonly code: "ACTIVITY_FAILED";
  readonly activity: string;

  constructor(activity: string, init: TaskErrorInit) {
    super("ACTIVITY_FAILED", init);
    this.activity = activity;
  }
}

/** `ctx.step` and `ctx.tx` reject with it. */
export class StepError extends TaskError {
  static {
    brandError(this, "StepError");
  }

  declare readonly code: "STEP_FAILED";
  readonly step: string;

  constructor(step: string, init: TaskErrorInit) {
    super("STEP_FAILED", init);
    this.step = step;
  }
}

/** `ctx.call` rejects with it. */
export class ChildError extends TaskError {
  static {
    brandError(this, "ChildError");
  }

  declare readonly code: "CHILD_FAILED";
  readonly child: string;

  constructor(child: string, init: TaskErrorInit) {
    super("CHILD_FAILED", init);
    this.child = child;
  }
}

function taskErrorKind(failure: Failure): TaskErrorKind {
  if (failure.category === "poison") return "poison";
  return failure.kind === "timeout" ? "timeout" : "application";
}
