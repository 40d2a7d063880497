// Problems: every error as the server tells it, an `application/problem+json` document (RFC 9457).
//   PR1. One table holds the status of every code; a code of ours keeps its name.
//   PR2. What went wrong on our side is told by its code alone: no stack, no SQL, no path leaves (S34).
//   PR3. What the caller did wrong is told in full: the message names the argument and its rule.

import { ERROR_CODES, isPerdureError, type ErrorCode } from "../core/errors.ts";

/** Codes that only a server has. */
export const HTTP_CODES = {
  UNAUTHENTICATED: [401, "The request carries no valid credentials."],
  FORBIDDEN: [403, "The caller's role does not allow this."],
  READ_ONLY: [403, "The server is read-only."],
  ORIGIN_REFUSED: [403, "The request comes from a page of another origin."],
  HOST_REFUSED: [421, "The server does not answer for this host name."],
  ROUTE_NOT_FOUND: [404, "There is no such route."],
  EVENT_NOT_FOUND: [404, "The history has no such event."],
  BODY_TOO_LARGE: [413, "The body is larger than the server takes."],
  MEDIA_TYPE_REFUSED: [415, "The body is not application/json."],
  RATE_LIMITED: [429, "The caller asks more often than it may."],
  STREAMS_EXHAUSTED: [429, "The caller, or the server, holds as many streams as it may."],
  OVERLOADED: [503, "The server has as many requests under way as it takes."],
  ACCESS_UNAVAILABLE: [503, "Credentials cannot be judged at the moment."],
  INTERNAL: [500, "Something went wrong in the server; its log says what."],
} as const satisfies Readonly<Record<string, readonly [status: number, title: string]>>;

/** A code that only a server has. */
export type HttpCode = keyof typeof HTTP_CODES;
/** Any code that a problem may have. */
export type ProblemCode = ErrorCode | HttpCode;

/** The status of each of our own codes. */
export const STATUS_OF_CODE: Readonly<Record<ErrorCode, number>> = {
  INVALID_ARGUMENT: 400,
  INSTANCE_EXISTS: 409,
  INSTANCE_NOT_FOUND: 404,
  INSTANCE_FINISHED: 409,
  INSTANCE_RUNNING: 409,
  NOT_REGISTERED: 409,
  DEFINITION_MISMATCH: 409,
  TIMEOUT: 504,
  BLOCKED: 409,
  UNCLAIMED: 409,
  CANCELLED: 409,
  TERMINATED: 409,
  ORCHESTRATION_FAILED: 409,
  ACTIVITY_FAILED: 409,
  STEP_FAILED: 409,
  CHILD_FAILED: 409,
  VALUE_NOT_SERIALIZABLE: 400,
  LIMIT_EXCEEDED: 413,
  NONDETERMINISM: 409,
  FOREIGN_AWAIT: 409,
  GUARD_VIOLATION: 409,
  LEASE_LOST: 409,
  SCHEMA_NEWER: 503,
  STORE_INVALID: 503,
  STORE_UNAVAILABLE: 503,
  STORE_READ_ONLY: 503,
  STORE_MOVED: 503,
  STORE_IN_USE: 409,
  STORE_NOT_EMPTY: 409,
  COPY_MISMATCH: 500,
  HISTORY_CORRUPT: 500,
  KEY_REUSED: 422,
  KEY_MISSING: 503,
  SHUTTING_DOWN: 503,
};

/** A problem document (RFC 9457). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ProblemCode;
  readonly detail: string;
  /** Where in a value the trouble is. */
  readonly path?: string;
  /** Why the instance has not ended. */
  readonly reason?: string;
}

/** Thrown on the way to an answer; becomes the problem it names. */
export class Refusal extends Error {
  readonly code: HttpCode;
  /** Headers that go with the answer, such as Retry-After. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: HttpCode, detail?: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail ?? HTTP_CODES[code][1]);
    this.name = "Refusal";
    this.code = code;
    this.headers = headers;
  }
}

export function problemOf(error: unknown): Problem {
  if (error instanceof Refusal) {
    const [status, title] = HTTP_CODES[error.code];
    return { ...head(error.code, status, title), detail: error.message };
  }
  if (!isPerdureError(error) || !isKnownCode(error.code)) {
    const [status, title] = HTTP_CODES.INTERNAL;
    return { ...head("INTERNAL", status, title), detail: title };
  }
  const status = STATUS_OF_CODE[error.code];
  const title = ERROR_CODES[error.code];
  const detail = status >= 500 && error.code !== "TIMEOUT" ? title : error.message;
  const path = error.path === undefined ? {} : { path: error.path };
  const reason = error.reason === undefined ? {} : { reason: error.reason };
  return { ...head(error.code, status, title), detail, ...path, ...reason };
}

/** Whether the log should hold the error itself: the answer does not. */
export function isOurFault(problem: Problem): boolean {
  return problem.status === 500 || problem.code === "ACCESS_UNAVAILABLE";
}

function isKnownCode(code: string): code is ErrorCode {
  return Object.hasOwn(STATUS_OF_CODE, code);
}

function head(
  code: ProblemCode,
  status: number,
  title: string,
): Pick<Problem, "type" | "title" | "status" | "code"> {
  return { type: `urn:perdure:problem:${code}`, title, status, code };
}
