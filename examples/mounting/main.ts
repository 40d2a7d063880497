// node examples/mounting/main.ts [FILE]: serves orders on a free port, and places an order.

import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import { Perdure } from "../../src/index.ts";
import { ordersHandler } from "./handler.ts";
import { mountHono } from "./hono.ts";
import { fulfil, ship } from "./orders.ts";

await using perdure = await Perdure.open(`sqlite:${process.argv[2] ?? ":memory:"}`, {
  register: [fulfil, ship],
});
const app = mountHono(ordersHandler(perdure.client));

const { promise: listening, resolve } = Promise.withResolvers<AddressInfo>();
const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, resolve);
const { port } = await listening;

await request("PUT", "/orders/7", { item: "a chair" });
for await (const { status } of perdure.client.get("7").watch()) if (status === "running") break;
await request("GET", "/orders/7");
await request("POST", "/orders/7/approval", { by: "ada" });
await perdure.client.get("7").result();
await request("GET", "/orders/7");
await request("POST", "/orders/7/approval", { by: "grace" });
await request("GET", "/orders/8");
server.close();

async function request(method: string, path: string, body?: unknown): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  console.log(method, path, "→", response.status, await response.text());
}
