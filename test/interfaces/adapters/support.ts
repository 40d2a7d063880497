// The three frameworks behind one interface: an application with Perdure below /ops/perdure and a route /orders/:id, which
// starts an order as a user's handler does.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "@hono/node-server";
import express, { type Request as ExpressRequest } from "express";
import fastify, { type FastifyRequest } from "fastify";
import { Hono, type Context } from "hono";
import { onTestFinished } from "vitest";
import type { AppOptions, PerdureApp } from "../../../src/adapters/app.ts";
import { perdureExpress } from "../../../src/adapters/express.ts";
import { perdureFastify } from "../../../src/adapters/fastify.ts";
import { perdureHono } from "../../../src/adapters/hono.ts";

export const PREFIX = "/ops/perdure";

/** What a request of the test reports as its context. */
type Shared = Omit<AppOptions<never>, "context" | "prefix">;
type Start = (perdure: PerdureApp, id: string, body: unknown) => Promise<unknown>;
export interface Mounted {
  readonly origin: string;
  readonly perdure: PerdureApp;
  /** Closes the application as its framework does. */
  close(): Promise<void>;
}
export type Mount = (options: Shared, start: Start) => Promise<Mounted>;

function tenantOf(tenant: unknown): { tenant: string } | undefined {
  if (tenant === "forbidden") throw new Error("no access");
  return typeof tenant === "string" ? { tenant } : undefined;
}

const mountExpress: Mount = async (options, start) => {
  const perdure = perdureExpress({
    ...options,
    prefix: "/perdure",
    context: async (request: ExpressRequest) => tenantOf(request.get("x-tenant")),
  });
  const app = express();
  const router = express.Router();
  router.use(perdure);
  app.use("/ops", router);
  app.use(perdure);
  app.use(express.json());
  app.post("/orders/:id", async (request, response) => {
    response.json(await start(perdure, request.params.id, request.body));
  });
  const server = perdure.closeWith(createServer(app));
  onTestFinished(() => perdure.close());
  return { ...(await listening(server)), perdure, close: () => closed(server) };
};

const mountFastify: Mount = async (options, start) => {
  const perdure = perdureFastify({
    ...options,
    prefix: PREFIX,
    context: (request: FastifyRequest) => tenantOf(request.headers["x-tenant"]),
  });
  const app = fastify();
  await app.register(perdure);
  app.post<{ Params: { id: string } }>("/orders/:id", async (request) =>
    start(perdure, request.params.id, request.body),
  );
  const origin = await app.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => app.close());
  return { origin, perdure, close: () => app.close() };
};

const mountHono: Mount = async (options, start) => {
  const perdure = perdureHono({
    ...options,
    prefix: PREFIX,
    context: (c: Context) => tenantOf(c.req.header("x-tenant")),
  });
  const app = new Hono();
  app.use(perdure);
  app.post("/orders/:id", async (c) => {
    const answer = await start(perdure, c.req.param("id"), await c.req.json());
    return c.json(answer as object);
  });
  const server = perdure.closeWith(
    serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }) as Server,
  );
  onTestFinished(() => perdure.close());
  return { ...(await listening(server)), perdure, close: () => closed(server) };
};

export const FRAMEWORKS: readonly (readonly [string, Mount])[] = [
  ["Express", mountExpress],
  ["Fastify", mountFastify],
  ["Hono", mountHono],
];

async function listening(server: Server): Promise<{ readonly origin: string }> {
  if (server.address() === null) {
    await new Promise<void>((resolve) => {
      server.once("listening", resolve);
      if (!server.listening) server.listen(0, "127.0.0.1");
    });
  }
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // it listens on a port
  return { origin: `http://127.0.0.1:${port}` };
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
