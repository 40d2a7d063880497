// More load than the server accepts (S26 to S29).

import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { orchestration } from "../../../src/index.ts";
import { perdureServer } from "../../../src/server/index.ts";
import { RateLimit } from "../../../src/server/security/rate-limit.ts";
import { rawBytes } from "./inputs/raw-request.ts";
import { codeOf, openPerdure, openScene, untilWaiting } from "./support.ts";

test("S26: a body over the limit is 413, with or without a length, before all of it has arrived", async () => {
  const { call, listening, tokens, perdure } = await openScene();
  const large = JSON.stringify({ name: "echo", input: "x".repeat(1_100_000) });
  const declared = await call("operator", "POST", "/instances", { body: large });
  expect([declared.status, await codeOf(declared)]).toEqual([413, "BODY_TOO_LARGE"]);

  let sent = 0;
  const chunk = new TextEncoder().encode("x".repeat(65_536));
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += chunk.byteLength;
      if (sent > 500_000_000) controller.close();
      else controller.enqueue(chunk);
    },
  });
  const answer = await fetch(`${listening.url}/api/v1/instances`, {
    method: "POST",
    headers: { Authorization: `Bearer ${tokens.operator}`, "Content-Type": "application/json" },
    body: endless,
    duplex: "half",
  } as RequestInit).then(
    ({ status }) => status,
    () => "cut off",
  );
  expect([413, "cut off"]).toContain(answer);
  expect(sent).toBeLessThan(32_000_000);
  expect(await perdure.client.count()).toBe(0);
});

test("S26: too much depth, too many members and invalid JSON are 400, and a body just within the limits is accepted", async () => {
  const { call } = await openScene();
  const start = (input: string) => `{"name":"echo","input":${input}}`;
  const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
  const bodies: [string, number][] = [
    [start(nested(63)), 201],
    [start(nested(64)), 400],
    [start("[".repeat(100_000)), 400],
    [start(`[${"1,".repeat(99_990)}1]`), 201],
    [start(`[${"1,".repeat(100_010)}1]`), 400],
    [start(`{${Array.from({ length: 60_000 }, (_, n) => `"k${n}":1`).join(",")}}`), 201],
    [start(`"${"[{,".repeat(10_000)}"`), 201],
    [start(`"\\"${"[".repeat(1_000)}"`), 201],
    ["{", 400],
    ["", 400],
    ["null", 400],
    ["[]", 400],
    ['{"name":"echo"}}', 400],
    ['{"name":1}', 400],
  ];
  for (const [body, expected] of bodies) {
    const { status } = await call("operator", "POST", "/instances", {
      body,
      headers: { "Content-Type": "application/json" },
    });
    expect([body.slice(0, 60), body.length, status]).toEqual([
      body.slice(0, 60),
      body.length,
      expected,
    ]);
  }
  const invalid = new Uint8Array([123, 34, 255, 34, 58, 49, 125]);
  const { listening, tokens } = await openScene();
  const bytes = await fetch(`${listening.url}/api/v1/instances`, {
    method: "POST",
    headers: { Authorization: `Bearer ${tokens.operator}`, "Content-Type": "application/json" },
    body: invalid,
  });
  expect(bytes.status).toBe(400);
});

test("S26: huge headers are 431", async () => {
  const { listening } = await openScene();
  const head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  const one = await rawBytes(listening.port, `${head}X-Big: ${"x".repeat(20_000)}\r\n\r\n`);
  expect(one).toMatch(/^HTTP\/1.1 431 /);
  const path = `GET /${"x".repeat(20_000)} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
  expect(await rawBytes(listening.port, path)).toMatch(/^HTTP\/1.1 431 /);
});

test("S27: a client that sends slowly or nothing is disconnected, and others are served meanwhile", async () => {
  const { listening, call } = await openScene({ timeouts: { headersMs: 300, requestMs: 600 } });
  const idle = Array.from({ length: 100 }, () => opened(listening.port, ""));
  const slow = Array.from({ length: 100 }, () =>
    opened(listening.port, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "),
  );
  const halfBody = opened(
    listening.port,
    "POST /api/v1/session HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{",
  );
  for (let request = 0; request < 20; request++) {
    expect((await call("viewer", "GET", "/session")).status).toBe(200);
  }
  await Promise.all([...idle, ...slow, halfBody].map(({ closed }) => closed));
  expect((await call("viewer", "GET", "/session")).status).toBe(200);
});

test("S27: with 200 slow sockets open, other requests are answered", async () => {
  const { listening, call } = await openScene({
    limits: { perSecond: 1_000_000, burst: 1_000_000 },
  });
  const head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
  const sockets = Array.from({ length: 200 }, () => opened(listening.port, head));
  await Promise.all(sockets.map(({ sent }) => sent));
  let closed = 0;
  for (const socket of sockets) void socket.closed.then(() => closed++);
  for (let request = 0; request < 60; request++) {
    expect((await call("viewer", "GET", "/session")).status).toBe(200);
  }
  expect(closed).toBe(0); // all of them were open until the last answer
});

/** A connection that sends this and then nothing; resolves when the server closes it. */
function opened(port: number, text: string): { closed: Promise<void>; sent: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  const sent = Promise.withResolvers<void>();
  const socket: Socket = connect(port, "127.0.0.1", () => {
    socket.write(text, () => sent.resolve());
  });
  socket.on("close", () => resolve());
  socket.on("error", () => undefined);
  socket.resume();
  onTestFinished(() => void socket.destroy());
  return { closed: promise, sent: sent.promise };
}

test("S28: a long history is paged, and its instance can still be cancelled", async () => {
  const busy = orchestration("busy", async (ctx) => {
    for (let n = 0; n < 3_000; n++) ctx.kv.set(`key-${n % 10}`, n);
    await ctx.waitFor("never");
  });
  const { as, perdure, call } = await openScene({}, [busy]);
  const handle = await as("operator").start(busy, undefined, { id: "b" });
  await untilWaiting(perdure, "b");
  const first = await handle.history();
  expect(first.events).toHaveLength(1_000);
  let [page, events] = [first, first.events.length];
  while (page.next !== undefined) {
    page = await handle.history({ after: page.next });
    events += page.events.length;
  }
  expect(events).toBe((await handle.stats()).events);
  expect((await call("viewer", "GET", "/instances/b/history?limit=1001")).status).toBe(400);
  expect((await call("viewer", "GET", "/instances?limit=1001")).status).toBe(400);
  await handle.cancel("enough");
  await expect(handle.result({ timeout: "10s" })).rejects.toMatchObject({ kind: "cancelled" });
});

test("S28: a page of large payloads ends early instead of growing without bound", async () => {
  const heavy = orchestration("heavy", async (ctx) => {
    for (let n = 0; n < 30; n++) ctx.setStatus("x".repeat(250_000));
    await ctx.waitFor("never");
  });
  const { as, perdure, call } = await openScene({}, [heavy]);
  const handle = await as("operator").start(heavy, undefined, { id: "h" });
  await untilWaiting(perdure, "h");
  const whole = await call("viewer", "GET", "/instances/h/history?payloadChars=1000000");
  const text = await whole.text();
  expect(text.length).toBeLessThan(4_100_000);
  expect((JSON.parse(text) as { next?: number }).next).toBeGreaterThan(10);
  const cut = await handle.history({ payloadChars: 100 });
  expect(cut.next).toBeUndefined();
  expect(JSON.stringify(cut).length).toBeLessThan(10_000);
});

test("S29: a caller over the rate limit gets 429 with Retry-After, and others are not affected", async () => {
  const { call, perdure } = await openScene({ limits: { perSecond: 1, burst: 5 } });
  const answers: Response[] = [];
  for (let n = 0; n < 8; n++) answers.push(await call("viewer", "GET", "/session"));
  expect(answers.slice(0, 5).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  const refused = answers.at(-1)!;
  expect([refused.status, await codeOf(refused)]).toEqual([429, "RATE_LIMITED"]);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect((await call("operator", "GET", "/session")).status).toBe(200);
  for (let n = 0; n < 8; n++) await call(null, "GET", "/session");
  expect((await call(null, "GET", "/session")).status).toBe(429);
  expect((await call("admin", "GET", "/session")).status).toBe(200);
  const handle = await perdure.client.start("echo", 1);
  expect(await handle.result()).toBe(1); // the limit does not apply to workers
});

test("S29: a bucket refills over time, and the least used bucket is evicted", () => {
  let now = 0;
  const limit = new RateLimit({ perSecond: 2, burst: 3 }, () => now);
  for (let n = 0; n < 3; n++) limit.take("a");
  expect(() => limit.take("a")).toThrow();
  now += 500;
  limit.take("a");
  expect(() => limit.take("a")).toThrow();
  now += 60_000;
  for (let n = 0; n < 3; n++) limit.take("a");
  expect(() => limit.take("a")).toThrow();
  for (let n = 0; n < 10_001; n++) limit.take(`other-${n}`);
  limit.take("a"); // it was evicted, so it is full again
});

test("requests in flight are bounded: one more gets 503", async () => {
  const { client } = await openPerdure();
  const { promise: held, resolve } = Promise.withResolvers<null>();
  await using server = perdureServer(client, {
    authenticate: () => held,
    limits: { requestsMax: 3 },
    log: () => undefined,
  });
  const waiting = Array.from({ length: 3 }, async () => server.request("/api/v1/session"));
  const fourth = await server.request("/api/v1/session");
  expect([fourth.status, await codeOf(fourth)]).toEqual([503, "OVERLOADED"]);
  resolve(null);
  for (const response of await Promise.all(waiting)) expect(response.status).toBe(401);
});

test("a store that does not answer leads to 504 after a timeout, and the answer says how to retry", async () => {
  const { client, provider } = await openPerdure();
  await using server = perdureServer(client, {
    authenticate: () => ({ name: "ada", role: "admin" }),
    limits: { answerMs: 50, sampleMs: 0 },
    log: () => undefined,
  });
  provider.countInstances = () => new Promise(() => undefined);
  const response = await server.request("/api/v1/count");
  expect(response.status).toBe(504);
  expect(await response.json()).toMatchObject({
    code: "TIMEOUT",
    detail: expect.stringContaining("same Idempotency-Key") as string,
  });
});

test("S26: a value that takes more than linear time to read is refused, with its path", async () => {
  const { call, as, perdure } = await openScene();
  const send = (input: unknown): Promise<Response> =>
    call("operator", "POST", "/instances", { body: { name: "echo", id: "e", input } });
  const numbers = Array.from({ length: 10_001 }, (_, index) => index);
  const slow = [
    { a: [["~i", "7".repeat(10_001)]] },
    ["~s", ...numbers],
    ["~m", ...numbers, ...numbers],
    [["~s", ...numbers.slice(5_000)], { a: ["~m", ...numbers, 0] }],
  ];
  for (const tree of slow) {
    const response = await send({ $perdure: tree });
    const { detail } = (await response.json()) as { detail: string };
    expect([response.status, detail]).toEqual([400, expect.stringContaining("input: ")]);
  }
  expect(await perdure.client.count()).toBe(0);
  const large = 7n ** 300_000n;
  const handle = await as("operator").start("echo", large);
  expect((await handle.result()) === large).toBe(true);
});
