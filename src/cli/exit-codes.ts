// Exit codes: they tell a script how a command ended. A test compares docs/cli.md with this table.
//   - A code never changes its meaning. New codes get new numbers.

import type { ErrorCode } from "../core/errors/errors.ts";
import { isPerdureError } from "../core/errors/errors.ts";

export const EXIT_CODES = {
  0: "The command succeeded.",
  1: "Any error without a specific exit code.",
  2: "The command line, an input or the config is invalid; nothing was changed.",
  3: "The instance, execution or key does not exist.",
  4: "The instance, file or store is in the wrong state: it already exists, is running, has ended or was moved.",
  5: "The store cannot be opened, or does not respond.",
  6: "The command waited for an instance that failed, or was cancelled or terminated.",
  7: "The timeout expired.",
  8: "`backup`, `check`, `doctor` or `migrate` found a problem.",
  9: "The user did not confirm, or there was no terminal to ask on.",
  10: "Some of the selected instances were changed; others were refused.",
  11: "The command waited for an instance that is blocked, or that no running worker can execute.",
  12: "The instance refused the request, or its handler failed.",
  130: "Interrupted by Ctrl+C.",
  143: "Terminated by SIGTERM.",
} as const;

export type ExitCode = keyof typeof EXIT_CODES;

const OF_CODE: Readonly<Partial<Record<ErrorCode, ExitCode>>> = {
  INVALID_ARGUMENT: 2,
  VALUE_NOT_SERIALIZABLE: 2,
  LIMIT_EXCEEDED: 2,
  TOKEN_INVALID: 2,
  NOT_CONFIGURED: 2,
  INSTANCE_NOT_FOUND: 3,
  INSTANCE_EXISTS: 4,
  INSTANCE_FINISHED: 4,
  INSTANCE_RUNNING: 4,
  PARENT_INFORMED: 4,
  CALLBACK_CLOSED: 4,
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
  REQUEST_REFUSED: 12,
};

/** Codes of errors that only the command line raises. The library's codes are in `ErrorCode`. */
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

/** An error of the command line. The program prints its message without a stack. */
export class CliError extends Error {
  readonly code: CliErrorCode;

  constructor(code: CliErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "CliError";
    this.code = code;
  }
}

export function exitCodeOf(error: unknown): ExitCode {
  return error instanceof CliError || isPerdureError(error) ? exitCodeOfCode(error.code) : 1;
}

export function exitCodeOfCode(code: CliErrorCode | ErrorCode): ExitCode {
  return isOwnCode(code) ? OF_OWN_CODE[code] : (OF_CODE[code] ?? 1);
}

function isOwnCode(code: CliErrorCode | ErrorCode): code is CliErrorCode {
  return Object.hasOwn(OF_OWN_CODE, code);
}
