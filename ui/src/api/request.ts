// Sends requests to the server of this page.
//   - The page contacts no other host and stores no token: an HttpOnly cookie authenticates the requests.
//   - Every change has a separate Idempotency-Key, so that the server executes a repeated request only once.
//   - On a 401 answer this module calls the listener of `onUnknownCaller`, and the page shows the login.

import { generateRequestId } from "../../../src/core/ids/request-ids.ts";
import { defined } from "../../../src/core/values/defined.ts";
import { ApiProblem, offline, problemOf } from "./problem.ts";

export type Query = Readonly<Record<string, QueryValue>>;
type QueryValue = string | number | boolean | readonly string[] | undefined;

const base = new URL("api/v1/", document.baseURI);
let unknownCallerListener: () => void = () => undefined;

/** Sets the listener for 401 answers: the caller has no valid session. */
export function onUnknownCaller(listener: () => void): void {
  unknownCallerListener = listener;
}

export function addressOf(path: string, query: Query = {}): string {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    const values = Array.isArray(value) ? (value as readonly string[]) : [String(value)];
    for (const each of values) url.searchParams.append(name, each);
  }
  return url.href;
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const response = await send(addressOf(path, query), defined({ signal }));
  return (await response.json()) as T; // shaped by the route's own schema
}

/** Rejects with the reason if the server refuses the request. The body of the answer is not read. */
export async function check(address: string, signal: AbortSignal): Promise<void> {
  const { body } = await send(address, { signal });
  await body?.cancel();
}

export async function change<T = void>(
  method: "POST" | "DELETE",
  path: string,
  options: { readonly body?: unknown; readonly query?: Query; readonly token?: string } = {},
): Promise<T> {
  const { body, query, token } = options;
  const headers: Record<string, string> = {
    "Idempotency-Key": newRequestId(),
  };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
  const response = await send(addressOf(path, query), {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (response.status === 204) return undefined as T; // T is void for these routes
  return (await response.json()) as T; // shaped by the route's own schema
}

export function newRequestId(): string {
  return generateRequestId({ now: Date.now, randomHex });
}

async function send(url: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(url, { ...init, credentials: "same-origin", redirect: "error" });
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw offline();
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.status === 401) unknownCallerListener();
  throw problem;
}

export function isUnknownCaller(error: unknown): boolean {
  return error instanceof ApiProblem && error.status === 401;
}

/**
 * `crypto.randomUUID` exists only in secure contexts. A dashboard can be on plain HTTP in a private network.
 */
function randomHex(bytes: number): string {
  return [...crypto.getRandomValues(new Uint8Array(bytes))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}
