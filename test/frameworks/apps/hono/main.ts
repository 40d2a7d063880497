// An application on Hono 4.

import { serve } from "@hono/node-server";
import { Hono, type Context } from "hono";
import { perdureHono } from "perdure/hono";
import { options, order, port } from "../shared/orders.ts";

const perdure = perdureHono({
  ...options,
  context: (c: Context) => ({ tenant: c.req.header("x-tenant") }),
});
const app = new Hono();
app.use(perdure);
app.post("/orders/:id", async (c) => {
  const client = await perdure.client();
  const handle = await client.start(order, await c.req.json(), { id: c.req.param("id") });
  return c.json({ id: handle.id });
});
perdure.closeWith(serve({ fetch: app.fetch, port: port(), hostname: "127.0.0.1" }));
