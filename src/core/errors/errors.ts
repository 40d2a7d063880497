// PerdureError: the error class that callers handle. The `code` distinguishes the errors.
//   Owns: the codes.  Does not own: the errors of a failed task (task-errors.ts), the errors of an instance
//   that did not complete (outcome-errors.ts), the errors that user code throws to control its retries
//   (retry-errors.ts).
//   - `code` is API and stable. `message` is for people and may change.
//   - The table below contains every code. A test compares docs/errors.md with it.

import { brandError, brandOf, isBranded } from "./brand.ts";

/** Every code with its meaning. `docs/errors.md` says what to do about each. */
export const ERROR_CODES = {
  INVALID_ARGUMENT: "An argument or option breaks its rule; nothing was written.",
  INSTANCE_EXISTS:
    "An instance with this id exists already, and the start is to fail in that case.",
  INSTANCE_NOT_FOUND: "No instance has this id, or the requested execution was deleted.",
  INSTANCE_FINISHED: "The instance has ended and accepts no more messages.",
  INSTANCE_RUNNING: "The instance has not ended, and the call needs an ended instance.",
  PARENT_INFORMED:
    "The parent of the instance has received its end, so the instance cannot be rewound alone.",
  NOT_REGISTERED: "No orchestration, activity or flow of this name and version is registered.",
  DEFINITION_MISMATCH:
    "The registered flow differs from the flow that this instance was started with.",
  TIMEOUT: "The timeout of the call expired before the outcome was known.",
  BLOCKED: "The instance is blocked, and the call does not wait for blocked instances.",
  UNCLAIMED:
    "No running worker can run the instance or its activities, and the call does not wait for one.",
  CANCELLED: "The instance or the task was cancelled.",
  TERMINATED: "The instance was terminated: it ended at once, without running its code.",
  ORCHESTRATION_FAILED: "The orchestration's code threw, and the instance ended with that failure.",
  ACTIVITY_FAILED: "The activity failed, and no attempt is left.",
  STEP_FAILED: "The inline step failed, and no attempt is left.",
  CHILD_FAILED: "The child orchestration ended with a failure.",
  REQUEST_REFUSED: "The instance that was asked refused the request, or its handler failed.",
  VALUE_NOT_SERIALIZABLE: "The value at `path` cannot be restored exactly, so it was not stored.",
  LIMIT_EXCEEDED: "A configured limit on size or number would be exceeded.",
  NONDETERMINISM: "In a replay, the code diverged from the history.",
  FOREIGN_AWAIT: "The orchestration awaits something that is not durable and cannot be resumed.",
  GUARD_VIOLATION:
    "Orchestration code called something that is only allowed in activities and steps.",
  LEASE_LOST:
    "Another worker holds the lease of the instance; nothing from this worker was written.",
  SCHEMA_NEWER: "The store was written by a newer version of Perdure than this one.",
  STORE_INVALID: "The store is not a Perdure store, or is not set up as durability needs it.",
  STORE_UNAVAILABLE: "The store did not respond, or reported a temporary error; try again.",
  STORE_READ_ONLY: "The store is opened for reading only, and the call would write.",
  STORE_MOVED: "The store was moved to another store, or is being moved; it accepts no writes.",
  STORE_IN_USE: "Workers are running on the store, or another move is running; nothing was moved.",
  STORE_NOT_EMPTY: "The target store holds data other than an unfinished copy of this store.",
  COPY_MISMATCH: "The data read back from the target of a move differs from the source.",
  HISTORY_CORRUPT:
    "Stored data cannot be decoded, or its checksum does not match; it was left unchanged.",
  KEY_REUSED: "The request id was used before, for a different request.",
  KEY_MISSING: "The codec lacks the key that a stored value was encrypted with.",
  TOKEN_INVALID: "The token of the callback is not valid: this store did not sign it.",
  CALLBACK_CLOSED: "Nothing waits for the callback any more.",
  NOT_CONFIGURED:
    "The process was opened without a setting that the call needs, such as callbacks.",
  DRIVE_RUNNING: "A drive of the same runtime is running; one drive runs at a time.",
  SHUTTING_DOWN: "The runtime is shutting down and accepts no new work.",
} as const;

/** A stable code: API, unlike the messages. */
export type ErrorCode = keyof typeof ERROR_CODES;

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}

export interface PerdureErrorOptions extends ErrorOptions {
  /** The path to the part of the value that caused the error, such as `$.items[3].price`. */
  readonly path?: string;
  /** Why the instance has not ended. */
  readonly reason?: string;
}

const brand = brandOf("PerdureError");

/** The base class of every error that Perdure throws. */
export class PerdureError extends Error {
  static {
    brandError(this, "PerdureError");
  }

  readonly code: ErrorCode;
  /** Set for `VALUE_NOT_SERIALIZABLE`, and for a value that a schema refused. */
  declare readonly path?: string;
  /** Set for `TIMEOUT`, `BLOCKED` and `UNCLAIMED` if it is known: why the instance has not ended. */
  declare readonly reason?: string;

  constructor(code: ErrorCode, message: string, options?: PerdureErrorOptions) {
    super(message, options);
    this.code = code;
    if (options?.path !== undefined) this.path = options.path;
    if (options?.reason !== undefined) this.reason = options.reason;
  }
}

/** The message of a thrown value, whether or not it is an Error. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/**
 * Whether the value is a PerdureError, with that code if one is given. Works across installed copies of the
 * package.
 */
export function isPerdureError<Code extends ErrorCode = ErrorCode>(
  value: unknown,
  code?: Code,
): value is PerdureError & { readonly code: Code } {
  if (!isBranded(value, brand)) return false;
  return code === undefined || (value as PerdureError).code === code;
}
