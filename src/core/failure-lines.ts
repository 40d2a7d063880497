// Log lines about failures: `warn` for an attempt, `error` for an instance.
//   FL1. A failure is logged as it is stored: if the codec seals failures, the line shows no more than the store does,
//        and the name of the activity, step or child that failed, which a history holds in clear.

import type { ActivityInfo } from "./activity-context.ts";
import type { Codec } from "./codec.ts";
import { formatDuration } from "./duration.ts";
import { fromFailure, type Failure } from "./failure.ts";
import { failureHeadline } from "./failure-headline.ts";
import { isEncodedValue } from "./failure-record.ts";
import { attemptFields, instanceFields, type LoggedInstance } from "./log-fields.ts";
import type { LogSink } from "./log.ts";

const TEXT_CHARS_MAX = 500;

/** What follows a failed attempt. */
export type AfterFailure =
  | { readonly kind: "retry"; readonly delayMs: number }
  /** The process or thread died: the attempt does not count. */
  | { readonly kind: "rerun" }
  | { readonly kind: "none"; readonly why: string };

export interface FailedAttempt {
  readonly kind: "activity" | "step";
  readonly description: { readonly attempt: number; readonly info: ActivityInfo };
  readonly failure: Failure;
  /** "2 of 5"; absent for an attempt that does not count. */
  readonly count?: { readonly failures: number; readonly max: number };
  readonly next: AfterFailure;
}

/** "charge, order-7: attempt 2 of 5 failed: ECONNREFUSED; next in 400 ms" */
export function logFailedAttempt(log: LogSink, failed: FailedAttempt): void {
  const { kind, description, failure, count, next } = failed;
  const { attempt, info } = description;
  const which = count === undefined ? `${attempt}` : `${count.failures} of ${count.max}`;
  const what = `${info.activity}, ${info.instanceId}: attempt ${which} failed`;
  log("warn", `${what}: ${cut(failureHeadline(failure))}; ${nextText(next)}`, {
    ...attemptFields(kind, attempt, info),
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

/** Undefined: the codec cannot read it. */
function restored(failure: Failure, codec: Codec | undefined): Error | undefined {
  try {
    return fromFailure(failure, codec);
  } catch {
    return undefined;
  }
}

/** FL1: without the texts that only the codec can read. */
function readableError(failure: Failure): Error {
  return fromFailure(readablePart(failure));
}

function readablePart(failure: Failure): Failure {
  const { data: _data, thrown: _thrown, sealed: _sealed, cause, errors, ...rest } = failure;
  const inner = errors?.flatMap((error) => (isEncodedValue(error) ? [] : [readablePart(error)]));
  return {
    ...rest,
    ...(cause === undefined || isEncodedValue(cause) ? {} : { cause: readablePart(cause) }),
    ...(inner === undefined ? {} : { errors: inner }),
  };
}

function nextText(next: AfterFailure): string {
  switch (next.kind) {
    case "retry":
      return `next in ${durationText(next.delayMs)}`;
    case "rerun":
      return "it does not count and runs again";
    case "none":
      return next.why;
  }
}

function durationText(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : formatDuration(ms);
}

function cut(text: string): string {
  return text.length <= TEXT_CHARS_MAX ? text : `${text.slice(0, TEXT_CHARS_MAX)}…`;
}
