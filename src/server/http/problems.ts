// Problems: the server answers every error with an `application/problem+json` document (RFC 9457).
//   - One table maps every code to its status. The library's error codes keep their names.
//   - A server-side error is reported by its code and a fixed title. Stacks, SQL and paths never leave the
//        server (S34).
//   - A caller's error is reported in full: the message names the argument and the rule.

import { ERROR_CODES, isPerdureError, type ErrorCode } from "../../core/errors/errors.ts";
import { RequestError } from "../../core/errors/request-error.ts";
import { defaultCodec, type Codec } from "../../core/values/codec.ts";
import { defined } from "../../core/values/defined.ts";
import type { FailureShape } from "../schemas/shapes.ts";
import { failureToHttp } from "../wire/failure.ts";

/** Codes that only the server uses, with status and title. */
export const HTTP_CODES = {
  UNAUTHENTICATED: [401, "The request has no valid credentials."],
  FORBIDDEN: [403, "The caller's role does not allow this operation."],
  READ_ONLY: [403, "The server is read-only."],
  ORIGIN_REFUSED: [403, "The request comes from a page of another origin."],
  HOST_REFUSED: [421, "The server does not accept this host name."],
  ROUTE_NOT_FOUND: [404, "The route does not exist."],
  EVENT_NOT_FOUND: [404, "The history has no event with this number."],
  BODY_TOO_LARGE: [413, "The body is too large."],
  MEDIA_TYPE_REFUSED: [415, "The body must be application/json."],
  RATE_LIMITED: [429, "The caller sends too many requests."],
  STREAMS_EXHAUSTED: [429, "The caller or the server has too many open streams."],
  OVERLOADED: [503, "The server has too many requests in flight."],
  ACCESS_UNAVAILABLE: [503, "The server cannot check credentials at the moment."],
  INTERNAL: [500, "An unexpected error occurred; the server's log contains the details."],
} as const satisfies Readonly<Record<string, readonly [status: number, title: string]>>;

/** A code that only the server uses. */
export type HttpCode = keyof typeof HTTP_CODES;
/** Any code of a problem. */
export type ProblemCode = ErrorCode | HttpCode;

/** The HTTP status of each of the library's error codes. */
export const STATUS_OF_CODE: Readonly<Record<ErrorCode, number>> = {
  INVALID_ARGUMENT: 400,
  INSTANCE_EXISTS: 409,
  INSTANCE_NOT_FOUND: 404,
  INSTANCE_FINISHED: 409,
  INSTANCE_RUNNING: 409,
  PARENT_INFORMED: 409,
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
  REQUEST_REFUSED: 409,
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
  TOKEN_INVALID: 404,
  CALLBACK_CLOSED: 410,
  NOT_CONFIGURED: 409,
  DRIVE_RUNNING: 409,
  SHUTTING_DOWN: 503,
};

/** A problem document (RFC 9457). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: ProblemCode;
  readonly detail: string;
  /** The path of the invalid part of a value. */
  readonly path?: string;
  /** Why the instance has not ended. */
  readonly reason?: string;
  /** Of `REQUEST_REFUSED`: the code refused the request, or its handler threw. */
  readonly kind?: "refused" | "failed";
  /** Of `REQUEST_REFUSED`: the error, in the form of an instance's error. */
  readonly failure?: FailureShape;
}

/** An error with an `HttpCode`. The pipeline turns it into a problem document. */
export class Refusal extends Error {
  readonly code: HttpCode;
  /** Headers of the answer, such as Retry-After. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: HttpCode, detail?: string, headers: Readonly<Record<string, string>> = {}) {
    super(detail ?? HTTP_CODES[code][1]);
    this.name = "Refusal";
    this.code = code;
    this.headers = headers;
  }
}

/** `codec`: decodes the values inside a failure. */
export function problemOf(error: unknown, codec: Codec = defaultCodec): Problem {
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
  const path = defined({ path: error.path });
  const reason = defined({ reason: error.reason });
  const problem = { ...head(error.code, status, title), detail, ...path, ...reason };
  if (!(error instanceof RequestError)) return problem;
  return { ...problem, kind: error.kind, failure: failureToHttp(error.failure, codec) };
}

/** Whether the error must be logged, because the answer does not contain it. */
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
