// What went wrong with a request, in words for people.

/** `code` is the server's, or OFFLINE when no answer came. */
export class ApiProblem extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, status: number, message: string) {
    super(message);
    this.name = "ApiProblem";
    this.code = code;
    this.status = status;
  }
}

export function offline(): ApiProblem {
  return new ApiProblem("OFFLINE", 0, "The server does not answer. Is it still running?");
}

/** From an `application/problem+json` answer, or from whatever came instead of one. */
export async function problemOf(response: Response): Promise<ApiProblem> {
  const { status } = response;
  const told: unknown = await response.json().catch(() => null);
  if (typeof told === "object" && told !== null && "code" in told && "detail" in told) {
    return new ApiProblem(String(told.code), status, String(told.detail));
  }
  return new ApiProblem("INTERNAL", status, `The server answered with status ${status}.`);
}

export function asProblem(error: unknown): ApiProblem {
  if (error instanceof ApiProblem) return error;
  return new ApiProblem("INTERNAL", 0, error instanceof Error ? error.message : String(error));
}
