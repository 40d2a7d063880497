// The server as a listener of Node's own requests: what Express, Fastify, Connect and `node:http` call.
//   NL1. The process's own Request and Response stay as they are: other libraries may use them.
//   NL2. A framework that parses bodies may have read this request's body already (`express.json()`). The parsed body
//        is then written as JSON again, because the stream is empty by now.

import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { PerdureServer } from "./server.ts";

/** Answers one request of Node's HTTP server. */
export type NodeListener = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/** Mounts a server in Express (`app.use("/perdure", nodeListener(server))`), Fastify, Connect or `node:http`. */
export function nodeListener(server: PerdureServer): NodeListener {
  const listener = getRequestListener((request, bindings) => server.fetch(request, bindings), {
    overrideGlobalObjects: false,
  });
  return (incoming, outgoing) => {
    restoreBody(incoming);
    void listener(incoming, outgoing);
  };
}

/** The name under which `getRequestListener` looks for a body that was read before. */
function restoreBody(incoming: IncomingMessage & { readonly body?: unknown }): void {
  if (!incoming.readableEnded || incoming.body === undefined || "rawBody" in incoming) return;
  Object.assign(incoming, { rawBody: Buffer.from(JSON.stringify(incoming.body)) });
}
