// A repeated request does its work once.

import { expect, onTestFinished, test } from "vitest";
import { createToken, HttpClient, perdureServer, serve } from "../../../../src/server/index.ts";
import { Repeats } from "../../../../src/server/http/repeats.ts";
import {
  codeOf,
  echo,
  openPerdure,
  openScene,
  untilWaiting,
  worker,
  type Scene,
} from "../support.ts";

function post(scene: Scene, path: string, body: unknown, key: string): Promise<Response> {
  const headers = { "Idempotency-Key": key };
  return scene.call("operator", "POST", path, { body, headers });
}

test("a repeated start returns the first instance, also over another server", async () => {
  const scene = await openScene();
  const body = { name: "worker", input: 1 };
  const first = await post(scene, "/instances", body, "k-1");
  const second = await post(scene, "/instances", body, "k-1");
  expect([first.status, second.status]).toEqual([201, 201]);
  const { id } = (await first.json()) as { id: string };
  expect(await second.json()).toEqual({ id });
  expect(second.headers.get("idempotency-replayed")).toBe("true");
  // Another process does not know the first answer; the store does.
  const other = await anotherServer(scene);
  const third = await other.start("worker", 1, { requestId: "k-1" });
  expect(third.id).toBe(id);
  expect(await scene.perdure.client.count()).toBe(1);
});

test("a repeated event is raised once, also over another server", async () => {
  const scene = await openScene();
  const { client } = scene.perdure;
  await client.start("unregistered", undefined, { id: "n" });
  for (let n = 0; n < 3; n++) {
    const raised = await post(scene, "/instances/n/events", { name: "e", data: 1 }, "k");
    expect(raised.status).toBe(204);
  }
  await (await anotherServer(scene)).raise("n", "e", 1, { requestId: "k" });
  expect((await client.get("n").unread()).items).toHaveLength(1);
});

test("a repeated restart restarts once, also over another server and after the next end", async () => {
  const scene = await openScene();
  const handle = await scene.perdure.client.start(echo, 1, { id: "e" });
  await handle.result();
  const other = await anotherServer(scene);
  expect((await post(scene, "/instances/e/restart", {}, "k")).status).toBe(204);
  await other.get("e").restart({ requestId: "k" });
  await handle.result();
  await other.get("e").restart({ requestId: "k" });
  expect((await handle.describe()).execution).toBe(2);
  expect((await post(scene, "/instances/e/restart", {}, "another")).status).toBe(204);
  await handle.result();
  expect((await handle.describe()).execution).toBe(3);
});

test("a repeated restart is recognised before the new execution has had its first turn", async () => {
  const { client, runtime } = await openPerdure();
  const handle = await client.start(echo, 1, { id: "e" });
  await handle.result();
  await runtime.shutdown({ graceMs: 0 });
  await handle.restart({ requestId: "k" });
  await handle.restart({ requestId: "k" });
  await expect(handle.restart()).rejects.toMatchObject({ code: "INSTANCE_RUNNING" });
  await expect(handle.restart({ requestId: "other" })).rejects.toMatchObject({
    code: "INSTANCE_RUNNING",
  });
  expect((await handle.describe()).execution).toBe(2);
});

test("a repeated fork returns the same instance, also over another server", async () => {
  const scene = await openScene();
  await scene.perdure.client.start(worker, 1, { id: "w" });
  await untilWaiting(scene.perdure, "w");
  const body = { beforeSequence: 3 };
  const ids = new Set<string>();
  for (let n = 0; n < 2; n++) {
    const response = await post(scene, "/instances/w/fork", body, "k");
    ids.add(((await response.json()) as { id: string }).id);
  }
  const fork = await (await anotherServer(scene)).fork("w", { ...body, requestId: "k" });
  ids.add(fork.id);
  expect(ids.size).toBe(1);
  expect(await scene.perdure.client.count()).toBe(2);
});

test("a repeated terminate or delete returns the first answer", async () => {
  const scene = await openScene();
  await scene.perdure.client.start(worker, 1, { id: "w" });
  for (let n = 0; n < 2; n++) {
    expect((await post(scene, "/instances/w/terminate", {}, "t")).status).toBe(204);
  }
  const without = await scene.call("operator", "POST", "/instances/w/terminate", { body: {} });
  expect([without.status, await codeOf(without)]).toEqual([409, "INSTANCE_FINISHED"]);
  for (let n = 0; n < 2; n++) {
    const headers = { "Idempotency-Key": "d" };
    const response = await scene.call("admin", "DELETE", "/instances/w", { headers });
    expect(await response.json()).toMatchObject({ instances: 1 });
  }
});

test("a key is bound to its caller, its route and its body", async () => {
  const scene = await openScene();
  await scene.perdure.client.start("unregistered", undefined, { id: "n" });
  await post(scene, "/instances/n/pause", { reason: "one" }, "k");
  const reused = await post(scene, "/instances/n/pause", { reason: "two" }, "k");
  expect([reused.status, await codeOf(reused)]).toEqual([422, "KEY_REUSED"]);
  expect(
    (await post(scene, "/instances/n/resume", {}, "k")).headers.has("idempotency-replayed"),
  ).toBe(false);
  const headers = { "Idempotency-Key": "k" };
  const admins = await scene.call("admin", "POST", "/instances/n/pause", {
    body: { reason: "one" },
    headers,
  });
  expect(admins.headers.has("idempotency-replayed")).toBe(false);
  for (const key of ["", "x".repeat(257)]) {
    const response = await post(scene, "/instances/n/resume", {}, key);
    expect([key.length, response.status]).toEqual([key.length, 400]);
  }
});

test("another server refuses a key that was used with a different body", async () => {
  const scene = await openScene();
  const other = await anotherServer(scene);
  await scene.perdure.client.start("unregistered", undefined, { id: "n" });
  await scene.perdure.client.start(worker, 1, { id: "w" });
  await untilWaiting(scene.perdure, "w");
  await post(scene, "/instances/n/events", { name: "e", data: 1 }, "k");
  const reused = { code: "KEY_REUSED" };
  await expect(other.raise("n", "e", 2, { requestId: "k" })).rejects.toMatchObject(reused);
  await post(scene, "/instances", { name: "worker", input: 1 }, "k");
  await expect(other.start("worker", 2, { requestId: "k" })).rejects.toMatchObject(reused);
  await post(scene, "/instances/later/events", { name: "e", data: 1, ifMissing: "keep" }, "k");
  const kept = { requestId: "k", ifMissing: "keep" } as const;
  await expect(other.raise("later", "e", 2, kept)).rejects.toMatchObject(reused);
  await post(scene, "/instances/w/fork", { beforeSequence: 3 }, "k");
  const fork = { beforeSequence: 4, requestId: "k" };
  await expect(other.fork("w", fork)).rejects.toMatchObject(reused);
  expect((await scene.perdure.client.get("n").unread()).items).toHaveLength(1);
});

test("two callers may use the same key: no event is lost, no instance is shared", async () => {
  const scene = await openScene();
  await scene.perdure.client.start("unregistered", undefined, { id: "n" });
  const headers = { "Idempotency-Key": "k" };
  const send = (role: "operator" | "admin", path: string, body: object): Promise<Response> =>
    scene.call(role, "POST", path, { body, headers });
  for (const role of ["operator", "admin"] as const) {
    expect((await send(role, "/instances/n/events", { name: "e", data: role })).status).toBe(204);
  }
  const { items } = await scene.perdure.client.get("n").unread();
  const data = items.map((unread) => unread.data);
  expect(data).toEqual(["operator", "admin"]);
  const ids = new Set<string>();
  for (const role of ["operator", "admin"] as const) {
    const started = await send(role, "/instances", { name: "unregistered" });
    ids.add(((await started.json()) as { id: string }).id);
  }
  expect(ids.size).toBe(2);
});

test("a path with different escapes is the same request", async () => {
  const scene = await openScene();
  await scene.perdure.client.start("unregistered", undefined, { id: "n" });
  await post(scene, "/instances/n/events", { name: "e" }, "k");
  await post(scene, "/instances/%6e/events", { name: "e" }, "k");
  expect((await scene.perdure.client.get("n").unread()).items).toHaveLength(1);
});

test("an answer is not repeated after its instance was deleted, even if the id was used again", async () => {
  const scene = await openScene();
  const { client } = scene.perdure;
  const start = { name: "unregistered", id: "n" };
  const event = { name: "e", data: 1 };
  await post(scene, "/instances", start, "s");
  await post(scene, "/instances/n/events", event, "e");
  await client.delete("n", { force: true });
  expect((await post(scene, "/instances/n/events", event, "e")).status).toBe(404);
  const again = await post(scene, "/instances", start, "s");
  expect([again.status, again.headers.has("idempotency-replayed")]).toEqual([201, false]);
  expect(await client.get("n").exists()).toBe(true);
  await post(scene, "/instances/n/events", event, "f");
  await client.delete("n", { force: true });
  const { now } = scene.perdure.provider;
  const before = now.call(scene.perdure.provider);
  while (now.call(scene.perdure.provider) === before) await new Promise(setImmediate);
  await client.start("unregistered", undefined, { id: "n" });
  expect((await post(scene, "/instances/n/events", event, "f")).status).toBe(204);
  expect((await client.get("n").unread()).items).toHaveLength(1);
});

test("a generated key is recognisable in the store, so that cleanup can remove it", async () => {
  const scene = await openScene();
  await scene.perdure.client.start("unregistered", undefined, { id: "n" });
  await scene.as("operator").raise("n", "e");
  const { key } = (await scene.perdure.provider.readInstance("n"))!;
  const [event] = (await scene.perdure.provider.readInbox(key)).slice(1);
  expect(event?.key).toMatch(/^perdure\.[0-9a-z]{9}-/);
});

test("a refusal is not stored: the same key may be used again", async () => {
  const scene = await openScene();
  expect((await post(scene, "/instances/n/pause", {}, "k")).status).toBe(404);
  await scene.perdure.client.start("unregistered", undefined, { id: "n" });
  expect((await post(scene, "/instances/n/pause", {}, "k")).status).toBe(204);
});

test("two simultaneous requests with one key do the work once", async () => {
  const repeats = new Repeats(() => 0);
  const { promise: held, resolve } = Promise.withResolvers<void>();
  let acts = 0;
  const request = { requestId: "k", requestDigest: "d" };
  const act = async () => {
    acts += 1;
    await held;
    return { status: 200, text: "done", headers: {}, at: 0 };
  };
  const holds = () => Promise.resolve(true);
  const both = [repeats.once(request, act, holds), repeats.once(request, act, holds)];
  resolve();
  const [first, second] = await Promise.all(both);
  expect([acts, first?.replayed, second?.replayed]).toEqual([1, false, true]);
  expect(second?.outcome).toEqual(first?.outcome);
});

test("outcomes are kept for an hour, and at most a thousand of them", async () => {
  let now = 0;
  const repeats = new Repeats(() => now);
  const once = async (key: string) => {
    const request = { requestId: key, requestDigest: "d" };
    const act = async () => ({ status: 200, text: "", headers: {}, at: 0 });
    return (await repeats.once(request, act, () => Promise.resolve(true))).replayed;
  };
  expect([await once("k"), await once("k")]).toEqual([false, true]);
  now += 3_600_000;
  expect(await once("k")).toBe(false);
  for (let n = 0; n < 1_000; n++) await once(`other-${n}`);
  expect(await once("k")).toBe(false);
});

test("the client repeats requests that failed on the way, and the work is done once", async () => {
  const { client } = await openPerdure();
  await using server = perdureServer(client, { log: () => undefined });
  let requests = 0;
  const keys = new Set<string | null>();
  const http = new HttpClient({
    url: "http://localhost/",
    token: server.token ?? "",
    fetch: async (request) => {
      requests += 1;
      keys.add(request.headers.get("idempotency-key"));
      const response = await server.fetch(request);
      if (requests === 1) throw new TypeError("the connection broke after the server had answered");
      return requests === 2 ? new Response(null, { status: 503 }) : response;
    },
  });
  const handle = await http.start("unregistered", 1);
  expect([requests, keys.size, await client.count()]).toEqual([3, 1, 1]);
  expect([...keys]).toEqual([expect.stringMatching(/^perdure\.[0-9a-z]{9}-[0-9a-f]{16}$/)]);
  expect(await handle.exists()).toBe(true);
  const dead = new HttpClient({
    url: "http://localhost/",
    retries: 1,
    fetch: () => Promise.reject(new TypeError("connection refused")),
  });
  await expect(dead.count()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
});

/** Another server on the same store, as in another process: it shares only the store. */
async function anotherServer({ perdure }: Scene): Promise<HttpClient> {
  const { token, entry } = createToken({ name: "otto", role: "operator" });
  const listening = await serve(perdure.client, { port: 0, tokens: [entry], log: () => undefined });
  onTestFinished(() => listening.close());
  return new HttpClient({ url: listening.url, token, retries: 0 });
}
