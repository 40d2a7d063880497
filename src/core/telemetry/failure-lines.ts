// Log lines about failures: `warn` for an attempt, `error` for an instance.
//   - failure-lines.1: A failure is logged as it is stored. If the codec seals failures, the line shows only
//        the fields that are stored in clear, and the name of the failed activity, step or child, which a
//        history holds in clear.

import type { Codec } from "../values/codec.ts";
import { defined } from "../values/defined.ts";
import { formatDuration } from "../time/duration.ts";
import { fromFailure, type Failure } from "../errors/failure.ts";
import { failureHeadline } from "./failure-headline.ts";
import { isEncodedValue } from "../errors/failure-record.ts";
import {
  attemptFields,
  instanceFields,
  type LoggedAttempt,
  type LoggedInstance,
} from "./log-fields.ts";
import type { LogSink } from "./log.ts";

const TEXT_CHARS_MAX = 500;

/** What happens after a failed attempt. */
export type NextAttempt =
  | { readonly kind: "retry"; readonly delayMs: number }
  /** The thread died: the attempt does not count towards the maximum, and runs again. */
  | { readonly kind: "rerun" }
  | { readonly kind: "none"; readonly why: string };

export interface FailedAttempt {
  readonly description: LoggedAttempt;
  readonly failure: Failure;
  /** Shown as "2 of 5"; absent for an attempt that does not count. */
  readonly count?: { readonly failures: number; readonly max: number };
  readonly next: NextAttempt;
}

/** "charge, order-7: attempt 2 of 5 failed: ECONNREFUSED; next in 400 ms" */
export function logFailedAttempt(log: LogSink, failed: FailedAttempt): void {
  const { description, failure, count, next } = failed;
  const { attempt, info } = description;
  const which = count === undefined ? `${attempt}` : `${count.failures} of ${count.max}`;
  const what = `${info.activity}, ${info.instanceId}: attempt ${which} failed`;
  log("warn", `${what}: ${cut(failureHeadline(failure))}; ${nextText(next)}`, {
    ...attemptFields(description),
    error: readableError(failure),
  });
}

/** Why there is no next attempt. */
export function whyNoRetry(count: { readonly failures: number; readonly max: number }): string {
  return count.failures >= count.max ? "no attempts left" : "not retryable";
}

export function logFailedInstance(
  { log, codec }: { readonly log: LogSink; readonly codec?: Codec },
  instance: LoggedInstance,
  failure: Failure,
): void {
  const { name, id } = instance;
  const headline = failureHeadline(failure, restored(failure, codec));
  log("error", `${name}, ${id}: failed: ${cut(headline)}`, {
    ...instanceFields(instance),
    error: readableError(failure),
  });
}

/** The restored error; undefined if the codec cannot read the failure. */
function restored(failure: Failure, codec: Codec | undefined): Error | undefined {
  try {
    return fromFailure(failure, codec);
  } catch {
    return undefined;
  }
}

/** The error without the texts that only the codec can read (failure-lines.1). */
function readableError(failure: Failure): Error {
  return fromFailure(readablePart(failure));
}

function readablePart(failure: Failure): Failure {
  const { data: _data, thrown: _thrown, sealed: _sealed, cause, errors, ...rest } = failure;
  const inner = errors?.flatMap((error) => (isEncodedValue(error) ? [] : [readablePart(error)]));
  const isReadable = cause !== undefined && !isEncodedValue(cause);
  const readableCause = isReadable ? readablePart(cause) : undefined;
  return { ...rest, ...defined({ cause: readableCause, errors: inner }) };
}

function nextText(next: NextAttempt): string {
  if (next.kind === "none") return next.why;
  if (next.kind === "rerun") return "the attempt does not count and runs again";
  const { delayMs } = next;
  return `next in ${delayMs < 1_000 ? `${delayMs} ms` : formatDuration(delayMs)}`;
}

function cut(text: string): string {
  return text.length <= TEXT_CHARS_MAX ? text : `${text.slice(0, TEXT_CHARS_MAX)}…`;
}
