// Fastify 4 and 5: await app.register((scope) => mountFastify(scope, ordersHandler(perdure.client)));

import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { FetchHandler } from "./handler.ts";

/** The used part of a Fastify instance. */
export interface FastifyLike {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    contentType: string,
    parser: (request: unknown, payload: unknown, done: (error: null) => void) => void,
  ): unknown;
  all(
    path: string,
    handler: (
      request: { readonly raw: IncomingMessage },
      reply: { readonly raw: ServerResponse; hijack(): unknown },
    ) => void,
  ): unknown;
}

/** Needs a separate scope, in which bodies reach the handler unparsed. */
export async function mountFastify(scope: FastifyLike, handler: FetchHandler): Promise<void> {
  const listener = getRequestListener(handler);
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
  scope.all("/orders/*", (request, reply) => {
    reply.hijack();
    void listener(request.raw, reply.raw);
  });
}
