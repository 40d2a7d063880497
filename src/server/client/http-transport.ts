// Sends the requests of the HTTP client, retries them when that is safe, and throws problems as errors.
//   - http-transport.1: Every change has an Idempotency-Key, which is generated if the caller gave none.
//        All attempts of a request use the same key, so a request whose answer was lost can be sent again.
//   - A request is retried if it did not reach the server, or after 429, 503 and 504, after the time in
//        Retry-After.
//   - A problem with an error code of the library becomes a PerdureError, any other a HttpProblemError.

import * as v from "valibot";
import { isErrorCode, PerdureError } from "../../core/errors/errors.ts";
import { showValue } from "../../core/ids/ids.ts";
import { checkMembers, checkInteger, type Members } from "../../core/checks.ts";
import { generateRequestId } from "../../core/ids/request-ids.ts";
import { systemEnvironment } from "../../core/time/system-environment.ts";
import { defined } from "../../core/values/defined.ts";
import { pause } from "../http/pauses.ts";
import { API_PATH } from "../api/openapi.ts";
import type { Schema } from "../http/parse.ts";
import { problem } from "../schemas/problem.ts";

/** Options of the HTTP client: the server's address and the token. */
export interface HttpClientOptions {
  /** The server's address with its mount path: http://127.0.0.1:8787 or https://example.com/perdure. */
  readonly url: string | URL;
  readonly token?: string;
  /** How often a failed request is retried. Default 3. */
  readonly retries?: number;
  /** Default: the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
}
const CLIENT_OPTIONS: Members<HttpClientOptions> = {
  url: true,
  token: true,
  retries: true,
  fetch: true,
};
export interface HttpRequest<S extends Schema | null> {
  readonly method: "GET" | "POST" | "DELETE";
  /** Path segments below /api/v1, not encoded. */
  readonly path: readonly string[];
  readonly query?: readonly (readonly [name: string, value: string])[];
  readonly body?: object;
  readonly answer: S;
  readonly requestId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Returns the error of a problem that this request treats specially. Undefined: the usual error. */
  readonly refusal?: (given: ProblemOutput) => Error | undefined;
}
export type ProblemOutput = v.InferOutput<typeof problem>;

/** An error that only the server raises, such as a missing token, a missing role or too many requests. */
export class HttpProblemError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.name = "HttpProblemError";
    this.status = status;
    this.code = code;
  }
}

const RETRIED = [429, 503, 504];
const PROBLEM_TYPE = "application/problem+json";
const BACKOFF_MS = 100;
const WAIT_MS_MAX = 5_000;

export class HttpTransport {
  readonly #base: URL;
  readonly #options: HttpClientOptions;

  constructor(options: HttpClientOptions) {
    checkMembers(options, CLIENT_OPTIONS, "an HTTP client");
    checkInteger(options.retries, 0, "retries");
    if (!URL.canParse(String(options.url))) {
      const message = `url must be the address of the server, such as http://127.0.0.1:8787; got ${showValue(options.url)}.`;
      throw new PerdureError("INVALID_ARGUMENT", message);
    }
    const url = new URL(options.url);
    url.pathname = `${url.pathname.replace(/\/$/, "")}${API_PATH}/`;
    this.#base = url;
    this.#options = options;
  }

  async json<S extends Schema>(request: HttpRequest<S>): Promise<v.InferOutput<S>> {
    const response = await this.send(request);
    const parsed = v.safeParse(request.answer, await response.json());
    if (parsed.success) return parsed.output;
    const path = v.getDotPath(parsed.issues[0]) ?? "its root";
    const message = `The server's answer is not valid at ${path}: ${parsed.issues[0].message}`;
    throw new HttpProblemError(response.status, "INTERNAL", message);
  }

  /** Returns a successful answer. Throws for a problem. */
  async send(request: HttpRequest<Schema | null>): Promise<Response> {
    const key =
      request.method === "GET"
        ? undefined
        : (request.requestId ?? generateRequestId(systemEnvironment));
    const retries = this.#options.retries ?? 3;
    for (let attempt = 0; ; attempt++) {
      const last = attempt >= retries;
      const response = await this.#try(request, key, last);
      if (response?.ok === true) return response;
      if (response !== null && (last || !isRetried(response))) {
        throw await errorOf(response, request.refusal);
      }
      const named = Number(response?.headers.get("retry-after") ?? 0) * 1_000;
      const waitMs = Math.min(Math.max(named, BACKOFF_MS * 2 ** attempt), WAIT_MS_MAX);
      await pause(waitMs, request.signal ?? NEVER);
      request.signal?.throwIfAborted();
    }
  }

  /** Null: the request did not reach the server and will be retried. */
  async #try(
    { method, path, query = [], body, signal }: HttpRequest<Schema | null>,
    key: string | undefined,
    last: boolean,
  ): Promise<Response | null> {
    const url = new URL(path.map(segment).join("/"), this.#base);
    for (const [name, value] of query) url.searchParams.append(name, value);
    const { token, fetch = globalThis.fetch } = this.#options;
    const headers = new Headers();
    if (token !== undefined) headers.set("Authorization", `Bearer ${token}`);
    if (key !== undefined) headers.set("Idempotency-Key", key);
    if (body !== undefined) headers.set("Content-Type", "application/json");
    const init = {
      method,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...defined({ signal }),
    };
    try {
      return await fetch(new Request(url, init));
    } catch (error) {
      signal?.throwIfAborted();
      if (!last) return null;
      throw new PerdureError("STORE_UNAVAILABLE", "The server cannot be reached.", {
        cause: error,
      });
    }
  }
}

const NEVER = new AbortController().signal;

function segment(text: string): string {
  if (text !== "." && text !== "..") return encodeURIComponent(text);
  const message = `"${text}" cannot be part of a URL path; use a list or a bulk operation with this id.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

/** A problem with status 504 is the TIMEOUT of a request that waited; every other 504 comes from a gateway. */
function isRetried({ status, headers }: Response): boolean {
  if (!RETRIED.includes(status)) return false;
  return status !== 504 || headers.get("content-type")?.startsWith(PROBLEM_TYPE) !== true;
}

async function errorOf(response: Response, refusal: HttpRequest<null>["refusal"]): Promise<Error> {
  const parsed = v.safeParse(problem, await response.json().catch(() => null));
  if (!parsed.success) {
    return new HttpProblemError(
      response.status,
      "INTERNAL",
      `The server answered with status ${response.status}.`,
    );
  }
  return refusal?.(parsed.output) ?? errorOfProblem(parsed.output);
}

function errorOfProblem({ code, detail, status, path, reason }: ProblemOutput): Error {
  if (!isErrorCode(code)) return new HttpProblemError(status, code, detail);
  return new PerdureError(code, detail, defined({ path, reason }));
}

/** The error of an `error` event, from its data. */
export function streamError(data: unknown): Error {
  const parsed = v.safeParse(problem, data);
  if (parsed.success) return errorOfProblem(parsed.output);
  return new HttpProblemError(500, "INTERNAL", "The stream ended with an error.");
}
