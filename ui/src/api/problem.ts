// Errors of API requests.

import type { FailureShape } from "./types.ts";

/** Why the instance did not answer a request: its code refused the request, or its handler failed. */
export interface Refusal {
  readonly kind: "refused" | "failed";
  readonly failure: FailureShape;
}

/** `code`: the server's error code, or OFFLINE if the server did not answer. */
export class ApiProblem extends Error {
  readonly code: string;
  readonly status: number;
  /** Of REQUEST_REFUSED. */
  readonly refusal: Refusal | undefined;

  constructor(code: string, status: number, message: string, refusal?: Refusal) {
    super(message);
    this.refusal = refusal;
    this.name = "ApiProblem";
    this.code = code;
    this.status = status;
  }
}

export function offline(): ApiProblem {
  return new ApiProblem("OFFLINE", 0, "The server does not answer. Is it still running?");
}

/**
 * Reads the problem from an `application/problem+json` answer, or makes one from the status of any other
 * answer.
 */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const { status } = response;
  const body: unknown = await response.json().catch(() => null);
  if (typeof body === "object" && body !== null && "code" in body && "detail" in body) {
    return new ApiProblem(String(body.code), status, String(body.detail), refusalOf(body));
  }
  return new ApiProblem("INTERNAL", status, `The server answered with status ${status}.`);
}

function refusalOf(body: object): Refusal | undefined {
  if (!("kind" in body && "failure" in body)) return undefined;
  return { kind: body.kind, failure: body.failure } as Refusal; // shaped by the schema of problems
}

/** The message of a thrown value. The engine's own errorMessage would add its error classes to the bundle. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  return new ApiProblem("INTERNAL", 0, messageOf(error));
}
