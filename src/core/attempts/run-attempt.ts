// Calls user code once and returns the result of the attempt.
//   - No error that user code throws, rejects with or causes later escapes from here (I8).

import { asyncContext, type WorkFrame } from "../context/async-context.ts";
import { isPerdureError } from "../errors/errors.ts";
import { toFailure, type Failure } from "../errors/failure.ts";
import { RetryAfterError } from "../errors/retry-errors.ts";
import type { Codec } from "../values/codec.ts";

export interface FailedResult {
  readonly kind: "failed";
  readonly failure: Failure;
  /** The delay before the next attempt that user code asked for. */
  readonly retryAfterMs: number | null;
}
export type AttemptResult = { readonly kind: "completed"; readonly output: string } | FailedResult;

/** The input cannot be decoded: this worker lacks the key, or the input is damaged. */
export interface Undecodable {
  readonly kind: "undecodable";
  readonly why: string;
  readonly keyMissing: boolean;
}

/** How an attempt of an activity ended. In a thread, the thread may have died first. */
export type ActivityResult =
  | AttemptResult
  | Undecodable
  | { readonly kind: "died"; readonly why: string }
  /** A call from outside completes the activity (later.ts). */
  | { readonly kind: "deferred" }
  /** This worker has no settings of callbacks. */
  | { readonly kind: "unconfigured" };

export interface UserCode {
  readonly frame: WorkFrame;
  readonly fn: () => unknown;
  readonly codec: Codec;
  /** Whether the value that `fn` returns is ignored. */
  readonly ignoresValue?: (() => boolean) | undefined;
}

/**
 * Runs `fn` to its end. Never rejects. It is not an async function, because a suspended async function costs
 * several objects, and thousands of attempts may run at once.
 */
export function runAttempt(code: UserCode): Promise<AttemptResult> {
  const { frame, fn, codec, ignoresValue } = code;
  return entered(frame, fn).then(
    (value) => returned(ignoresValue?.() === true ? undefined : value, codec),
    (error: unknown) => threw(error, codec),
  );
}

/** The promise of `fn`, also if `fn` throws or returns a value. */
function entered(frame: WorkFrame, fn: () => unknown): Promise<unknown> {
  try {
    return Promise.resolve(asyncContext.run(frame, fn));
  } catch (error) {
    // The error is whatever the user code threw; `runAttempt` turns it into a failure.

    return Promise.reject(error);
  }
}

/** Runs an `fn` that returns no promise. Never throws. */
export function runAttemptNow({ frame, fn, codec }: UserCode): AttemptResult {
  try {
    return returned(asyncContext.run(frame, fn), codec);
  } catch (error) {
    return threw(error, codec);
  }
}

function returned(value: unknown, codec: Codec): AttemptResult {
  try {
    return { kind: "completed", output: codec.encode(value) };
  } catch (error) {
    // A result that cannot be encoded would fail again in a retry.
    const failure = toFailure(error, { retryable: false, codec });
    return { kind: "failed", failure, retryAfterMs: null };
  }
}

/** The result of an attempt that threw this error. */
export function threw(error: unknown, codec: Codec): FailedResult {
  const retryAfterMs = error instanceof RetryAfterError ? error.delayMs : null;
  // A schema or a limit would refuse the same value again.
  const isRule =
    isPerdureError(error, "INVALID_ARGUMENT") || isPerdureError(error, "LIMIT_EXCEEDED");
  const options = isRule ? { codec, retryable: false } : { codec };
  return { kind: "failed", failure: toFailure(error, options), retryAfterMs };
}
