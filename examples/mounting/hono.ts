// Hono uses Request and Response directly. The same handler works in Bun, Deno and SvelteKit.

import { Hono } from "hono";
import type { FetchHandler } from "./handler.ts";

export function mountHono(handler: FetchHandler): Hono {
  const app = new Hono();
  app.get("/", (context) => context.text("orders are under /orders"));
  app.all("/orders/*", (context) => handler(context.req.raw));
  return app;
}
