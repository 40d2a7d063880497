// perdure/express: Perdure in an Express application, version 4 or 5, and in other servers with the same middleware (Connect).
//   - The middleware answers requests below `prefix` itself. Every other request continues in its trace and context, so it
//       must come before the application's routes. Express removes the path of a router from `url`, so the prefix is
//       relative to the router, and the server takes the public path from `originalUrl`.

import type { IncomingMessage, ServerResponse } from "node:http";
import { App, membersOf, type AppOptions, type PerdureApp } from "./app.ts";
import { closingOf, type CloseWith } from "./node-server.ts";

export type { AppOptions, PerdureApp } from "./app.ts";
export type { ClosableServer, CloseWith } from "./node-server.ts";

/** The part of Express's request that the adapter uses. */
export interface ExpressRequest extends IncomingMessage {
  originalUrl?: string;
}

/** Middleware for `app.use`, with the members of every adapter. */
export interface PerdureExpress extends PerdureApp {
  (request: ExpressRequest, response: ServerResponse, next: (error?: unknown) => void): void;
  /**
   * Couples the lives of the HTTP server and the runtime: when the server closes, the runtime shuts down. SIGTERM and SIGINT
   * close the server first. Returns the server.
   */
  readonly closeWith: CloseWith;
}

/**
 * Runs Perdure in an Express application: `app.use(perdureExpress({ store, register }))` before the routes. The runtime
 * starts at once. `Incoming` is the type of the request that `context` gets.
 */
export function perdureExpress<Incoming extends ExpressRequest = ExpressRequest>(
  options: AppOptions<Incoming>,
): PerdureExpress {
  const app = new App(options, { what: "perdureExpress" });
  const middleware = (
    request: ExpressRequest,
    response: ServerResponse,
    next: (error?: unknown) => void,
  ): void => {
    const { url = "/" } = request;
    const end = url.search(/[?#]/);
    const path = end < 0 ? url : url.slice(0, end);
    const below = app.owns(path);
    if (below !== undefined) {
      request.originalUrl ??= url;
      request.url = below + url.slice(path.length);
      return app.listener(request, response);
    }
    // Express passes its own request object, whose type the application chose for `context`.
    app.enter(request as Incoming, request.headers["traceparent"]).then((run) => run(next), next);
  };
  app.start();
  return Object.assign(middleware, membersOf(app), { closeWith: closingOf(app, options.graceMs) });
}
