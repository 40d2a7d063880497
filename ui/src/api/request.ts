// Requests to the server that served this page.
//   RQ1. Nothing is asked of any other host, and no token is kept: a cookie that scripts cannot read carries it.
//   RQ2. A change has a key of its own, so that a repetition by the network is carried out once.
//   RQ3. Whoever is not known is told once, here; the page then shows the login.

import { makeUpRequestId } from "../../../src/core/request-ids.ts";
import { ApiProblem, offline, problemOf } from "./problem.ts";

export type Query = Readonly<Record<string, QueryValue>>;
type QueryValue = string | number | boolean | readonly string[] | undefined;

const base = new URL("api/v1/", document.baseURI);
let tellUnknown: () => void = () => undefined;

/** Who is called when the server no longer knows the caller. */
export function onUnknownCaller(listener: () => void): void {
  tellUnknown = listener;
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
  const response = await send(addressOf(path, query), signal === undefined ? {} : { signal });
  return (await response.json()) as T; // shaped by the route's own schema
}

export async function change<T = void>(
  method: "POST" | "DELETE",
  path: string,
  options: { readonly body?: unknown; readonly query?: Query; readonly token?: string } = {},
): Promise<T> {
  const { body, query, token } = options;
  const headers: Record<string, string> = {
    "Idempotency-Key": makeUpRequestId({ now: Date.now, randomHex }),
  };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
  const response = await send(addressOf(path, query), {
    method,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (response.status === 204) return undefined as T; // the caller asked for nothing
  return (await response.json()) as T; // shaped by the route's own schema
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
  if (problem.status === 401) tellUnknown();
  throw problem;
}

export function isUnknownCaller(error: unknown): boolean {
  return error instanceof ApiProblem && error.status === 401;
}

/** `crypto.randomUUID` exists on safe origins alone; a dashboard may be on plain HTTP in a private network. */
function randomHex(bytes: number): string {
  return [...crypto.getRandomValues(new Uint8Array(bytes))]
    .map((byte) => byte.toString(16).padStart(2, "0"))
    .join("");
}
