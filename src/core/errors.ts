// Errors that the caller acts on: one class, told apart by `code`.
//   Owns: the codes.  Does not own: what user code receives for a failed task (task-errors.ts), how an
//   instance ends (outcome-errors.ts), what user code throws to steer its retries (retry-errors.ts).
//   E1. `code` is API and stays; `message` is prose and may change.
//   E2. Every code is in the table below, and docs/errors.md is tested against it.

import { brandError, brandOf, isBranded } from "./error-brand.ts";

/** Every code, with what it says. `docs/errors.md` says what to do about each. */
export const ERROR_CODES = {
  INVALID_ARGUMENT: "An argument or option breaks its rule; nothing was written.",
  INSTANCE_EXISTS:
    "An instance of this id exists already, and the start asked to fail in that case.",
  INSTANCE_NOT_FOUND: "No instance of this id exists, or the execution asked for is gone.",
  INSTANCE_FINISHED: "The instance has ended and takes no more messages.",
  INSTANCE_RUNNING: "The instance has not ended, and the call needs one that has.",
  NOT_REGISTERED: "No orchestration, activity or flow of this name and version is registered.",
  DEFINITION_MISMATCH: "The registered flow is not the one that this instance was started with.",
  TIMEOUT: "The time given for the call was over before its outcome was known.",
  BLOCKED: "The instance is blocked, and the call was not to wait for that to change.",
  UNCLAIMED:
    "No running worker can run the instance or its activities, and the call was not to wait for one.",
  CANCELLED: "The instance or the task was cancelled.",
  TERMINATED: "The instance was ended from outside, without running its code.",
  ORCHESTRATION_FAILED: "The orchestration's code threw, and the instance ended with that failure.",
  ACTIVITY_FAILED: "The activity failed, and no attempt is left.",
  STEP_FAILED: "The inline step failed, and no attempt is left.",
  CHILD_FAILED: "The child orchestration ended with a failure.",
  VALUE_NOT_SERIALIZABLE:
    "The value at `path` could not be restored exactly, so it was not stored.",
  LIMIT_EXCEEDED: "A configured limit on size or number would be passed.",
  NONDETERMINISM: "Replay asked for something the history does not hold.",
  FOREIGN_AWAIT:
    "The orchestration awaits something that is not durable, and could not be resumed.",
  GUARD_VIOLATION:
    "Orchestration code called something that is only allowed in activities and steps.",
  LEASE_LOST: "Another worker owns the instance now; nothing this worker wrote was kept.",
  SCHEMA_NEWER: "The store was written by a newer version of Perdure than this one.",
  STORE_INVALID: "The store is not a Perdure store, or is not set up as durability needs it.",
  STORE_UNAVAILABLE: "The store did not answer, or refused for a reason that passes; try again.",
  STORE_READ_ONLY: "The store can only be read from here, and the call would write.",
  STORE_MOVED: "The store was moved to another, or is being moved; nothing is written to it.",
  STORE_IN_USE: "Runtimes are alive on the store, or another move is under way; nothing was moved.",
  STORE_NOT_EMPTY: "The store to move to holds something else than an unfinished copy of this one.",
  COPY_MISMATCH: "What was read back from the target of a move is not what the source holds.",
  HISTORY_CORRUPT:
    "Stored data cannot be decoded, or is not what was written; it was left as it is.",
  KEY_REUSED: "The request id was used before, for a request that asked for something else.",
  KEY_MISSING: "The codec lacks the key that a stored value was encrypted with.",
  SHUTTING_DOWN: "The runtime is shutting down and takes no new work.",
} as const;

/** A stable code: API, unlike the messages. */
export type ErrorCode = keyof typeof ERROR_CODES;

export interface PerdureErrorOptions extends ErrorOptions {
  /** Where in a value the trouble is, such as `$.items[3].price`. */
  readonly path?: string;
  /** Why the instance has not ended. */
  readonly reason?: string;
}

const brand = brandOf("PerdureError");

/** The root of every error that Perdure rejects with. */
export class PerdureError extends Error {
  static {
    brandError(this, "PerdureError");
  }

  readonly code: ErrorCode;
  /** Given with `VALUE_NOT_SERIALIZABLE`. */
  declare readonly path?: string;
  /** Given with `TIMEOUT`, `BLOCKED` and `UNCLAIMED` where it is known: why the instance has not ended. */
  declare readonly reason?: string;

  constructor(code: ErrorCode, message: string, options?: PerdureErrorOptions) {
    super(message, options);
    this.code = code;
    if (options?.path !== undefined) this.path = options.path;
    if (options?.reason !== undefined) this.reason = options.reason;
  }
}

/** Works across two installed copies of the package. With a code, it must be that one. */
export function isPerdureError<Code extends ErrorCode = ErrorCode>(
  value: unknown,
  code?: Code,
): value is PerdureError & { readonly code: Code } {
  if (!isBranded(value, brand)) return false;
  return code === undefined || (value as PerdureError).code === code;
}
