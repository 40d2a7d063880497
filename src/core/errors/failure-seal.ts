// Sealing: message, stack and causes of a failure as one codec text, for codecs that encrypt failures.
//   - The fields that the engine and operators need stay in clear: category, kind, name, code, class,
//       `retryable`.
//   - Parts that cannot be sealed are omitted. They are never stored in clear.

import type { Codec } from "../values/codec.ts";
import { defined } from "../values/defined.ts";
import { PerdureError } from "./errors.ts";
import { FAILURE_LIMITS, type Failure } from "./failure-record.ts";
import { attempt, isFailure } from "./failure-reading.ts";

const SEALED = "(sealed: readable with the codec that wrote it)";
const LOST = "(omitted: the message could not be encoded)";

export function sealFailure(failure: Failure, codec: Codec): Failure {
  const { message, stack, cause, errors, ...clear } = failure;
  const sealed = attempt(() => codec.encode(defined({ message, stack, cause, errors })));
  if (sealed === undefined || sealed.length > SEALED_CHARS_MAX) return { ...clear, message: LOST };
  return { ...clear, message: SEALED, sealed };
}

/** Encryption and base64 make a text longer, by less than this factor. */
const SEALED_CHARS_MAX = 4 * FAILURE_LIMITS.totalChars;

/**
 * The failure as it was before sealing. A failure that is not sealed stays as it is. Throws the codec's
 * errors.
 */
export function openFailure(failure: Failure, codec: Codec): Failure {
  const { sealed, message: _placeholder, ...clear } = failure;
  if (sealed === undefined) return failure;
  const opened = codec.decode(sealed);
  const whole = typeof opened === "object" && opened !== null ? { ...clear, ...opened } : clear;
  if (isFailure(whole)) return whole;
  throw new PerdureError("HISTORY_CORRUPT", "a sealed text does not contain a failure");
}

/** For display: a failure that cannot be opened has the reason as its message. Never throws. */
export function readableFailure(failure: Failure, codec: Codec): Failure {
  try {
    return openFailure(failure, codec);
  } catch (error) {
    const why = error instanceof Error ? error.message : "it cannot be decoded";
    return { ...failure, message: `(unreadable: ${why})` };
  }
}
