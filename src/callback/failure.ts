// A reported failure as an error: a text, or an object or form with `message`, `name`, `retry` and `retryAfterMs`. The
// server's API and the HTTP client use the same form.

import { checkInteger, invalidArgument } from "../core/checks.ts";
import { NonRetryableError, RetryAfterError } from "../core/errors/retry-errors.ts";
import { showValue } from "../core/ids/ids.ts";

/** A failure as HTTP carries it. */
export interface ReportedFailure {
  readonly message?: string;
  readonly name?: string;
  /** False: no attempt follows, whatever the retry policy says. */
  readonly retry?: boolean;
  /** The delay before the next attempt. */
  readonly retryAfterMs?: number;
}

const MEMBERS = ["message", "name", "retry", "retryAfterMs"];
const DEFAULT_MESSAGE = "The activity was reported as failed.";

/** Throws INVALID_ARGUMENT for a body of another form. */
export function failureOf(body: unknown): Error {
  if (body === undefined) return new Error(DEFAULT_MESSAGE);
  if (typeof body === "string") return new Error(body === "" ? DEFAULT_MESSAGE : body);
  if (
    typeof body !== "object" ||
    body === null ||
    Object.getPrototypeOf(body) !== Object.prototype
  ) {
    throw invalidArgument(`The body must be a text, or an object with ${MEMBERS.join(", ")}.`);
  }
  const unknown = Object.keys(body).find((key) => !MEMBERS.includes(key));
  if (unknown !== undefined) {
    const known = MEMBERS.join(", ");
    throw invalidArgument(`Unknown member ${showValue(unknown)}; known members: ${known}.`);
  }
  const given: { readonly [Name in keyof ReportedFailure]: unknown } = body;
  const message = textOf(given.message, "message") ?? DEFAULT_MESSAGE;
  const error = errorOf(message, mayRetry(given.retry), delayOf(given.retryAfterMs));
  const name = textOf(given.name, "name");
  if (name !== undefined) error.name = name;
  return error;
}

/** The form of an error in which HTTP carries it: its name, its message, and whether to retry. */
export function reportOf(error: unknown): ReportedFailure {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message } = error;
  return {
    ...(message === "" ? {} : { message }),
    name,
    ...(error instanceof NonRetryableError ? { retry: false } : {}),
    ...(error instanceof RetryAfterError ? { retryAfterMs: error.delayMs } : {}),
  };
}

function errorOf(message: string, retry: boolean, delayMs: number | undefined): Error {
  if (!retry) return new NonRetryableError(message);
  return delayMs === undefined ? new Error(message) : new RetryAfterError(delayMs, message);
}

function textOf(value: unknown, member: string): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  throw invalidArgument(`${member} must be a text; got ${showValue(value)}.`);
}

/** A form has texts only. */
function mayRetry(value: unknown): boolean {
  if (value === undefined || value === true || value === "true") return true;
  if (value === false || value === "false") return false;
  throw invalidArgument(`retry must be true or false; got ${showValue(value)}.`);
}

function delayOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  const ms = typeof value === "string" && value !== "" ? Number(value) : value;
  checkInteger(typeof ms === "number" ? ms : NaN, 0, "retryAfterMs");
  return typeof ms === "number" ? ms : undefined;
}
