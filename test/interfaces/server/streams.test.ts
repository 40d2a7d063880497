// Streams: what they send, and that nothing stays behind when a client disconnects.

import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Client, type Provider } from "../../../src/index.ts";
import { createToken, HttpClient, serve, type TokenEntry } from "../../../src/server/index.ts";
import { eventStream } from "../../../src/server/http/event-stream.ts";
import { readEvents } from "../../../src/server/client/event-reader.ts";
import { Slots } from "../../../src/server/security/concurrency-slots.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { codeOf, openScene, temporaryFolder, untilWaiting, worker } from "./support.ts";

test("the states of an instance arrive as they change, always including the last one, then the stream ends", async () => {
  const { as } = await openScene({ limits: { paceMs: 0 } });
  const handle = await as("operator").start(worker, 2, { id: "w" });
  const statuses: string[] = [];
  for await (const info of handle.watch()) {
    statuses.push(info.status);
    if (info.waitingFor.some(({ kind }) => kind === "event")) await handle.raise("go", "on");
  }
  expect(statuses.at(-1)).toBe("completed");
  expect(statuses).toContain("running");
});

test("a stream begins with the current state, whatever Last-Event-ID says", async () => {
  const { as, perdure, call } = await openScene();
  await as("operator").start(worker, 2, { id: "w" });
  await untilWaiting(perdure, "w");
  for (const id of ["1", "999", "-1", "garbage ✓".slice(0, 7), "x".repeat(1_000)]) {
    const leaving = new AbortController();
    const response = await call("viewer", "GET", "/instances/w/watch", {
      headers: { "Last-Event-ID": id },
      signal: leaving.signal,
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const { value } = await readEvents(response.body!).next();
    expect(value).toMatchObject({ event: "state" });
    expect(JSON.parse(value?.data ?? "")).toMatchObject({ id: "w", status: "running" });
    leaving.abort();
  }
});

test("watching an instance that does not exist is refused before a stream begins", async () => {
  const { call } = await openScene();
  const response = await call("viewer", "GET", "/instances/none/watch");
  expect([response.status, await codeOf(response)]).toEqual([404, "INSTANCE_NOT_FOUND"]);
});

test("a stream of a deleted instance reports the deletion and ends", async () => {
  const { as, perdure } = await openScene();
  const handle = await as("operator").start(worker, 2, { id: "w" });
  await untilWaiting(perdure, "w");
  const seen = handle.watch();
  await seen.next();
  await perdure.client.delete("w", { force: true });
  await expect(seen.next()).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
});

test("a silent stream sends heartbeats", async () => {
  const { as, perdure, call } = await openScene({ limits: { heartbeatMs: 5 } });
  await as("operator").start(worker, 2, { id: "w" });
  await untilWaiting(perdure, "w");
  const response = await call("viewer", "GET", "/instances/w/watch");
  const reader = response.body!.getReader();
  let text = "";
  while (text.split(": beat\n\n").length < 4) {
    text += new TextDecoder().decode((await reader.read()).value);
  }
  expect(text).toContain("retry: 2000\n\n");
  await reader.cancel();
});

test("changes to any instance are reported by id", async () => {
  const { as } = await openScene();
  const client = as("operator");
  const leaving = new AbortController();
  const changes = client.changes({ signal: leaving.signal });
  const first = changes.next();
  await client.start(worker, 1, { id: "w" });
  const ids = new Set((await first).value?.ids);
  while (!ids.has("w")) for (const id of (await changes.next()).value?.ids ?? []) ids.add(id);
  leaving.abort();
});

/** A client on a store without a worker: only the end of a watcher's own connection can wake it. */
async function silentStore(): Promise<{
  client: Client;
  listeners: () => number;
  none: Promise<void>;
}> {
  const provider: Provider = await SqliteProvider.open(join(temporaryFolder(), "store.db"));
  onTestFinished(() => provider.close());
  let listeners = 0;
  const { promise: none, resolve } = Promise.withResolvers<void>();
  const subscribe = provider.subscribe.bind(provider);
  provider.subscribe = (listener) => {
    listeners += 1;
    const unsubscribe = subscribe(listener);
    return () => {
      unsubscribe();
      listeners -= 1;
      if (listeners === 0) resolve();
    };
  };
  return { client: new Client(provider), listeners: () => listeners, none };
}

test("a client that disconnects leaves no watcher behind: streams, long waits and changes", async () => {
  const { client, listeners, none } = await silentStore();
  await client.start("unregistered", undefined, { id: "n" });
  const listening = await serve(client, { port: 0, limits: { sampleMs: 0 } });
  onTestFinished(() => listening.close());
  const leaving = new AbortController();
  const headers = { Authorization: `Bearer ${listening.token}` };
  const open = (path: string): Promise<Response> =>
    fetch(`${listening.url}/api/v1${path}`, { headers, signal: leaving.signal });
  const streams = await Promise.all([
    open("/instances/n/watch"),
    open("/instances/n/watch"),
    open("/changes"),
  ]);
  for (const { body } of streams.slice(0, 2)) await readEvents(body!).next();
  const waits = [open("/instances/n/result?timeout=60s"), open("/instances/n/kv/k?timeout=60s")];
  while (listening.server.streams < 5) await new Promise(setImmediate);
  expect(listeners()).toBe(2); // one for all watchers of instances, one for the changes
  leaving.abort();
  await Promise.allSettled(waits);
  await none;
  while (listening.server.streams > 0) await new Promise(setImmediate);
  expect(listeners()).toBe(0);
});

test("a HEAD request for a stream opens no stream", async () => {
  const { call, perdure, listening } = await openScene();
  await perdure.client.start("unregistered", undefined, { id: "n" });
  for (const path of ["/changes", "/instances/n/watch"]) {
    const response = await call("viewer", "HEAD", path);
    expect([response.status, response.headers.get("content-type")]).toEqual([
      200,
      "text/event-stream",
    ]);
  }
  expect(listening.server.streams).toBe(0);
});

test("closing the server ends its streams", async () => {
  const { client, none } = await silentStore();
  await client.start("unregistered", undefined, { id: "n" });
  const listening = await serve(client, { port: 0, limits: { sampleMs: 0 } });
  const handle = new HttpClient({ url: listening.url, token: listening.token ?? "", retries: 0 });
  const seen = handle.get("n").watch();
  await seen.next();
  // The client tries to reconnect, and finds no server.
  const ended = expect(seen.next()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
  const waiting = expect(handle.get("n").result({ timeout: "1m" })).rejects.toBeDefined();
  while (listening.server.streams < 2) await new Promise(setImmediate);
  await listening.close();
  await none;
  await ended;
  await waiting;
});

test("streams are bounded, in total and per caller; a freed slot is used again", async () => {
  const { as, call } = await openScene({ limits: { streamsMax: 3, streamsPerCallerMax: 2 } });
  await as("operator").start(worker, 1, { id: "w" });
  const leaving = new AbortController();
  const watch = (role: "viewer" | "operator" | "admin", signal?: AbortSignal) =>
    call(role, "GET", "/instances/w/watch", signal === undefined ? {} : { signal });
  const first = await watch("viewer", leaving.signal);
  await watch("viewer", leaving.signal);
  const third = await watch("viewer");
  expect([third.status, await codeOf(third)]).toEqual([429, "STREAMS_EXHAUSTED"]);
  expect(third.headers.get("retry-after")).toBe("1");
  expect((await watch("operator", leaving.signal)).status).toBe(200);
  expect((await watch("admin")).status).toBe(429);
  const wait = await call("admin", "GET", "/instances/w/result?timeout=1s");
  expect(wait.status).toBe(429);
  expect((await call("admin", "GET", "/instances/w/result")).status).toBe(200);
  leaving.abort();
  await first.body?.cancel().catch(() => undefined);
  for (;;) {
    const again = await watch("admin");
    await again.body?.cancel();
    if (again.status === 200) break;
    expect(again.status).toBe(429); // the server has not noticed yet that the clients disconnected
  }
});

test("S7: a revoked token ends its streams", async () => {
  const one = createToken({ name: "one", role: "viewer" });
  const entries: TokenEntry[] = [one.entry];
  const { perdure, listening } = await openScene({
    tokens: () => entries,
    limits: { heartbeatMs: 50 },
  });
  await perdure.client.start(worker, 1, { id: "w" });
  await untilWaiting(perdure, "w");
  const response = await fetch(`${listening.url}/api/v1/instances/w/watch`, {
    headers: { Authorization: `Bearer ${one.token}` },
  });
  entries.length = 0;
  for await (const { event } of readEvents(response.body!)) expect(event).toBe("state");
});

test("S7: a revoked token ends a stream with continuous events, and a long wait", async () => {
  const one = createToken({ name: "one", role: "viewer" });
  const entries: TokenEntry[] = [one.entry];
  const { perdure, listening } = await openScene({
    tokens: () => entries,
    limits: { heartbeatMs: 200, paceMs: 0 },
  });
  await perdure.client.start(worker, 1, { id: "w" });
  await untilWaiting(perdure, "w");
  const open = (path: string): Promise<Response> =>
    fetch(`${listening.url}/api/v1${path}`, { headers: { Authorization: `Bearer ${one.token}` } });
  const changes = await open("/changes");
  const wait = open("/instances/w/result?timeout=60s");
  while (listening.server.streams < 2) await new Promise(setImmediate);
  entries.length = 0;
  let isOpen = true;
  const busy = (async () => {
    for (let n = 0; isOpen; n++) await perdure.client.start("unregistered", n, { id: `n-${n}` });
  })();
  for await (const { event } of readEvents(changes.body!)) expect(event).toBe("change");
  isOpen = false;
  await busy;
  const answer = await wait;
  expect([answer.status, await codeOf(answer)]).toEqual([401, "UNAUTHENTICATED"]);
  expect(listening.server.streams).toBe(0);
});

test("a slow reader makes the source wait", async () => {
  const slots = new Slots({ requestsMax: 1, streamsMax: 1, streamsPerCallerMax: 1 });
  const slot = slots.stream("a caller", new AbortController().signal);
  let made = 0;
  let ended = false;
  async function* numbers() {
    try {
      for (;;) yield { event: "number", data: (made += 1) };
    } finally {
      ended = true;
    }
  }
  const stream = eventStream({
    slot,
    source: numbers(),
    heartbeatMs: 60_000,
  });
  const reader = stream.getReader();
  for (let read = 0; read < 5; read++) await reader.read();
  for (let round = 0; round < 10; round++) await new Promise(setImmediate);
  expect(made).toBeLessThanOrEqual(6);
  await reader.cancel();
  for (let round = 0; round < 3; round++) await new Promise(setImmediate);
  expect([ended, slots.streams]).toEqual([true, 0]);
});
