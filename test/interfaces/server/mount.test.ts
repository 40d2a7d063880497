// The server as part of an application: mounted, or called as a handler.

import { Hono } from "hono";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { HttpClient, perdureServer } from "../../../src/server/index.ts";
import { echo, openPerdure, temporaryFolder } from "./support.ts";

test("mounted under a path the server answers there, page and API, and leaves other paths to the application", async () => {
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

/** The base of the page and the path of the cookie, for requests below `prefix` after a framework removed it. */
async function placeOf(options: { readonly basePath?: string }, prefix = "", url = "/") {
  const { client } = await openPerdure();
  await using server = perdureServer(client, { ...options, log: () => undefined });
  const ask = (path: string, init: RequestInit) =>
    server.fetch(new Request(`http://localhost${path}`, init), {
      incoming: { url: path, originalUrl: prefix + path },
    });
  const page = await ask(url, { headers: { Accept: "text/html" } });
  const headers = { Authorization: `Bearer ${server.token}` };
  const session = await ask("/api/v1/session", { method: "POST", headers });
  return {
    base: /<base href="([^"]*)">/.exec(await page.text())?.[1],
    cookie: /; Path=([^;]*);/.exec(session.headers.get("set-cookie") ?? "")?.[1],
  };
}

test("the prefix comes from the original URL of the request, or from basePath", async () => {
  const under = (base: string) => ({ base: `${base}/`, cookie: base === "" ? "/" : base });
  expect(await placeOf({})).toEqual(under(""));
  expect(await placeOf({}, "/ops")).toEqual(under("/ops"));
  expect(await placeOf({}, "/a/b-c.d")).toEqual(under("/a/b-c.d"));
  expect(await placeOf({ basePath: "/ops" })).toEqual(under("/ops"));
  expect(await placeOf({ basePath: "/ops/" }, "", "/ops/")).toEqual(under("/ops"));
  expect(await placeOf({ basePath: "/" })).toEqual(under(""));
  expect(await placeOf({ basePath: "/x" }, "/y")).toEqual(under("/x"));
});

test("a prefix that could name another host or add to the cookie is ignored", async () => {
  for (const prefix of [
    "//evil.example",
    "/a;Domain=evil",
    "/a,b",
    "/\\evil",
    "/..",
    "/<b>",
    '/"',
  ]) {
    expect([prefix, await placeOf({}, prefix)]).toEqual([prefix, { base: "/", cookie: "/" }]);
  }
});

test("the server is a request handler, usable by anything that calls such handlers", async () => {
  const { client } = await openPerdure();
  await using server = perdureServer(client, { log: () => undefined });
  const handler: (request: Request) => Response | Promise<Response> = server.fetch;
  const response = await handler(new Request("http://localhost/healthz"));
  expect(await response.json()).toEqual({ status: "ok" });
});

test("without tokens the server generates one, valid for this process only", async () => {
  const { client } = await openPerdure();
  await using one = perdureServer(client, { log: () => undefined });
  await using other = perdureServer(client, { log: () => undefined });
  expect(one.token).toMatch(/^pdr_[\w-]{43}$/);
  expect(one.token).not.toBe(other.token);
  const headers = { Authorization: `Bearer ${one.token}` };
  expect((await one.request("/api/v1/session", { headers })).status).toBe(200);
  expect((await other.request("/api/v1/session", { headers })).status).toBe(401);
});

test("invalid options are refused before the server answers anything", async () => {
  const { client } = await openPerdure();
  const wrong = [
    { limits: { burst: 0 } },
    { limits: { perSecond: 1.5 } },
    { limits: { nonsense: 1 } as object },
    { hosts: ["a b"] },
    { basePath: "perdure" },
    { basePath: "//evil.example" },
    { basePath: "/a/../b" },
    { basePath: '/a"b' },
    { basePath: "/a;b" },
    { basePath: 7 as unknown as string },
    { tokens: [{ name: "a", role: "admin", token: "short" } as const] },
  ];
  for (const options of wrong) {
    expect(() => perdureServer(client, options)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  }
});

test("the process's global Request and Response stay unchanged", async () => {
  const { Request: before, Response: answer } = globalThis;
  const { client } = await openPerdure();
  const { serve } = await import("../../../src/server/index.ts");
  await using listening = await serve(client, { port: 0, log: () => undefined });
  await fetch(`${listening.url}/healthz`);
  expect([globalThis.Request, globalThis.Response]).toEqual([before, answer]);
});
