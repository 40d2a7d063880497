// Access: addresses, tokens, rotation, failing closed, sessions (S1, S2, S6, S7, S8, S32).

import { hash, randomBytes } from "node:crypto";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  auditToFile,
  createToken,
  perdureServer,
  serve,
  tokensFromFile,
  type Listening,
  type TokenEntry,
} from "../../../src/server/index.ts";
import { TokenBook } from "../../../src/server/security/tokens.ts";
import { codeOf, openPerdure, openScene, temporaryFolder } from "./support.ts";

/** For tests that repeat a request until the answer changes. */
const OFTEN = { perSecond: 1_000_000, burst: 1_000_000 };
const OUTSIDE = ["0.0.0.0", "::", "192.0.2.1", "example.com", "128.0.0.1", "127.0.0.1.example.com"];

test.each(OUTSIDE)("S1: without tokens the server does not listen on %s", async (host) => {
  const { client } = await openPerdure();
  const refused = { code: "INVALID_ARGUMENT" };
  await expect(serve(client, { port: 0, host })).rejects.toMatchObject(refused);
  await expect(serve(client, { port: 0, host, tokens: [] })).rejects.toMatchObject(refused);
});

test("S2: by default the server listens on loopback addresses only", async () => {
  const { client } = await openPerdure();
  await using listening = await serve(client, { port: 0, log: () => undefined });
  expect(listening.addresses[0]).toBe("127.0.0.1");
  expect(["127.0.0.1", "::1"]).toEqual(expect.arrayContaining([...listening.addresses]));
  for (const address of listening.addresses) {
    const host = address === "::1" ? "[::1]" : address;
    expect((await fetch(`http://${host}:${listening.port}/healthz`)).status).toBe(200);
  }
});

test("with tokens the server listens on the given address", async () => {
  const { client } = await openPerdure();
  const { token, entry } = createToken({ name: "ada", role: "viewer" });
  await using listening = await serve(client, {
    port: 0,
    host: "0.0.0.0",
    tokens: [entry],
    log: () => undefined,
  });
  expect(listening.addresses).toEqual(["0.0.0.0"]);
  expect(listening.token).toBeUndefined();
  const headers = { Authorization: `Bearer ${token}` };
  const response = await fetch(`http://127.0.0.1:${listening.port}/api/v1/session`, { headers });
  expect(response.status).toBe(200);
});

test("a port in use is an error, and nothing stays open", async () => {
  const { client } = await openPerdure();
  await using first = await serve(client, { port: 0, log: () => undefined });
  await expect(serve(client, { port: first.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
});

test("S6: a token has 256 random bits, and the server stores only its hash", () => {
  const made = Array.from({ length: 100 }, () => createToken({ name: "a", role: "viewer" }));
  expect(new Set(made.map(({ token }) => token)).size).toBe(100);
  for (const { token, entry } of made) {
    expect(Buffer.from(token.replace("pdr_", ""), "base64url")).toHaveLength(32);
    expect(entry).toEqual({ name: "a", role: "viewer", sha256: hash("sha256", token, "hex") });
  }
});

test("S6: a token too short for 256 bits is refused, and the message does not repeat it", () => {
  for (const token of ["", "secret", "x".repeat(42)]) {
    const tokens: TokenEntry[] = [{ name: "weak", role: "admin", token }];
    const make = () => new TokenBook(tokens, () => 0);
    expect(make).toThrow(/too short to hold 256 random bits/);
    if (token !== "") expect(make).not.toThrow(new RegExp(token));
  }
  const wrong: unknown[] = [
    { name: "", role: "admin", sha256: "0".repeat(64) },
    { name: "a", role: "root", sha256: "0".repeat(64) },
    { name: "a", role: "admin", sha256: "0".repeat(63) },
    { name: "a", role: "admin" },
    { name: "a", role: "admin", sha256: "0".repeat(64), token: "x".repeat(43) },
  ];
  for (const entry of wrong) {
    expect(() => new TokenBook([entry as TokenEntry], () => 0)).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  }
});

test("S6: only the right token is accepted, and only in the Authorization header", async () => {
  const { call, tokens, listening } = await openScene();
  const right = tokens.viewer;
  const wrong = [
    `Bearer ${right.slice(0, -1)}`,
    `Bearer ${right}x`,
    `Bearer ${right.toUpperCase()}`,
    `Bearer ${right} ${right}`,
    `Basic ${right}`,
    right,
    "Bearer",
    "Bearer ",
    `Bearer ${randomBytes(32).toString("base64url")}`,
    `Bearer ${hash("sha256", right, "hex")}`,
  ];
  for (const authorization of wrong) {
    const headers = { Authorization: authorization };
    const { status } = await call(null, "GET", "/session", { headers });
    expect([authorization.replace(right, "<token>"), status]).toEqual([
      authorization.replace(right, "<token>"),
      401,
    ]);
  }
  for (const query of [
    `token=${right}`,
    `access_token=${right}`,
    `authorization=Bearer ${right}`,
  ]) {
    expect((await fetch(`${listening.url}/api/v1/session?${query}`)).status).toBe(401);
  }
  const cookie = { Cookie: `perdure_${listening.port}=${right}` };
  expect((await call(null, "GET", "/session", { headers: cookie })).status).toBe(401);
  expect(
    (await call(null, "GET", "/session", { headers: { Authorization: `bearer  ${right}` } }))
      .status,
  ).toBe(200);
});

test("S7: a revoked token gets 401 without a restart, while a second token stays valid", async () => {
  const old = createToken({ name: "ada", role: "viewer" });
  const next = createToken({ name: "ada", role: "viewer" });
  const file = join(temporaryFolder(), "tokens.json");
  const write = (...entries: TokenEntry[]) =>
    writeFileSync(file, JSON.stringify({ tokens: entries }));
  write(old.entry, next.entry);
  const { listening } = await openScene({ tokens: tokensFromFile(file), limits: OFTEN });
  expect(await statusWith(listening, old.token)).toBe(200);
  expect(await statusWith(listening, next.token)).toBe(200);
  write(next.entry);
  await expect.poll(() => statusWith(listening, old.token)).toBe(401);
  expect(await statusWith(listening, next.token)).toBe(200);
});

test("S8: a token source that fails or is empty denies all access", async () => {
  const folder = temporaryFolder();
  const file = join(folder, "tokens.json");
  const { token, entry } = createToken({ name: "ada", role: "admin" });
  const states: [string | null, number][] = [
    [null, 503],
    ["", 503],
    ["{", 503],
    ["[]", 503],
    ['{"tokens":[{"name":"a","role":"root","sha256":""}]}', 503],
    ['{"tokens":[]}', 401],
    [JSON.stringify({ tokens: [entry] }), 200],
  ];
  for (const [text, expected] of states) {
    rmSync(file, { force: true });
    if (text !== null) writeFileSync(file, text);
    const { listening, log } = await openScene({ tokens: tokensFromFile(file) });
    expect([text, await statusWith(listening, token)]).toEqual([text, expected]);
    expect(await statusWith(listening, "x".repeat(43))).toBe(expected === 200 ? 401 : expected);
    if (expected === 503) expect(log.map(({ level }) => level)).toContain("error");
  }
});

test("S8: an authenticate function that throws or returns nonsense denies all access", async () => {
  const functions = [
    () => Promise.reject(new Error("database down: postgres://user:hunter2@db")),
    () => ({ name: "a", role: "root" }) as never,
    () => ({}) as never,
    () => undefined as never,
  ];
  for (const authenticate of functions) {
    const { perdure } = await openScene();
    const server = perdureServer(perdure.client, { authenticate, log: () => undefined });
    const response = await server.request("/api/v1/session");
    expect(response.status).toBe(503);
    expect(await response.text()).not.toContain("hunter2");
    await server.close();
  }
});

test("an authenticate function decides about access, and does not see the body", async () => {
  const { client } = await openPerdure();
  const bodies: unknown[] = [];
  await using server = perdureServer(client, {
    authenticate: (request) => {
      bodies.push(request.body);
      const name = request.headers.get("x-user");
      return name === null ? null : { name, role: name === "ada" ? "operator" : "viewer" };
    },
    log: () => undefined,
  });
  const ask = (user: string | null) =>
    server.request("/api/v1/instances", {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        ...(user === null ? {} : { "X-User": user }),
      },
      body: JSON.stringify({ name: "echo", input: 1 }),
    });
  expect((await ask(null)).status).toBe(401);
  expect((await ask("vera")).status).toBe(403);
  expect((await ask("ada")).status).toBe(201);
  expect(new Set(bodies)).toEqual(new Set([null]));
  expect(server.token).toBeUndefined();
});

test("a session cookie stands for its token, and is revoked with it", async () => {
  const made = createToken({ name: "ada", role: "viewer" });
  const entries: TokenEntry[] = [made.entry];
  const { listening } = await openScene({ tokens: () => entries, limits: OFTEN });
  const session = `${listening.url}/api/v1/session`;
  const bearer = { Authorization: `Bearer ${made.token}` };
  const opened = await fetch(session, { method: "POST", headers: bearer });
  const line = opened.headers.get("set-cookie") ?? "";
  expect(line).toMatch(
    /^perdure_\d+=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/,
  );
  expect(line).not.toContain(made.token);
  const cookie = { Cookie: `other=1; ${line.split(";")[0]}; more=2` };
  const origin = { Origin: listening.url };
  expect((await fetch(session, { headers: cookie })).status).toBe(200);
  const again = await fetch(session, { method: "POST", headers: { ...cookie, ...origin } });
  expect([again.status, await codeOf(again)]).toEqual([403, "FORBIDDEN"]);
  const closed = await fetch(session, { method: "DELETE", headers: { ...cookie, ...origin } });
  expect(closed.headers.get("set-cookie")).toMatch(/^perdure_\d+=; Path=\/; Max-Age=0;/);
  expect((await fetch(session, { headers: cookie })).status).toBe(401);

  const second = await fetch(session, { method: "POST", headers: bearer });
  const live = { Cookie: (second.headers.get("set-cookie") ?? "").split(";")[0] ?? "" };
  expect((await fetch(session, { headers: live })).status).toBe(200);
  entries.length = 0;
  await expect.poll(async () => (await fetch(session, { headers: live })).status).toBe(401);
});

test("S10: except over plain HTTP on this machine, a session cookie is Secure", async () => {
  const { client } = await openPerdure();
  const { token, entry } = createToken({ name: "ada", role: "viewer" });
  await using server = perdureServer(client, {
    tokens: [entry],
    hosts: ["ops.example.com"],
    log: () => undefined,
  });
  const headers = { Authorization: `Bearer ${token}` };
  for (const origin of ["https://localhost", "http://ops.example.com", "https://ops.example.com"]) {
    const request = new Request(`${origin}/api/v1/session`, { method: "POST", headers });
    const response = await server.fetch(request);
    expect(response.headers.get("set-cookie")).toContain("; Secure");
  }
});

test("S6, S32: no log line, audit line, answer or error contains a token", async () => {
  const folder = temporaryFolder();
  const file = join(folder, "audit.jsonl");
  const scene = await openScene({ audit: auditToFile(file) });
  const texts: string[] = [];
  const keep = async (response: Response) =>
    void texts.push(JSON.stringify([...response.headers]), await response.text());
  const canaries = Object.values(scene.tokens);
  for (const role of ["viewer", "operator", "admin"] as const) {
    await keep(await scene.call(role, "GET", "/session"));
    await keep(await scene.call(role, "POST", "/session"));
    await keep(await scene.call(role, "POST", "/instances", { body: { name: "echo", id: role } }));
    await keep(await scene.call(role, "GET", `/instances?idPrefix=${role}`));
    await keep(await scene.call(role, "POST", "/instances", { body: "{" }));
    await keep(await scene.call(role, "GET", "/nowhere"));
  }
  texts.push(JSON.stringify(scene.log), readFileSync(file, "utf8"));
  for (const canary of canaries) {
    expect(texts.filter((text) => text.includes(canary))).toEqual([]);
    expect(texts.filter((text) => text.includes(hash("sha256", canary, "hex")))).toEqual([]);
  }
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

async function statusWith({ url }: Listening, token: string): Promise<number> {
  const headers = { Authorization: `Bearer ${token}` };
  return (await fetch(`${url}/api/v1/session`, { headers })).status;
}
