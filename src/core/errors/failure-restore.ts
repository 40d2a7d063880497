// Failure restore: creates an Error from a Failure, for user code to catch.
//   - The error is a genuine error of the nearest class that every process has, so that `instanceof
//       TypeError` and `instanceof ActivityError` hold. No constructor of a subclass runs.
//   - A text that the codec cannot read is HISTORY_CORRUPT, as anywhere in a history.

import type { OrchestrationFailed } from "../history/events.ts";
import { type Codec, defaultCodec } from "../values/codec.ts";
import { bareError, defineHidden, defineShown } from "./error-classes.ts";
import { PerdureError } from "./errors.ts";
import { type EncodedValue, type Failure, isEncodedValue } from "./failure-record.ts";
import { openFailure } from "./failure-seal.ts";
import { OrchestrationError } from "./outcome-errors.ts";
import { RequestError } from "./request-error.ts";
import { TaskError } from "./task-errors.ts";

export function fromFailure(stored: Failure, codec: Codec = defaultCodec): Error {
  const failure = openFailure(stored, codec);
  const error = bareError(failure.type ?? "Error");
  defineHidden(error, "message", failure.message);
  if (error.name !== failure.name) defineHidden(error, "name", failure.name);
  defineHidden(error, "stack", failure.stack ?? `${failure.name}: ${failure.message}`);
  if (failure.code !== undefined) defineShown(error, "code", failure.code);
  if (failure.data !== undefined) restoreData(error, failure.data, codec);
  restoreCauses(error, failure, codec);
  return error;
}

/** The error of an instance that ended with this event. */
export function toOrchestrationError(
  { outcome, failure: stored, compensationFailures }: OrchestrationFailed,
  { id, name }: { readonly id: string; readonly name: string },
  codec: Codec = defaultCodec,
): OrchestrationError {
  const failure = openFailure(stored, codec);
  const cause = fromFailure(failure, codec);
  const instance = { instanceId: id, orchestration: name };
  const error = new OrchestrationError({ kind: outcome, ...instance, failure, cause });
  if (compensationFailures === undefined) return error;
  const compensationErrors = compensationFailures.map((each) => fromFailure(each, codec));
  return Object.assign(error, { compensationErrors });
}

function restoreData(error: Error, data: string, codec: Codec): void {
  const properties = codec.decode(data);
  if (typeof properties !== "object" || properties === null) {
    throw new PerdureError("HISTORY_CORRUPT", "a stored failure's data is not an object");
  }
  for (const [key, value] of Object.entries(properties)) defineShown(error, key, value);
}

function restoreCauses(error: Error, failure: Failure, codec: Codec): void {
  const { cause, errors, thrown } = failure;
  if (thrown !== undefined) defineHidden(error, "cause", codec.decode(thrown));
  if (cause !== undefined) defineHidden(error, "cause", restoreCause(cause, codec));
  if (
    error instanceof TaskError ||
    error instanceof OrchestrationError ||
    error instanceof RequestError
  ) {
    defineShown(error, "failure", innerFailure(failure));
  }
  if (errors === undefined) return;
  const members = errors.map((member) => restoreCause(member, codec));
  if (failure.type === "SuppressedError") {
    defineHidden(error, "error", members[0]);
    defineHidden(error, "suppressed", members[1]);
  } else {
    defineHidden(error, "errors", members);
  }
}

/**
 * The failure that a TaskError or OrchestrationError holds. If the bounds cut it off, the error's own fields.
 */
function innerFailure({ cause, category, name, message, retryable }: Failure): Failure {
  if (cause !== undefined && !isEncodedValue(cause)) return cause;
  return { category, name, message, retryable };
}

function restoreCause(cause: Failure | EncodedValue, codec: Codec): unknown {
  return isEncodedValue(cause) ? codec.decode(cause.encoded) : fromFailure(cause, codec);
}
