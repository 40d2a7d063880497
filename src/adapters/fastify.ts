// perdure/fastify: Perdure in a Fastify application, version 4 or 5, as a plugin.
//   - The plugin opens the store when Fastify gets ready (`onReady`) and closes it with Fastify (`onClose`). `preClose` ends
//       the live streams of the dashboard, which would keep the HTTP server open.
//   - The routes below `prefix` are in a scope without body parsers: the server reads bodies itself.
//   - Other routes of the application get their trace and context in a `preHandler` hook: after the body was read, because
//       its events do not keep the async context, and after hooks that sign the caller in.

import type { IncomingMessage, ServerResponse } from "node:http";
import { App, membersOf, type AppOptions, type PerdureApp } from "./app.ts";

export type { AppOptions, PerdureApp } from "./app.ts";

/** The part of Fastify's request that the adapter uses. */
export interface FastifyRequestLike {
  readonly raw: IncomingMessage;
  readonly headers: IncomingMessage["headers"];
}
/** The part of Fastify's reply that the adapter uses. */
export interface FastifyReplyLike {
  readonly raw: ServerResponse;
  hijack(): unknown;
}
type Done = (error?: Error) => void;
/** The part of a Fastify instance that the adapter uses. */
export interface FastifyLike {
  readonly prefix: string;
  addHook(name: "onReady", hook: () => Promise<void>): unknown;
  addHook(name: "preClose", hook: () => Promise<void>): unknown;
  addHook(name: "onClose", hook: () => Promise<void>): unknown;
  addHook(
    name: "preHandler",
    hook: (request: FastifyRequestLike, reply: FastifyReplyLike, done: Done) => void,
  ): unknown;
  register(
    plugin: (scope: unknown) => Promise<void>,
    options: { readonly prefix: string },
  ): unknown;
  close(): PromiseLike<unknown>;
}

/** The part of a scope, which is a Fastify instance, too. */
interface FastifyScope {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    type: string,
    parser: (request: never, payload: never, done: (error: Error | null) => void) => void,
  ): unknown;
  all(
    path: string,
    handler: (request: FastifyRequestLike, reply: FastifyReplyLike) => void,
  ): unknown;
}

/** A plugin for `app.register`, with the members of every adapter. */
export interface PerdureFastify extends PerdureApp {
  (app: FastifyLike): Promise<void>;
}

/**
 * Runs Perdure in a Fastify application: `app.register(perdureFastify({ store, register }))`. The runtime starts when the
 * application is ready, and stops with it. `Incoming` is the type of the request that `context` gets.
 */
export function perdureFastify<Incoming extends FastifyRequestLike = FastifyRequestLike>(
  options: AppOptions<Incoming>,
): PerdureFastify {
  const app = new App(options, { what: "perdureFastify", basePath: true });
  const plugin = async (fastify: FastifyLike): Promise<void> => {
    app.mountAt(fastify.prefix + app.prefix);
    if (options.server !== false)
      fastify.register(routesOf(app), { prefix: options.prefix ?? "/perdure" });
    fastify.addHook("preHandler", (request, _reply, done) => {
      if (app.owns(pathOf(request.raw.url)) !== undefined) return done();
      // Fastify passes its own request object, whose type the application chose for `context`.
      app.enter(request as Incoming, request.headers["traceparent"]).then((run) => run(done), done);
    });
    fastify.addHook("onReady", async () => void (await app.open()));
    fastify.addHook("preClose", () => app.endStreams());
    fastify.addHook("onClose", () => app.close());
    app.beforeClose(async () => fastify.close());
  };
  // Fastify's mark of a plugin whose hooks apply to the application that registers it.
  return Object.assign(plugin, membersOf(app), { [Symbol.for("skip-override")]: true });
}

function routesOf(app: App<never>): (scope: unknown) => Promise<void> {
  return async (given) => {
    const scope = given as FastifyScope; // its generic methods do not compare with structural ones
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
    for (const path of ["/", "/*"]) {
      scope.all(path, (request, reply) => {
        reply.hijack();
        app.listener(request.raw, reply.raw);
      });
    }
  };
}

function pathOf(url = "/"): string {
  return url.replace(/[?#].*$/s, "");
}
