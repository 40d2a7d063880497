// Sealing: what a failure tells, as one codec text, for a codec that lets nobody else read it.
//   FS1. In clear stays what the engine and its operators act on: category, kind, name, code, class, `retryable`.
//   FS2. What cannot be sealed is left out, never stored in clear.

import type { Codec } from "./codec.ts";
import { PerdureError } from "./errors.ts";
import { FAILURE_LIMITS, type Failure } from "./failure-record.ts";
import { attempt, isFailure } from "./failure-reading.ts";

const SEALED = "(sealed: the codec that wrote it shows what it says)";
const LOST = "(what it said could not be encoded)";

export function sealFailure(failure: Failure, codec: Codec): Failure {
  const { message, stack, cause, errors, ...open } = failure;
  const told = {
    message,
    ...(stack === undefined ? {} : { stack }),
    ...(cause === undefined ? {} : { cause }),
    ...(errors === undefined ? {} : { errors }),
  };
  const sealed = attempt(() => codec.encode(told));
  if (sealed === undefined || sealed.length > SEALED_CHARS_MAX) return { ...open, message: LOST };
  return { ...open, message: SEALED, sealed };
}

/** Texts grow when they are encrypted and written in base64; what is bounded before is bounded after. */
const SEALED_CHARS_MAX = 4 * FAILURE_LIMITS.totalChars;

/** The failure as it was before it was sealed; any other as it is. Throws what the codec throws. */
export function openFailure(failure: Failure, codec: Codec): Failure {
  const { sealed, message: _sealed, ...open } = failure;
  if (sealed === undefined) return failure;
  const told = codec.decode(sealed);
  const whole = typeof told === "object" && told !== null ? { ...open, ...told } : open;
  if (isFailure(whole)) return whole;
  throw new PerdureError("HISTORY_CORRUPT", "a sealed failure holds no failure");
}

/** For people who look: where it cannot be opened it says why, and spoils nothing around it. */
export function readableFailure(failure: Failure, codec: Codec): Failure {
  try {
    return openFailure(failure, codec);
  } catch (error) {
    const why = error instanceof Error ? error.message : "it cannot be decoded";
    return { ...failure, message: `(unreadable: ${why})` };
  }
}
