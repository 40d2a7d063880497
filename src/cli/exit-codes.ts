// Exit codes: what a script learns from how a command ended. docs/cli.md is tested against this table.
//   EX1. A code keeps its meaning; new ones are added at the end.

import type { ErrorCode } from "../core/errors.ts";
import { isPerdureError } from "../core/errors.ts";

export const EXIT_CODES = {
  0: "It did what it was asked to.",
  1: "Something went wrong that no other code names.",
  2: "The command line, an input or the config is wrong; nothing was done.",
  3: "There is no such instance, execution or key.",
  4: "The instance, file or store is in no state for it: it exists, runs, has ended or moved already.",
  5: "The store cannot be opened, or does not answer.",
  6: "The instance that was waited for failed, was cancelled or terminated.",
  7: "The time that was given was over.",
  8: "`backup`, `check`, `doctor` or `migrate` found something.",
  9: "A question was answered with no, or nobody was there to answer it.",
  10: "Of several instances some were done and some refused.",
  11: "The instance that was waited for is blocked, or no running worker can run it.",
  130: "Interrupted by Ctrl+C.",
  143: "Ended by SIGTERM.",
} as const;

export type ExitCode = keyof typeof EXIT_CODES;

const OF_CODE: Readonly<Partial<Record<ErrorCode, ExitCode>>> = {
  INVALID_ARGUMENT: 2,
  VALUE_NOT_SERIALIZABLE: 2,
  LIMIT_EXCEEDED: 2,
  INSTANCE_NOT_FOUND: 3,
  INSTANCE_EXISTS: 4,
  INSTANCE_FINISHED: 4,
  INSTANCE_RUNNING: 4,
  NOT_REGISTERED: 4,
  DEFINITION_MISMATCH: 4,
  STORE_MOVED: 4,
  STORE_IN_USE: 4,
  STORE_NOT_EMPTY: 4,
  COPY_MISMATCH: 8,
  SCHEMA_NEWER: 5,
  STORE_INVALID: 5,
  STORE_UNAVAILABLE: 5,
  STORE_READ_ONLY: 5,
  ORCHESTRATION_FAILED: 6,
  CANCELLED: 6,
  TERMINATED: 6,
  TIMEOUT: 7,
  BLOCKED: 11,
  UNCLAIMED: 11,
};

/** Codes of the command line's own errors, beside those of the library. */
export type CliErrorCode =
  | "USAGE"
  | "CONFIG_INVALID"
  | "STORE_MISSING"
  | "NOT_FOUND"
  | "NOT_CONFIRMED"
  | "NOT_RETRYABLE"
  | "FILE_EXISTS"
  | "FILE_UNWRITABLE";

const OF_OWN_CODE: Readonly<Record<CliErrorCode, ExitCode>> = {
  USAGE: 2,
  CONFIG_INVALID: 2,
  STORE_MISSING: 5,
  NOT_FOUND: 3,
  NOT_CONFIRMED: 9,
  NOT_RETRYABLE: 4,
  FILE_EXISTS: 4,
  FILE_UNWRITABLE: 1,
};

/** Told to the user as it is, without a stack. */
export class CliError extends Error {
  readonly code: CliErrorCode;

  constructor(code: CliErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CliError";
    this.code = code;
  }
}

export function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return OF_OWN_CODE[error.code];
  return isPerdureError(error) ? (OF_CODE[error.code] ?? 1) : 1;
}
