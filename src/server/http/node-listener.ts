// Adapts the server, and every other Hono application, to Node's request listener, which Express, Fastify, Connect and `node:http` call.
//   - It does not replace the global Request and Response: other libraries may use them.
//   - A framework may already have read the request's body (`express.json()`). The stream is then empty,
//        so the adapter serializes the parsed body again.

import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Hono } from "hono";

/** Answers one request of Node's HTTP server. */
export type NodeListener = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/**
 * Mounts a server, or `callbacks(client)`, in Express (`app.use("/perdure", nodeListener(server))`), Fastify, Connect or
 * `node:http`.
 */
export function nodeListener(server: Pick<Hono, "fetch">): NodeListener {
  const listener = getRequestListener((request, bindings) => server.fetch(request, bindings), {
    overrideGlobalObjects: false,
  });
  return (incoming, outgoing) => {
    restoreBody(incoming);
    void listener(incoming, outgoing);
  };
}

/** Sets `rawBody`, where `getRequestListener` looks for a body that was already read. */
function restoreBody(incoming: IncomingMessage & { readonly body?: unknown }): void {
  if (!incoming.readableEnded || incoming.body === undefined || "rawBody" in incoming) return;
  Object.assign(incoming, { rawBody: Buffer.from(JSON.stringify(incoming.body)) });
}
