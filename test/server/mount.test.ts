// The server as a part of an application: mounted, or called as a handler.

import { Hono } from "hono";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HttpClient, perdureServer } from "../../src/server/index.ts";
import { echo, openPerdure, temporaryFolder } from "./support.ts";

test("mounted under a path it answers there, page and API, and leaves the rest to the application", async () => {
  const { client } = await openPerdure();
  const ui = join(temporaryFolder(), "ui");
  mkdirSync(ui, { recursive: true });
  writeFileSync(join(ui, "index.html"), "<html><head></head><body>dashboard</body></html>");
  await using server = perdureServer(client, { ui, log: () => undefined });
  const app = new Hono();
  app.get("/", (context) => context.text("mine"));
  app.route("/perdure", server);
  app.get("/other", (context) => context.text("mine too"));

  expect(await (await app.request("/")).text()).toBe("mine");
  expect(await (await app.request("/other")).text()).toBe("mine too");
  for (const path of ["/perdure", "/perdure/", "/perdure/instances/x"]) {
    const page = await app.request(path, { headers: { Accept: "text/html" } });
    expect([path, await page.text()]).toEqual([
      path,
      '<html><head><base href="/perdure/"></head><body>dashboard</body></html>',
    ]);
  }
  expect((await app.request("/perdure/healthz")).status).toBe(200);
  expect((await app.request("/perdure/api/v1/session")).status).toBe(401);
  expect((await app.request("/perdure/api/v1/nowhere")).status).toBe(401);
  expect((await app.request("/api/v1/session")).status).toBe(404);

  const http = new HttpClient({
    url: "http://localhost/perdure",
    token: server.token ?? "",
    fetch: async (request) => app.fetch(request),
  });
  const handle = await http.start(echo, { n: 1 }, { id: "a/b" });
  expect(await handle.result()).toEqual({ n: 1 });
  const opened = await app.request("/perdure/api/v1/session", {
    method: "POST",
    headers: { Authorization: `Bearer ${server.token}` },
  });
  expect(opened.headers.get("set-cookie")).toContain("; Path=/perdure;");
});

test("it is a handler of requests, for whatever calls such handlers", async () => {
  const { client } = await openPerdure();
  await using server = perdureServer(client, { log: () => undefined });
  const handler: (request: Request) => Response | Promise<Response> = server.fetch;
  const response = await handler(new Request("http://localhost/healthz"));
  expect(await response.json()).toEqual({ status: "ok" });
});

test("without tokens one is made up, for this process alone", async () => {
  const { client } = await openPerdure();
  await using one = perdureServer(client, { log: () => undefined });
  await using other = perdureServer(client, { log: () => undefined });
  expect(one.token).toMatch(/^pdr_[\w-]{43}$/);
  expect(one.token).not.toBe(other.token);
  const headers = { Authorization: `Bearer ${one.token}` };
  expect((await one.request("/api/v1/session", { headers })).status).toBe(200);
  expect((await other.request("/api/v1/session", { headers })).status).toBe(401);
});

test("options that are wrong are refused before anything answers", async () => {
  const { client } = await openPerdure();
  const wrong = [
    { limits: { burst: 0 } },
    { limits: { perSecond: 1.5 } },
    { limits: { nonsense: 1 } as object },
    { hosts: ["a b"] },
    { tokens: [{ name: "a", role: "admin", token: "short" } as const] },
  ];
  for (const options of wrong) {
    expect(() => perdureServer(client, options)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  }
});

test("a process's own Request and Response stay as they are", async () => {
  const { Request: before, Response: answer } = globalThis;
  const { client } = await openPerdure();
  const { serve } = await import("../../src/server/index.ts");
  await using listening = await serve(client, { port: 0, log: () => undefined });
  await fetch(`${listening.url}/healthz`);
  expect([globalThis.Request, globalThis.Response]).toEqual([before, answer]);
});
