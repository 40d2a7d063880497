// Callbacks in the server, in Express, and through the HTTP client.

import { createServer } from "node:http";
import express from "express";
import { expect, onTestFinished, test } from "vitest";
import { callbacks, github, webhook } from "../../../src/callback/index.ts";
import { NonRetryableError } from "../../../src/index.ts";
import {
  createToken,
  HttpClient,
  nodeListener,
  serve,
  type AuditEntry,
  type ListenOptions,
  type Listening,
} from "../../../src/server/index.ts";
import { rawRequest } from "../server/inputs/raw-request.ts";
import { addressOf, attemptAddress, register, rendering } from "./programs.ts";
import { listen, openScene, type Scene } from "./support.ts";

async function serving(
  { perdure }: Scene,
  options: ListenOptions = {},
): Promise<Listening & { readonly http: HttpClient; readonly audit: AuditEntry[] }> {
  const { token, entry } = createToken({ name: "otto", role: "operator" });
  const audit: AuditEntry[] = [];
  const listening = await serve(perdure.client, {
    port: 0,
    tokens: [entry],
    ui: false,
    audit: (line) => void audit.push(line),
    log: () => undefined,
    ...options,
  });
  onTestFinished(() => listening.close());
  return { ...listening, http: new HttpClient({ url: listening.url, token, retries: 0 }), audit };
}
const pathOf = (url: string) => url.slice(url.lastIndexOf("/"));
const tokenOf = (url: string) => pathOf(url).slice(1);

test("the server receives callbacks at /callbacks without credentials, for every host name", async () => {
  const scene = await openScene({ register });
  const { port, audit } = await serving(scene);
  const path = pathOf(await addressOf(scene, "waits", "w"));
  const answer = await rawRequest({
    port,
    method: "POST",
    path: `/callbacks${path}`,
    headers: { Host: "hooks.example.com", "Content-Type": "application/json" },
    body: '{"a":1}',
  });
  expect([answer.status, answer.text]).toEqual([200, '{"status":"completed"}']);
  expect(await scene.perdure.client.get("w").result()).toEqual({ value: { a: 1 } });
  const missing = await rawRequest({ port, method: "POST", path: "/callbacks/v1.x.y" });
  expect(missing.status).toBe(404);
  expect(audit).toEqual([]);
});

test("the server passes options on, and receives nothing if it is read-only or told so", async () => {
  const scene = await openScene({ register });
  const onPush = webhook("github", { verify: github("s"), start: "waits", id: () => "x" });
  const { url } = await serving(scene, { callbacks: { webhooks: [onPush] } });
  const unsigned = await fetch(`${url}/callbacks/webhook/github`, { method: "POST" });
  expect(unsigned.status).toBe(401);
  const path = pathOf(await addressOf(scene, "waits", "w"));
  for (const options of [{ readOnly: true }, { callbacks: false }] as const) {
    const closed = await serving(scene, options);
    const response = await fetch(`${closed.url}/callbacks${path}`, { method: "POST" });
    expect(response.status).toBe(404);
  }
  expect((await scene.perdure.client.get("w").describe()).status).toBe("running");
});

test("the HTTP client completes with a typed value and headers, and gets the library's errors", async () => {
  const scene = await openScene({ register });
  const { http, audit } = await serving(scene);
  const token = tokenOf(await addressOf(scene, "waits", "w"));
  const headers = { "x-from": "test" };
  expect(await http.complete(token, new Date(0), { headers })).toBe("completed");
  expect(await scene.perdure.client.get("w").result()).toEqual({ value: new Date(0), headers });
  expect(await http.complete(token, "again")).toBe("completed");
  await expect(http.complete("v1.x.y", 1)).rejects.toMatchObject({ code: "TOKEN_INVALID" });
  const digits = tokenOf(await addressOf(scene, "checked", "c"));
  await expect(http.complete(digits, "x")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  const gone = tokenOf(await addressOf(scene, "waits", "gone"));
  await scene.perdure.client.delete("gone", { force: true });
  await expect(http.complete(gone, 1)).rejects.toMatchObject({ code: "CALLBACK_CLOSED" });
  expect(audit.map(({ instance, status }) => [instance, status])).toEqual([
    ["w", 200],
    ["w", 200],
    [undefined, 404],
    ["c", 400],
    ["gone", 410],
  ]);
  expect(JSON.stringify(audit)).not.toContain(token);
});

test("the HTTP client reports heartbeats and failures of an activity that completes later", async () => {
  const scene = await openScene({ register });
  const { http } = await serving(scene);
  await scene.perdure.client.start(rendering, "alien", { id: "mounted" });
  const token = tokenOf(await attemptAddress("mounted", 1));
  await http.heartbeat(token);
  await http.fail(token, new NonRetryableError("no such film"));
  await expect(scene.perdure.client.get("mounted").result()).rejects.toThrow("no such film");
});

test("Express mounts callbacks in front of its parsers, and signatures of webhooks stay valid", async () => {
  const scene = await openScene({ register });
  const app = express();
  const onPush = webhook("github", {
    verify: github("It's a Secret to Everybody"),
    start: "waits",
    id: () => "push",
  });
  app.use("/cb", nodeListener(callbacks(scene.perdure.client, { webhooks: [onPush] })));
  app.use(express.json());
  const origin = `http://127.0.0.1:${await listen(createServer(app))}`;
  const path = pathOf(await addressOf(scene, "waits", "w"));
  const completed = await fetch(`${origin}/cb${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: "[1]",
  });
  expect(completed.status).toBe(200);
  expect(await scene.perdure.client.get("w").result()).toEqual({ value: [1] });
  const started = await fetch(`${origin}/cb/webhook/github`, {
    method: "POST",
    headers: {
      "X-Hub-Signature-256":
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
    },
    body: "Hello, World!",
  });
  expect(started.status).toBe(200);
});
