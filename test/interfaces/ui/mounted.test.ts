// The dashboard inside Express, Fastify and Hono applications, in a real browser: page, assets, login, cookie,
// links, actions and the stream all work below the prefix.

import type { AddressInfo } from "node:net";
import { createServer, type Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import { expect, onTestFinished, test } from "vitest";
import {
  createToken,
  nodeListener,
  perdureServer,
  type PerdureServer,
  type ServerOptions,
} from "../../../src/server/index.ts";
import { openPage } from "./support/browser.ts";
import { builtUi } from "./support/built-ui.ts";
import { useScene } from "./support/scene.ts";
import { quick } from "./support/shop.ts";

const PREFIX = "/ops/perdure";
const scene = useScene();

test("Express: mounted under a prefix, the dashboard finds the prefix in the original URL", async () => {
  const { server, token } = await mountable();
  const app = express();
  app.use(PREFIX, nodeListener(server));
  app.get("/", (_request, response) => void response.send("mine"));
  const origin = await listen(createServer(app));
  for (const path of [PREFIX, `${PREFIX}/`]) await tour(`${origin}${path}`, token);
  expect(await (await fetch(origin)).text()).toBe("mine");
});

test("Express: in nested routers behind express.json(), changes still reach the API", async () => {
  const { server, token } = await mountable();
  const app = express();
  app.use(express.json());
  const router = express.Router();
  router.use("/perdure", nodeListener(server));
  app.use("/ops", router);
  await tour(`${await listen(createServer(app))}${PREFIX}`, token);
});

test("Fastify: with basePath, the dashboard works below the prefix of a plugin", async () => {
  const { server, token } = await mountable({ basePath: PREFIX });
  const listener = nodeListener(server);
  const app = fastify();
  await app.register(
    async (scope) => {
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser("*", (_request, _payload, done) => done(null));
      for (const path of ["/", "/*"]) {
        scope.all(path, (request, reply) => {
          reply.hijack();
          listener(request.raw, reply.raw);
        });
      }
    },
    { prefix: PREFIX },
  );
  await app.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => void app.close());
  const { port } = app.server.address() as AddressInfo; // it listens on a port
  await tour(`http://127.0.0.1:${port}${PREFIX}`, token);
});

test("Hono: app.route needs no option, and app.mount, which removes the prefix, needs basePath", async () => {
  const routed = await mountable();
  const mounted = await mountable({ basePath: "/mounted" });
  const app = new Hono().route(PREFIX, routed.server).mount("/mounted", mounted.server.fetch);
  const origin = await listen(createAdaptorServer({ fetch: app.fetch }) as Server);
  await tour(`${origin}${PREFIX}`, routed.token);
  await tour(`${origin}/mounted`, mounted.token);
});

test("a proxy that removes the prefix: basePath gives the server its public path", async () => {
  const { server, token } = await mountable({ basePath: PREFIX });
  const listener = nodeListener(server);
  const proxy = createServer((incoming, outgoing) => {
    incoming.url = (incoming.url ?? "").slice(PREFIX.length) || "/";
    listener(incoming, outgoing);
  });
  await tour(`${await listen(proxy)}${PREFIX}/`, token);
});

async function mountable(
  options: ServerOptions = {},
): Promise<{ server: PerdureServer; token: string }> {
  const { token, entry } = createToken({ name: "mia", role: "operator" });
  const server = perdureServer(scene.world.perdure.client, {
    ui: await builtUi(),
    tokens: [entry],
    limits: { sampleMs: 200 },
    log: () => undefined,
    ...options,
  });
  onTestFinished(() => server.close());
  return { server, token };
}

async function listen(node: Server): Promise<string> {
  await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    node.closeAllConnections();
    node.close();
  });
  const { port } = node.address() as AddressInfo; // it listens on a port
  return `http://127.0.0.1:${port}`;
}

/** Uses everything that depends on the mount path, as a user would. */
async function tour(address: string, token: string): Promise<void> {
  const home = address.replace(/\/?$/, "/");
  await using watched = await openPage(scene.browser, address);
  const { page, troubles } = watched;
  await page.getByLabel("Token").fill(token);
  await page.keyboard.press("Enter");
  await page.getByText("mia · operator").waitFor();
  const cookies = await page.context().cookies(home);
  expect(cookies.map(({ path, httpOnly }) => ({ path, httpOnly }))).toEqual([
    { path: new URL(address).pathname.replace(/\/$/, ""), httpOnly: true },
  ]);
  await expect.poll(() => page.locator(".live").first().textContent()).toBe("Live");
  const completed = page.locator(".tile[data-status=completed] .tile-count");
  const before = Number(await completed.textContent());
  await (await scene.world.perdure.client.start(quick, 1)).result();
  await expect.poll(() => completed.textContent(), { timeout: 20_000 }).toBe(String(before + 1));
  await page.getByRole("link", { name: "Instances" }).click();
  expect(page.url()).toBe(`${home}#/instances`);
  await page.getByRole("button", { name: "Start" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name of the orchestration or flow").fill("quick");
  await dialog.getByLabel("Input").fill("7");
  await dialog.getByRole("button", { name: "Start" }).click();
  await page.getByRole("toolbar", { name: "Actions" }).waitFor();
  await page.reload();
  await page.getByRole("toolbar", { name: "Actions" }).waitFor();
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Token").waitFor();
  expect(await page.context().cookies(home)).toEqual([]);
  const unexpected = troubles.filter((trouble) => !trouble.includes("401 (Unauthorized)"));
  expect(unexpected).toEqual([]);
}
