// perdure/next: Perdure in a Next.js application with the App Router.
//   - Next.js puts a copy of the application's modules into each bundle (instrumentation, routes, actions) and
//       evaluates them again after a change. All copies share one runtime: slot.ts.
//   - next.2: `next build` evaluates modules and renders pages. Nothing opens the store then.
//   - next.3: The path below the route comes from its catch-all parameter: Next.js removes its own `basePath` from the URL.
//   - next.4: At a signal, Next.js finishes its requests and exits. The runtime shuts down in between.
//   - A bundle of this package could find neither the dashboard nor its threads, so Next.js must not bundle it.

import { setTimeout as wait } from "node:timers/promises";
import type { Client } from "../client/client.ts";
import { invalidArgument } from "../core/checks.ts";
import { PerdureError } from "../core/errors/errors.ts";
import type { Perdure } from "../perdure.ts";
import { App, membersOf, type AppOptions, type PerdureApp } from "./app.ts";

export type { AppOptions, PerdureApp } from "./app.ts";

/** The headers of a request: `await headers()` of Next.js, or `request.headers`. */
export type RequestHeaders = Pick<Headers, "get" | "has">;

/** A handler of a route with a catch-all parameter, such as `app/perdure/[[...path]]/route.ts`. */
export type RouteHandler = (
  request: Request,
  route: { readonly params: Promise<Readonly<Record<string, string | string[] | undefined>>> },
) => Promise<Response>;

/** The handlers that `route.ts` exports. Next.js derives HEAD and OPTIONS. */
export type RouteHandlers = Readonly<
  Record<"GET" | "POST" | "PUT" | "PATCH" | "DELETE", RouteHandler>
>;

/** Perdure in a Next.js application. */
export interface PerdureNext extends PerdureApp {
  /** The HTTP API and the dashboard: `export const { GET, POST, PUT, PATCH, DELETE } = perdure.handlers`. */
  readonly handlers: RouteHandlers;
  /** Starts the runtime with the server: for `register` in `instrumentation.ts`. Does nothing during `next build`. */
  start(): Promise<void>;
  /** Runs a function in the trace and the `context` of a request: for server actions and route handlers. */
  inRequest<T>(headers: RequestHeaders, fn: (client: Client) => T | Promise<T>): Promise<T>;
}

/** How long a signal waits for the requests that Next.js finishes. */
const REQUESTS_MS = 10_000;

/**
 * Runs Perdure in a Next.js application. Call it in a module that `instrumentation.ts` and the routes import. Creating it
 * opens nothing.
 */
export function perdureNext(options: AppOptions<RequestHeaders>): PerdureNext {
  checkPlace();
  const app = new App(options, { what: "perdureNext", basePath: true });
  app.beforeClose(requestsFinished);
  const open = async (): Promise<Perdure> => {
    if (isBuild()) throw new PerdureError("NOT_CONFIGURED", BUILD);
    return app.open();
  };
  const client = async (): Promise<Client> => (await open()).client;
  const handler: RouteHandler = async (request, { params }) =>
    app.fetch(below(request, await params, app.prefix));
  return {
    ...membersOf(app),
    open,
    client,
    handlers: { GET: handler, POST: handler, PUT: handler, PATCH: handler, DELETE: handler },
    start: async () => {
      if (!isBuild()) await app.open();
    },
    inRequest: async (headers, fn) => {
      const opened = await client();
      const run = await app.enter(headers, headers.get("traceparent"));
      return run(() => fn(opened));
    },
  };
}

const BUILD =
  "next build does not open the store. A page that reads it must not be static: add `await connection()` of next/server to the page.";

function isBuild(): boolean {
  return process.env["NEXT_PHASE"] === "phase-production-build"; // next.2
}

function checkPlace(): void {
  const place: unknown = import.meta.dirname;
  if (typeof place === "string") return;
  const way = 'add serverExternalPackages: ["perdure"] to next.config.ts';
  throw new PerdureError("NOT_CONFIGURED", `Next.js must not bundle this package: ${way}.`);
}

/** next.3: the request with the public path, which is the prefix and the path below the route. */
function below(
  request: Request,
  params: Readonly<Record<string, string | string[] | undefined>>,
  prefix: string,
): Request {
  const url = new URL(request.url);
  const caught = Object.values(params).find((value) => Array.isArray(value)) ?? [];
  const segments = url.pathname.replace(/\/$/, "").split("/");
  const path = segments.splice(segments.length - caught.length);
  const route = segments.join("/");
  if (!prefix.endsWith(route)) {
    const rule = `prefix must be the public path of the route, which ends with "${route}"`;
    throw invalidArgument(`perdureNext: ${rule}; got "${prefix}".`);
  }
  url.pathname = [prefix, ...path].join("/");
  // The URL names the address on which Next.js listens. The host that the client used is in the header.
  const { protocol, pathname, search } = url;
  const host = request.headers.get("host") ?? url.host;
  const used = URL.parse(`${protocol}//${host}${pathname}${search}`) ?? url;
  // Next.js passes a proxy of the request, which `new Request` does not accept as a whole.
  const { method, body, signal } = request;
  const headers = new Headers(request.headers);
  headers.delete("accept-encoding"); // Next.js compresses responses, also those that are compressed already
  return new Request(used, { method, headers, body, signal, duplex: "half" });
}

/** next.4 */
async function requestsFinished(exitRequested: Promise<void>): Promise<void> {
  if (process.env["NEXT_MANUAL_SIG_HANDLE"] !== undefined) return; // the application finishes them
  const late = new AbortController();
  const timer = wait(REQUESTS_MS, undefined, { signal: late.signal }).catch(() => undefined);
  await Promise.race([exitRequested, timer]);
  late.abort();
}
