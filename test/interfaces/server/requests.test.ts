// Requests over HTTP: answers, refusals, waits, repeated requests and typed values.

import { expect, onTestFinished, test } from "vitest";
import { orchestration, request, RequestError, value } from "../../../src/index.ts";
import { createToken, HttpClient, serve } from "../../../src/server/index.ts";
import { codeOf, openScene, type Scene } from "./support.ts";

const add = request<{ sku: string; at?: Date }, number>("add");
const echoed = request<unknown, unknown>("echoed");
const close = request<undefined, void>("close");
const total = value<number>("total");
const phase = value<{ open: boolean }>("phase", { as: "status" });
const owner = value("owner", { as: "attribute" });
const unset = value<number>("unset");

const cart = orchestration("cart", async (ctx, max: number) => {
  const skus: string[] = [];
  void ctx.serve(echoed, async (given) => given);
  void ctx.serve(request<undefined>("fail"), async () => {
    throw Object.assign(new TypeError("not that"), { code: "E7", when: new Date(0) });
  });
  ctx.set(phase, { open: true });
  ctx.setAttributes({ owner: "ada" });
  for await (const call of ctx.requests(add, close)) {
    if (call.is(close)) {
      call.answer(undefined);
      return skus.length;
    }
    if (!call.is(add)) continue;
    if (skus.length === max) {
      call.refuse("cart is full");
      continue;
    }
    skus.push(call.input.sku);
    ctx.set(total, skus.length);
    call.answer(skus.length);
  }
  return skus.length;
});

async function openCart(max = 2, options: Parameters<typeof openScene>[0] = {}): Promise<Scene> {
  const scene = await openScene(options, [cart]);
  await scene.perdure.client.start(cart, max, { id: "cart" });
  return scene;
}

function post(
  scene: Scene,
  name: string,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  return scene.call("operator", "POST", `/instances/cart/requests/${name}`, { body, headers });
}

test("a request is answered with 200 and the answer", async () => {
  const scene = await openCart();
  const response = await post(scene, "add", { input: { sku: "a" } });
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ answer: 1 });
  const closed = await post(scene, "close", {});
  expect(await closed.json()).toEqual({});
});

test("inputs and answers keep their types, also as plain texts of the API", async () => {
  const scene = await openCart();
  const handle = scene.as("operator").get("cart");
  const given = { when: new Date(7), tags: new Map([["a", 1n]]) };
  expect(await handle.ask(echoed, given)).toEqual(given);
  const body = { input: { $perdure: ["~d", 7] } };
  expect(await (await post(scene, "echoed", body)).json()).toEqual({
    answer: { $perdure: ["~d", 7] },
  });
});

test("a refusal is a problem with its kind and its failure", async () => {
  const scene = await openCart(0);
  const refused = await post(scene, "add", { input: { sku: "a" } });
  expect(refused.status).toBe(409);
  expect(await refused.json()).toMatchObject({
    type: "urn:perdure:problem:REQUEST_REFUSED",
    code: "REQUEST_REFUSED",
    detail: "cart is full",
    kind: "refused",
    failure: { message: "cart is full" },
  });
  const failed = await post(scene, "fail", {});
  expect(await failed.json()).toMatchObject({
    code: "REQUEST_REFUSED",
    detail: "not that",
    kind: "failed",
    failure: { name: "TypeError", message: "not that", code: "E7" },
  });
});

test("the HTTP client throws a RequestError with the cause", async () => {
  const { as } = await openCart(0);
  const handle = as("operator").get("cart");
  const refused = await handle.ask(add, { sku: "a" }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(RequestError);
  expect(refused).toMatchObject({
    code: "REQUEST_REFUSED",
    kind: "refused",
    instanceId: "cart",
    request: "add",
    message: "cart is full",
  });
  const failed = await handle.ask("fail").catch((error: unknown) => error);
  expect(failed).toMatchObject({ kind: "failed", cause: { code: "E7", when: new Date(0) } });
  expect((failed as RequestError).cause).toBeInstanceOf(TypeError);
});

test("a request without an answer in time says why, and is answered later under its id", async () => {
  const scene = await openCart();
  const { client } = scene.perdure;
  await client.get("cart").pause("stocktaking");
  const body = { input: { sku: "a" }, timeoutMs: 0, requestId: "r1" };
  const early = await post(scene, "add", body);
  expect(early.status).toBe(504);
  expect(await early.json()).toMatchObject({
    code: "TIMEOUT",
    reason: "it is paused: stocktaking",
  });
  const handle = scene.as("operator").get("cart");
  expect((await handle.unread()).items).toEqual([
    { name: "add", data: { sku: "a" }, requestId: "r1" },
  ]);
  await expect(
    handle.ask(add, { sku: "a" }, { timeout: 20, requestId: "r1" }),
  ).rejects.toMatchObject({
    code: "TIMEOUT",
    message: 'Instance "cart" did not answer request "add" within 20ms: it is paused: stocktaking.',
  });
  await client.get("cart").resume();
  expect(await handle.ask(add, { sku: "a" }, { requestId: "r1" })).toBe(1);
  expect(await (await post(scene, "add", body)).json()).toEqual({ answer: 1 });
  expect(await client.get("cart").ask(add, { sku: "a" }, { requestId: "r1" })).toBe(1);
  expect(await handle.read(total)).toBe(1);
});

test("a repeated request with an Idempotency-Key is sent once, also over another server", async () => {
  const scene = await openCart(9);
  const key = { "Idempotency-Key": "k" };
  for (const timeoutMs of [10_000, 20_000]) {
    const response = await post(scene, "add", { input: { sku: "a" }, timeoutMs }, key);
    expect(await response.json()).toEqual({ answer: 1 });
  }
  const { entry, token } = createToken({ name: "otto", role: "operator" });
  const other = await serve(scene.perdure.client, { port: 0, tokens: [entry], log: () => {} });
  onTestFinished(() => other.close());
  const repeated = await fetch(`${other.url}/api/v1/instances/cart/requests/add`, {
    method: "POST",
    headers: { ...key, Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    body: JSON.stringify({ input: { sku: "a" } }),
  });
  expect(await repeated.json()).toEqual({ answer: 1 });
  const reused = await post(scene, "add", { input: { sku: "b" } }, key);
  expect([reused.status, await codeOf(reused)]).toEqual([422, "KEY_REUSED"]);
  expect(await scene.perdure.client.get("cart").read(total)).toBe(1);
});

test("a missing answer is not stored for a repeated key", async () => {
  const scene = await openCart();
  const { client } = scene.perdure;
  await client.get("cart").pause();
  const key = { "Idempotency-Key": "k" };
  const body = { input: { sku: "a" }, timeoutMs: 0 };
  expect(await (await post(scene, "add", body, key)).json()).toMatchObject({
    code: "TIMEOUT",
  });
  await client.get("cart").resume();
  const later = { ...body, timeoutMs: 10_000 };
  expect(await (await post(scene, "add", later, key)).json()).toEqual({
    answer: 1,
  });
});

test("errors of the request have their codes", async () => {
  const scene = await openCart();
  const { perdure, call } = scene;
  const cases: [Promise<Response>, number, string][] = [
    [call("viewer", "POST", "/instances/cart/requests/add", { body: {} }), 403, "FORBIDDEN"],
    [
      call("operator", "POST", "/instances/x/requests/add", { body: {} }),
      404,
      "INSTANCE_NOT_FOUND",
    ],
    [post(scene, "add", { timeoutMs: 60_001 }), 400, "INVALID_ARGUMENT"],
    [post(scene, "add", { timeoutMs: -1 }), 400, "INVALID_ARGUMENT"],
    [post(scene, "add", { requestId: "" }), 400, "INVALID_ARGUMENT"],
    [post(scene, "add", { data: 1 }), 400, "INVALID_ARGUMENT"],
  ];
  for (const [response, status, code] of cases) {
    expect([(await response).status, await codeOf(await response)]).toEqual([status, code]);
  }
  await perdure.client.get("cart").ask(close);
  await perdure.client.get("cart").result();
  const ended = await post(scene, "add", { input: { sku: "a" } });
  expect([ended.status, await codeOf(ended)]).toEqual([409, "INSTANCE_FINISHED"]);
  const handle = scene.as("operator").get("cart");
  await expect(handle.ask(add, { sku: "a" })).rejects.toMatchObject({ code: "INSTANCE_FINISHED" });
  await expect(handle.ask(add, { sku: "a" }, { timeout: "soon" as "1s" })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});

test("waiting requests take stream slots, and a caller that disconnects ends its wait", async () => {
  const scene = await openCart(9, { limits: { streamsPerCallerMax: 1 } });
  await scene.perdure.client.get("cart").pause();
  const leaving = new AbortController();
  const handle = scene.as("operator").get("cart");
  const first = handle.ask(add, { sku: "a" }, { signal: leaving.signal });
  const gone = expect(first).rejects.toThrow("aborted");
  const stats = (): Promise<number> =>
    scene.perdure.client
      .get("cart")
      .stats()
      .then(({ unread }) => unread);
  await expect.poll(stats).toBe(1);
  const second = await post(scene, "add", { input: { sku: "b" } });
  expect([second.status, await codeOf(second)]).toEqual([429, "STREAMS_EXHAUSTED"]);
  leaving.abort();
  await gone;
  // The entry in the audit comes after the end of the wait.
  const ended = (): readonly unknown[] => scene.audit.map(({ code }) => code);
  await expect.poll(ended, { timeout: 10_000 }).toContain("SHUTTING_DOWN");
  const third = (): Promise<number> =>
    post(scene, "add", { input: { sku: "a" }, timeoutMs: 1 }).then(({ status }) => status);
  await expect.poll(third).toBe(504); // it waited, in a free slot
});

test("the audit records requests without their payloads", async () => {
  const scene = await openCart(0);
  await post(scene, "add", { input: { sku: "secret" }, requestId: "r" });
  await post(scene, "echoed", { input: "secret" }, { "Idempotency-Key": "k" });
  expect(scene.audit).toMatchObject([
    {
      actor: "otto",
      operation: "askInstance",
      instance: "cart",
      status: 409,
      code: "REQUEST_REFUSED",
    },
    { actor: "otto", operation: "askInstance", instance: "cart", status: 200, requestId: "k" },
  ]);
  expect(JSON.stringify(scene.audit)).not.toContain("secret");
});

test("typed values are read over HTTP", async () => {
  const { as, perdure } = await openCart();
  await perdure.client.get("cart").ask(add, { sku: "a" });
  const handle = as("viewer").get("cart");
  expect(await handle.read(total)).toBe(1);
  expect(await handle.read(phase)).toEqual({ open: true });
  expect(await handle.read(owner)).toBe("ada");
  expect(await handle.read(unset)).toBeUndefined();
  await expect(as("viewer").get("x").read(total)).rejects.toMatchObject({
    code: "INSTANCE_NOT_FOUND",
  });
});

test("history and timeline show requests", async () => {
  const { as, perdure } = await openCart();
  await perdure.client.get("cart").ask(add, { sku: "a" }, { requestId: "r1" });
  const { events } = await as("viewer").get("cart").history();
  const received = events.find(({ kind }) => kind === "RequestReceived");
  expect(received).toMatchObject({ name: "add", id: "r1", input: { sku: "a" } });
  expect(events.filter(({ kind }) => kind === "RequestsServed").map(({ names }) => names)).toEqual([
    ["echoed"],
    ["fail"],
    ["add", "close"],
  ]);
  const answered = events.find(({ kind }) => kind === "RequestAnswered");
  expect(answered).toMatchObject({ received: received?.sequence, output: 1 });
  const { spans, marks } = await as("viewer").get("cart").timeline();
  expect(spans).toMatchObject([
    { kind: "requests", name: "echoed", outcome: "open" },
    { kind: "requests", name: "fail" },
    { kind: "requests", name: "add, close" },
  ]);
  const named = marks.filter(({ kind }) => kind.startsWith("Request"));
  expect(named.map(({ kind, name }) => [kind, name])).toEqual([
    ["RequestReceived", "add"],
    ["RequestAnswered", "add"],
  ]);
});

test("a read-only server refuses requests", async () => {
  const scene = await openScene({ readOnly: true });
  const response = await post(scene, "add", {});
  expect([response.status, await codeOf(response)]).toEqual([403, "READ_ONLY"]);
});

test("an HTTP client polls a long wait under one request id", async () => {
  const scene = await openCart();
  const bodies: { requestId: string; timeoutMs: number }[] = [];
  let calls = 0;
  const client = new HttpClient({
    url: scene.listening.url,
    token: scene.tokens.operator,
    fetch: async (sent) => {
      bodies.push((await sent.clone().json()) as (typeof bodies)[number]);
      if (++calls > 1) return fetch(sent);
      const problem = { type: "urn:perdure:problem:TIMEOUT", title: "", status: 504 };
      const headers = { "content-type": "application/problem+json" };
      return Response.json({ ...problem, code: "TIMEOUT", detail: "" }, { status: 504, headers });
    },
  });
  expect(await client.get("cart").ask(add, { sku: "a" }, { timeout: "2m" })).toBe(1);
  expect(bodies.map(({ timeoutMs }) => timeoutMs)).toEqual([30_000, 30_000]);
  expect(bodies[0]?.requestId).toBe(bodies[1]?.requestId);
});
