// How a node's failure is told: to the flow's own branches as data, to everybody else as an error that names the node.

import { PerdureError, type ErrorCode } from "../core/errors.ts";
import { toFailure, type Failure } from "../core/failure.ts";
import { CancelledError } from "../core/outcome-errors.ts";
import { replayed } from "../core/replayed-error.ts";
import { TaskError } from "../core/task-errors.ts";

/** An error of the interpreter's own; the same at every replay. */
export function nodeError(code: ErrorCode, message: string, path: string): PerdureError {
  return named(replayed(new PerdureError(code, message)), path);
}

/** The error with the path of the node that it came from: the innermost one. */
export function named<E>(error: E, path: string): E {
  if (!(error instanceof PerdureError) || error instanceof CancelledError || "node" in error) {
    return error;
  }
  if (!(error instanceof TaskError)) replayed(error); // thrown at the call: its stack is that of this turn
  return Object.assign(error, { node: path });
}

export function isCancel(error: unknown): boolean {
  return error instanceof CancelledError;
}

/** What a branch is told of a failure: what is recorded of it, and nothing that depends on this turn. */
export function told(error: unknown, path: string): { failure: Failure; node: string } {
  const node = error instanceof PerdureError && "node" in error ? String(error.node) : path;
  if (error instanceof TaskError) return { failure: error.failure, node };
  const { stack: _stack, data: _data, ...failure } = toFailure(error, { retryable: false });
  return { failure, node };
}
