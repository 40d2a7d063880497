// Task errors: the errors that an orchestration receives for failed work, one class per kind of work.
//   - `message` is the unchanged message of the failure, so that users can match on it in every layer.
//   - `cause` is the restored original error; `failure` is the stored form of that error.
//   - `kind` says what ended the work: the user's code, a timeout, or the poison rule (semantics 13).

import { brandError } from "./brand.ts";
import { type ErrorCode, PerdureError } from "./errors.ts";
import type { Failure } from "./failure-record.ts";

export type TaskErrorKind = "application" | "timeout" | "poison";

export interface TaskErrorInit {
  /** The number of attempts that ran user code. */
  readonly attempts: number;
  readonly failure: Failure;
  /** `fromFailure(failure, codec)`. The caller creates it, because the caller has the codec. */
  readonly cause: unknown;
}

/** The base class of ActivityError, StepError and ChildError. It is not thrown itself. */
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

/** `ctx.run` rejects with this error. */
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

/** `ctx.step` and `ctx.tx` reject with this error. */
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

/** `ctx.call` rejects with this error. */
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
