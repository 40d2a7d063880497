// Errors of nodes: as data for the flow's own handlers, and as errors that name the node for everything else.

import { PerdureError, type ErrorCode } from "../../core/errors/errors.ts";
import { toFailure, type Failure } from "../../core/errors/failure.ts";
import { CancelledError } from "../../core/errors/outcome-errors.ts";
import { withoutEngineStack } from "../../core/errors/replayed-error.ts";
import { TaskError } from "../../core/errors/task-errors.ts";

/** An error that the interpreter itself throws. It is the same in every replay. */
export function nodeError(code: ErrorCode, message: string, path: string): PerdureError {
  return withNode(withoutEngineStack(new PerdureError(code, message)), path);
}

/**
 * Adds the path of the failed node to the error. An error that has a path keeps it: the innermost node
 * wins.
 */
export function withNode<E>(error: E, path: string): E {
  if (!(error instanceof PerdureError) || error instanceof CancelledError || "node" in error) {
    return error;
  }
  if (!(error instanceof TaskError)) withoutEngineStack(error); // Thrown at the call: its stack differs in every replay.
  return Object.assign(error, { node: path });
}

export function isCancel(error: unknown): boolean {
  return error instanceof CancelledError;
}

/** A failure as data for a handler or a settled branch. Contains nothing that differs between replays. */
export function failureData(error: unknown, path: string): { failure: Failure; node: string } {
  const node = error instanceof PerdureError && "node" in error ? String(error.node) : path;
  if (error instanceof TaskError) return { failure: error.failure, node };
  const { stack: _stack, data: _data, ...failure } = toFailure(error, { retryable: false });
  return { failure, node };
}
