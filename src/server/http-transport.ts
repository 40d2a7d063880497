// Requests of the HTTP client: made, repeated where that is safe, and their problems thrown as errors.
//   HT1. Every change carries an Idempotency-Key, made up where none was given, and keeps it over its tries. So a
//        request whose answer was lost may be sent again.
//   HT2. Tried again: what did not reach the server, and 429, 503 and 504, after the time that the server names.
//   HT3. A problem with a code of ours becomes a PerdureError, any other a HttpProblemError.

import * as v from "valibot";
import { ERROR_CODES, PerdureError, type ErrorCode } from "../core/errors.ts";
import { showValue } from "../core/ids.ts";
import { checkMembers, checkWhole, type Members } from "../core/known-members.ts";
import { makeUpRequestId } from "../core/request-ids.ts";
import { systemEnvironment } from "../core/system-environment.ts";
import { pause } from "./pauses.ts";
import { API_PATH } from "./openapi.ts";
import type { Schema } from "./parse.ts";
import { problem } from "./schemas/problem.ts";

/** Where the server is, and how to come in. */
export interface HttpClientOptions {
  /** Where the server is, its mount path included: http://127.0.0.1:8787 or https://example.com/perdure. */
  readonly url: string | URL;
  readonly token?: string;
  /** Further tries of a request that did not get through. Default 3. */
  readonly retries?: number;
  /** Default: the global one. */
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
  /** Segments below /api/v1, each as it is. */
  readonly path: readonly string[];
  readonly query?: readonly (readonly [name: string, value: string])[];
  readonly body?: object;
  readonly answer: S;
  readonly requestId?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A refusal that only a server knows: no token, not the role, too often. */
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
const BACKOFF_MS = 100;
const WAIT_MS_MAX = 5_000;

export class HttpTransport {
  readonly #base: URL;
  readonly #options: HttpClientOptions;

  constructor(options: HttpClientOptions) {
    checkMembers(options, CLIENT_OPTIONS, "an HTTP client");
    checkWhole(options.retries, 0, "retries");
    if (!URL.canParse(String(options.url))) {
      const message = `url is where the server is, such as http://127.0.0.1:8787, not ${showValue(options.url)}.`;
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
    const place = v.getDotPath(parsed.issues[0]) ?? "its root";
    const message = `The server's answer cannot be read at ${place}: ${parsed.issues[0].message}`;
    throw new HttpProblemError(response.status, "INTERNAL", message);
  }

  /** An answer that is no problem. */
  async send(request: HttpRequest<Schema | null>): Promise<Response> {
    const key =
      request.method === "GET"
        ? undefined
        : (request.requestId ?? makeUpRequestId(systemEnvironment));
    const retries = this.#options.retries ?? 3;
    for (let attempt = 0; ; attempt++) {
      const last = attempt >= retries;
      const response = await this.#try(request, key, last);
      if (response?.ok === true) return response;
      if (response !== null && (last || !RETRIED.includes(response.status))) {
        throw await errorOf(response);
      }
      const named = Number(response?.headers.get("retry-after") ?? 0) * 1_000;
      const waitMs = Math.min(Math.max(named, BACKOFF_MS * 2 ** attempt), WAIT_MS_MAX);
      await pause(waitMs, request.signal ?? NEVER);
      request.signal?.throwIfAborted();
    }
  }

  /** Null: it did not get through. */
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
      ...(signal === undefined ? {} : { signal }),
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
  const message = `"${text}" cannot stand in an address; reach it by a list or a bulk operation.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

async function errorOf(response: Response): Promise<Error> {
  const parsed = v.safeParse(problem, await response.json().catch(() => null));
  if (!parsed.success) {
    return new HttpProblemError(
      response.status,
      "INTERNAL",
      `The server answered ${response.status}.`,
    );
  }
  const { code, detail, path, reason } = parsed.output;
  if (!isErrorCode(code)) return new HttpProblemError(response.status, code, detail);
  return new PerdureError(code, detail, {
    ...(path === undefined ? {} : { path }),
    ...(reason === undefined ? {} : { reason }),
  });
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERROR_CODES, code);
}
