// The mounting example prints what its README shows on Hono. Express, Fastify and Next give the same responses.

import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { mountExpress } from "../../../examples/mounting/express.ts";
import { mountFastify } from "../../../examples/mounting/fastify.ts";
import { ordersHandler } from "../../../examples/mounting/handler.ts";
import { mountHono } from "../../../examples/mounting/hono.ts";
import { fulfil, ship } from "../../../examples/mounting/orders.ts";
import { Perdure } from "../../../src/index.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

type Ask = (method: string, path: string, body?: unknown) => Promise<Response>;

test("the program prints what its README shows", async () => {
  const { printed, complaints } = await runExample("mounting");
  expect(printed).toBe(promisedOutput("mounting"));
  expect(complaints).toBe("");
});

test("Hono: its route serves orders", async () => {
  await using perdure = await Perdure.open("sqlite::memory:", { register: [fulfil, ship] });
  const app = mountHono(ordersHandler(perdure.client));
  await checkOrders(perdure, async (method, path, body) =>
    app.request(path, requestOf(method, body)),
  );
  expect(await (await app.request("/")).text()).toBe("orders are under /orders");
});

test("Express: its middleware serves orders and passes other requests on", async () => {
  await using perdure = await Perdure.open("sqlite::memory:", { register: [fulfil, ship] });
  const app = express();
  mountExpress(app, ordersHandler(perdure.client));
  app.use((_request, response) => void response.send("not an order"));
  const ask = await served(app);
  await checkOrders(perdure, ask);
  expect(await (await ask("GET", "/else")).text()).toBe("not an order");
});

test("Fastify: its route takes over the raw request and response", async () => {
  await using perdure = await Perdure.open("sqlite::memory:", { register: [fulfil, ship] });
  const app = fastify();
  await app.register((scope) => mountFastify(scope, ordersHandler(perdure.client)));
  await app.ready();
  await checkOrders(perdure, await served(app.routing));
});

test("Next: its route opens one store, even if the module is loaded several times", async () => {
  process.env["ORDERS_DB"] = ":memory:";
  const first = await import("../../../examples/mounting/next-route.ts");
  const again: typeof first = await import(
    `${new URL("../../../examples/mounting/next-route.ts", import.meta.url).href}?again`
  );
  expect(again.PUT).not.toBe(first.PUT);
  expect([first.runtime, first.dynamic]).toEqual(["nodejs", "force-dynamic"]);

  const url = "http://localhost/orders/1";
  expect((await first.PUT(new Request(url, requestOf("PUT", { item: "x" })))).status).toBe(202);
  const seen = await again.GET(new Request(url));
  expect(await seen.json()).toMatchObject({ id: "1" });
  await (await globalThis.openOrders)?.close();
});

/** Checks one order from creation to completion, and the refused requests. */
async function checkOrders(perdure: Perdure, ask: Ask): Promise<void> {
  const statusOf = async (...asked: Parameters<Ask>) => (await ask(...asked)).status;
  expect(await statusOf("PUT", "/orders/7", { item: "a chair" })).toBe(202);
  expect(await statusOf("PUT", "/orders/7", { item: "a chair" })).toBe(202);
  expect(await statusOf("POST", "/orders/7/approval", { by: "ada" })).toBe(202);
  await perdure.client.get("7").result();
  expect(await (await ask("GET", "/orders/7")).json()).toEqual({
    id: "7",
    status: "completed",
    output: "shipped a chair, approved by ada",
  });
  expect(await statusOf("POST", "/orders/7/approval", { by: "ada" })).toBe(409);
  expect(await statusOf("GET", "/orders/8")).toBe(404);
  expect(await statusOf("PUT", "/orders/a::b", { item: "a chair" })).toBe(400);
  expect(await statusOf("DELETE", "/orders/7")).toBe(404);
}

async function served(listener: RequestListener): Promise<Ask> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return (method, path, body) => fetch(`http://127.0.0.1:${port}${path}`, requestOf(method, body));
}

function requestOf(method: string, body: unknown): RequestInit {
  return body === undefined
    ? { method }
    : { method, body: JSON.stringify(body), headers: { "content-type": "application/json" } };
}
