// Attacks by pages of other sites through a browser, and the headers that a browser gets (S10 to S13, S15).

import { expect, test } from "vitest";
import { createToken, perdureServer } from "../../../src/server/index.ts";
import { rawBytes, rawRequest } from "./inputs/raw-request.ts";
import { openPerdure, openScene, type Scene } from "./support.ts";

const EVIL = "https://evil.example";

async function cookieOf({ listening, call }: Scene): Promise<string> {
  const opened = await call("admin", "POST", "/session");
  expect(opened.status).toBe(204);
  expect(listening.port).toBeGreaterThan(0);
  return (opened.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
}

test("S10: a page of another site cannot act with a logged-in session", async () => {
  const scene = await openScene();
  const { port } = scene.listening;
  const Cookie = await cookieOf(scene);
  const body = JSON.stringify({ name: "echo", id: "forged" });
  const form = "application/x-www-form-urlencoded";
  const own = `http://127.0.0.1:${port}`;
  const attacks: [Record<string, string>, number][] = [
    [{ Origin: EVIL, "Content-Type": form }, 403],
    [{ Origin: EVIL, "Content-Type": "text/plain" }, 403],
    [{ Origin: EVIL, "Content-Type": "multipart/form-data; boundary=x" }, 403],
    [{ Origin: EVIL, "Content-Type": "application/json" }, 403],
    [{ Origin: "null", "Content-Type": "application/json" }, 403],
    [{ Origin: `http://127.0.0.1:${port + 1}`, "Content-Type": "application/json" }, 403],
    [{ Origin: `http://127.0.0.1:${port}.evil.example`, "Content-Type": "application/json" }, 403],
    [{ Origin: `http://evil.example#127.0.0.1:${port}`, "Content-Type": "application/json" }, 403],
    [{ "Sec-Fetch-Site": "cross-site", "Content-Type": "application/json" }, 403],
    [{ "Sec-Fetch-Site": "same-site", "Content-Type": "application/json" }, 403],
    [{ "Content-Type": "application/json" }, 403],
    [{ Origin: own, "Content-Type": form }, 415],
    [{ Origin: own, "Content-Type": "text/plain" }, 415],
    [{ Origin: own }, 415],
  ];
  for (const [headers, expected] of attacks) {
    const { status } = await rawRequest({
      port,
      method: "POST",
      path: "/api/v1/instances",
      headers: { Cookie, ...headers },
      body,
    });
    expect([headers, status]).toEqual([headers, expected]);
  }
  expect(await scene.perdure.client.count()).toBe(0);
  for (const headers of [{ Origin: own }, { "Sec-Fetch-Site": "same-origin" }]) {
    const { status } = await rawRequest({
      port,
      method: "POST",
      path: "/api/v1/instances",
      headers: { Cookie, "Content-Type": "application/json", ...headers },
      body: JSON.stringify({ name: "echo" }),
    });
    expect([headers, status]).toEqual([headers, 201]);
  }
});

test("S11: no answer carries a CORS header, whatever the origin", async () => {
  const scene = await openScene({ origins: ["https://ops.example.com"] });
  const { port } = scene.listening;
  const Authorization = `Bearer ${scene.tokens.admin}`;
  for (const Origin of [EVIL, "null", "https://ops.example.com", `http://127.0.0.1:${port}`]) {
    for (const method of ["GET", "POST", "OPTIONS", "DELETE"]) {
      const headers = {
        Authorization,
        Origin,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
      };
      const answer = await rawRequest({ port, method, path: "/api/v1/instances", headers });
      const cors = Object.keys(answer.headers).filter((name) => name.startsWith("access-control"));
      expect([Origin, method, cors]).toEqual([Origin, method, []]);
    }
  }
});

test("a listed origin may use the server", async () => {
  const scene = await openScene({ origins: ["https://ops.example.com"] });
  const { port } = scene.listening;
  const ask = (Origin: string) =>
    rawRequest({
      port,
      path: "/api/v1/session",
      headers: { Authorization: `Bearer ${scene.tokens.viewer}`, Origin },
    });
  expect((await ask("https://ops.example.com")).status).toBe(200);
  expect((await ask("http://ops.example.com")).status).toBe(403);
});

const HOSTS: [string, number][] = [
  ["evil.example", 421],
  ["evil.example:{port}", 421],
  ["127.0.0.1.evil.example", 421],
  ["localhost.evil.example", 421],
  ["evil-localhost", 421],
  ["localhost:{port}", 200],
  ["LOCALHOST:{port}", 200],
  ["127.0.0.1:{port}", 200],
  ["[::1]:{port}", 200],
  ["app.localhost", 200],
  ["192.0.2.7", 200],
];

test.each(HOSTS)("S12: a request for the host %s gets %i", async (host, expected) => {
  const scene = await openScene();
  const { port } = scene.listening;
  for (const path of ["/api/v1/session", "/", "/healthz", "/metrics"]) {
    const headers = {
      Host: host.replace("{port}", String(port)),
      Authorization: `Bearer ${scene.tokens.viewer}`,
    };
    const { status } = await rawRequest({ port, path, headers });
    expect([path, status]).toEqual([path, expected]);
  }
});

test("S12: a listed host is accepted, and a malformed or missing one is not", async () => {
  const scene = await openScene({ hosts: ["ops.example.com", "other.example:8443"] });
  const { port } = scene.listening;
  const ask = async (Host: string) =>
    (await rawRequest({ port, path: "/healthz", headers: { Host } })).status;
  expect(await ask("ops.example.com")).toBe(200);
  expect(await ask("ops.example.com:1234")).toBe(200);
  expect(await ask("other.example:8443")).toBe(200);
  expect(await ask("other.example")).toBe(421);
  for (const host of ["", "a b", "user@localhost", "localhost/", "local\thost"]) {
    const text = await rawBytes(
      port,
      `GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    );
    expect([host, text.startsWith("HTTP/1.1 4")]).toEqual([host, true]);
  }
  const absolute = await rawBytes(
    port,
    `GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
  );
  expect(absolute).toMatch(/^HTTP\/1.1 421 /);
});

test("S13: a stream for a page of another origin is refused before it begins", async () => {
  const scene = await openScene();
  const { port } = scene.listening;
  const Cookie = await cookieOf(scene);
  for (const headers of [{ Origin: EVIL }, { "Sec-Fetch-Site": "cross-site" }]) {
    for (const path of ["/api/v1/changes", "/api/v1/instances/w/watch"]) {
      const answer = await rawRequest({ port, path, headers: { Cookie, ...headers } });
      expect([path, answer.status]).toEqual([path, 403]);
    }
  }
  expect(scene.listening.server.streams).toBe(0);
});

test("S13: an upgrade to another protocol is ignored", async () => {
  const { listening } = await openScene();
  const text = await rawBytes(
    listening.port,
    "GET /api/v1/changes HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n" +
      "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
  );
  expect(text).toMatch(/^HTTP\/1.1 401 /);
});

test("S15: every answer restricts what a page may do, and data is never cached", async () => {
  const scene = await openScene();
  const { port } = scene.listening;
  await scene.as("operator").start("echo", 1, { id: "e" });
  const Authorization = `Bearer ${scene.tokens.viewer}`;
  const paths = [
    "/",
    "/some/page",
    "/healthz",
    "/metrics",
    "/api/v1/instances",
    "/api/v1/instances/e",
    "/api/v1/instances/none",
    "/api/v1/openapi.json",
    "/api/v1/nowhere",
    "/nowhere.js",
  ];
  for (const path of paths) {
    const { headers } = await rawRequest({ port, path, headers: { Authorization } });
    const policy = headers["content-security-policy"] ?? "";
    expect(policy).toContain("default-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("object-src 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["referrer-policy"]).toBe("no-referrer");
    expect(headers["x-frame-options"]).toBe("DENY");
    expect(headers["cross-origin-resource-policy"]).toBe("same-origin");
    if (path.startsWith("/api") || path === "/metrics") {
      expect([path, headers["cache-control"]]).toEqual([path, "no-store"]);
    }
  }
});

test("S34: X-Forwarded-* headers are ignored unless a proxy is trusted", async () => {
  const { client } = await openPerdure();
  const { token, entry } = createToken({ name: "ada", role: "operator" });
  const sources: string[] = [];
  for (const trustProxy of [false, true]) {
    await using server = perdureServer(client, {
      tokens: [entry],
      hosts: ["ops.example.com"],
      trustProxy,
      audit: ({ from }) => void sources.push(from),
      log: () => undefined,
    });
    const ask = (path: string, headers: Record<string, string>, method = "GET") =>
      server.request(`http://127.0.0.1${path}`, {
        method,
        headers: { Authorization: `Bearer ${token}`, ...headers },
      });
    const evil = await ask("/api/v1/session", { "X-Forwarded-Host": "evil.example" });
    expect(evil.status).toBe(trustProxy ? 421 : 200);
    const origin = { Origin: "https://ops.example.com", "X-Forwarded-Host": "ops.example.com" };
    expect((await ask("/api/v1/session", origin)).status).toBe(trustProxy ? 200 : 403);
    await ask("/api/v1/instances/x/resume", { "X-Forwarded-For": "6.6.6.6, 203.0.113.9" }, "POST");
  }
  expect(sources).toEqual(["unknown", "203.0.113.9"]);
});
