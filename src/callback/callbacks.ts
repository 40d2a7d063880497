// The HTTP application that receives callbacks and webhooks, to mount at the base address of the callbacks.

import { Hono, type Context } from "hono";
import type { Client } from "../client/client.ts";
import { PerdureError } from "../core/errors/errors.ts";
import { resolveCallbacksOptions, type CallbacksOptions } from "./options.ts";
import { Receiver, type Incoming } from "./receiver.ts";

/**
 * Receives callbacks and webhooks over HTTP: `app.route("/callbacks", callbacks(client))`. It needs no credentials: a
 * token is the permission to make one call.
 */
export function callbacks(client: Client, options: CallbacksOptions = {}): Hono {
  const settings = resolveCallbacksOptions(options);
  if (!client.hasCallbacks) {
    const way = "open the store with Perdure.open(address, { callbacks: { secrets, baseUrl } })";
    throw new PerdureError("NOT_CONFIGURED", `callbacks(client) needs secrets: ${way}.`);
  }
  const receiver = new Receiver(client, settings);
  const app = new Hono();
  // A token contains dots, so the path of a webhook is never one of a token.
  app.post("/webhook/:name", (context) =>
    receiver.webhook(incoming(context), context.req.param("name")),
  );
  app.post("/:token", (context) =>
    receiver.complete(incoming(context), context.req.param("token")),
  );
  app.post("/:token/fail", (context) =>
    receiver.fail(incoming(context), context.req.param("token")),
  );
  app.post("/:token/heartbeat", (context) =>
    receiver.heartbeat(incoming(context), context.req.param("token")),
  );
  app.get("/:token", (context) => receiver.page(incoming(context), context.req.param("token")));
  app.all("*", (context) => receiver.notFound(incoming(context)));
  return app;
}

function incoming(context: Context): Incoming {
  return { request: context.req.raw, environment: context.env };
}
