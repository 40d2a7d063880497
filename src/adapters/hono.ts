// perdure/hono: Perdure in a Hono application, version 4, on Node, Bun or Deno.
//   - The middleware answers requests below `prefix` itself. Every other request continues in its trace and context, so it
//       must come before the application's routes. Hono reports whole paths, so the prefix is the whole path, also in a
//       sub-application.

import { App, membersOf, type AppOptions, type PerdureApp } from "./app.ts";
import { closingOf, type CloseWith } from "./node-server.ts";

export type { AppOptions, PerdureApp } from "./app.ts";
export type { ClosableServer, CloseWith } from "./node-server.ts";

/** The part of Hono's context that the adapter uses. */
export interface HonoContextLike {
  readonly req: { readonly path: string; readonly raw: Request };
  readonly env: unknown;
}

/** Middleware for `app.use`, with the members of every adapter. */
export interface PerdureHono extends PerdureApp {
  (context: HonoContextLike, next: () => Promise<void>): Promise<Response | void>;
  /**
   * Couples the lives of Node's HTTP server, as `serve` of `@hono/node-server` returns it, and the runtime: when the server
   * closes, the runtime shuts down. SIGTERM and SIGINT close the server first. Returns the server.
   */
  readonly closeWith: CloseWith;
}

/**
 * Runs Perdure in a Hono application: `app.use(perdureHono({ store, register }))` before the routes. The runtime starts at
 * once. `Incoming` is the type of Hono's context, which `context` gets.
 */
export function perdureHono<Incoming extends HonoContextLike = HonoContextLike>(
  options: AppOptions<Incoming>,
): PerdureHono {
  const app = new App(options, { what: "perdureHono", basePath: true });
  const middleware = async (
    context: HonoContextLike,
    next: () => Promise<void>,
  ): Promise<Response | void> => {
    const { path, raw } = context.req;
    if (app.owns(path) !== undefined) return app.fetch(raw, context.env ?? {});
    // Hono passes its own context, whose type the application chose for `context`.
    const run = await app.enter(context as Incoming, raw.headers.get("traceparent"));
    await run(next);
  };
  app.start();
  return Object.assign(middleware, membersOf(app), { closeWith: closingOf(app, options.graceMs) });
}
