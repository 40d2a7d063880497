// The body of `POST /{token}/fail` as an error: a text, or an object or form with `message`, `name` and `retry`.

import { invalidArgument } from "../core/checks.ts";
import { NonRetryableError } from "../core/errors/retry-errors.ts";
import { showValue } from "../core/ids/ids.ts";

const MEMBERS = ["message", "name", "retry"];
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
    throw invalidArgument("The body must be a text, or an object with message, name and retry.");
  }
  const unknown = Object.keys(body).find((key) => !MEMBERS.includes(key));
  if (unknown !== undefined) {
    const known = MEMBERS.join(", ");
    throw invalidArgument(`Unknown member ${showValue(unknown)}; known members: ${known}.`);
  }
  const given: { readonly message?: unknown; readonly name?: unknown; readonly retry?: unknown } =
    body;
  const message = textOf(given.message, "message") ?? DEFAULT_MESSAGE;
  const error = mayRetry(given.retry) ? new Error(message) : new NonRetryableError(message);
  const name = textOf(given.name, "name");
  if (name !== undefined) error.name = name;
  return error;
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
