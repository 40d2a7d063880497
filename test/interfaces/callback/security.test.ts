// What callbacks are protected against (S37 to S44).

import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { webhook } from "../../../src/callback/index.ts";
import { rawBytes } from "../server/inputs/raw-request.ts";
import { addressOf, register } from "./programs.ts";
import { MOUNT, openScene, OTHER_SECRET, outcomeOf, SECRET, type Scene } from "./support.ts";

const UNLIMITED = { addressPerSecond: 1_000_000, tokenPerSecond: 1_000_000 };
const open = (options: Parameters<typeof openScene>[0] = {}) =>
  openScene({ register, ...options, callbacks: { limits: UNLIMITED, ...options.callbacks } });

/** Everything of an answer that a sender can see, except for the time. */
async function seen(response: Response): Promise<unknown> {
  const headers = [...response.headers].filter(([name]) => name !== "date");
  return { status: response.status, headers, text: await response.text() };
}

test("S37: every forged or malformed token gets the same 404 on every path, whatever else the request has", async () => {
  const scene = await open();
  const url = await addressOf(scene, "waits", "w");
  const token = url.slice(url.lastIndexOf("/") + 1);
  const expected = await seen(await scene.post("/v1.x.y", 1));
  expect(expected).toMatchObject({ status: 404 });
  const forged = [...malformed(token), ...mutated(token, 400)];
  expect(forged).not.toContain(token);
  for (const [index, text] of forged.entries()) {
    const path = `/${encodeURIComponent(text)}`;
    const requests: readonly (readonly [string, RequestInit])[] = [
      [path, { method: "POST", body: "{" }],
      [`${path}/fail`, { method: "POST" }],
      [`${path}/heartbeat`, { method: "POST" }],
      [path, {}],
    ];
    // All paths for the first ones, then one of them each.
    const chosen = index < 40 ? requests : requests.slice(index % 4, (index % 4) + 1);
    for (const [address, init] of chosen) {
      expect([text, await seen(await scene.send(address, init))]).toEqual([text, expected]);
    }
  }
  for (const [path, method] of [
    ["", "POST"],
    ["/", "GET"],
    [`/${token}/other`, "POST"],
    [`/${token}`, "PUT"],
    [`/${token}`, "DELETE"],
    ["/webhook/unknown", "POST"],
    ["/webhook/__proto__", "POST"],
  ] as const) {
    expect([path, await seen(await scene.send(path, { method }))]).toEqual([path, expected]);
  }
  expect((await scene.perdure.client.get("w").describe()).status).toBe("running");
  expect((await scene.post(url, 1)).status).toBe(200);
});

/** Texts that never were a token. */
function malformed(token: string): readonly string[] {
  const [version = "", payload = "", signature = ""] = token.split(".");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as unknown[];
  const encode = (value: unknown): string =>
    Buffer.from(JSON.stringify(value)).toString("base64url");
  const withClaim = (index: number, value: unknown): string =>
    `${version}.${encode(claims.with(index, value))}.${signature}`;
  return [
    "x",
    "v1..",
    `${version}.${payload}.`,
    `${version}.${payload}`,
    `${version}..${signature}`,
    `v2.${payload}.${signature}`,
    `V1.${payload}.${signature}`,
    `${token}.`,
    `${token}=`,
    ` ${token}`,
    `${token}\n`,
    `${token}${"A".repeat(3_000)}`,
    `${version}.${payload}=.${signature}`,
    `${version}.${payload}.${signature.toUpperCase()}`,
    ...claims.map((claim, index) =>
      withClaim(index, typeof claim === "number" ? claim + 1 : `${String(claim)}x`),
    ),
    `${version}.${encode(claims.slice(1))}.${signature}`,
    `${version}.${encode(null)}.${signature}`,
    "__proto__",
    "../../etc/passwd",
    "%00",
    "💥",
  ];
}

/** The token with one character changed, removed or added, at every part of it. */
function mutated(token: string, count: number): readonly string[] {
  const letters = "ABCabc019-_.~";
  return Array.from({ length: count }, (_none, index) => {
    const at = (index * 7_919) % token.length;
    const letter = letters[index % letters.length] ?? "A";
    const changes = [
      token.slice(0, at) + (token[at] === letter ? "z" : letter) + token.slice(at + 1),
      token.slice(0, at) + token.slice(at + 1),
      token.slice(0, at) + letter + token.slice(at),
    ];
    return changes[index % 3] ?? "";
  });
}

test("S40: a token of another store gets the same 404, although the secret is the same", async () => {
  const [one, other] = [await open(), await open()];
  const url = await addressOf(one, "waits", "w");
  await addressOf(other, "waits", "w");
  const path = url.slice(url.lastIndexOf("/"));
  const expected = await seen(await other.post("/v1.x.y", 1));
  for (const [address, init] of [
    [path, { method: "POST", body: "{", headers: { "Content-Type": "application/json" } }],
    [path, { method: "POST", body: "x".repeat(2_000_000) }],
    [`${path}/fail`, { method: "POST" }],
    [path, {}],
  ] as const) {
    expect(await seen(await other.send(address, init))).toEqual(expected);
  }
  expect((await one.post(url, 1)).status).toBe(200);
});

test("S41: a body over the limit is 413, with or without a length, before all of it has arrived", async () => {
  const scene = await open();
  const url = await addressOf(scene, "waits", "w");
  const declared = await scene.send(url, { method: "POST", body: "x".repeat(1_048_577) });
  expect(await outcomeOf(declared)).toEqual([413, "BODY_TOO_LARGE"]);
  let sent = 0;
  const chunk = new Uint8Array(65_536);
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += chunk.byteLength;
      if (sent > 500_000_000) controller.close();
      else controller.enqueue(chunk);
    },
  });
  const init = { method: "POST", body: endless, duplex: "half" } as RequestInit;
  const answer = await scene.send(url, init).then(
    ({ status }) => status,
    () => "cut off",
  );
  expect([413, "cut off"]).toContain(answer);
  expect(sent).toBeLessThan(32_000_000);
  expect((await scene.post(url, "x".repeat(1_000_000))).status).toBe(200);
});

test("S41: a value over the store's limit is 413, too much depth is 400, and the wait goes on", async () => {
  const scene = await open({
    runtime: { limits: { payloadBytesMax: 1_000 } },
    callbacks: { limits: { ...UNLIMITED, jsonMembersMax: 100 } },
  });
  const url = await addressOf(scene, "waits", "w");
  expect((await scene.post(url, "x".repeat(2_000))).status).toBe(413);
  const deep = "[".repeat(65) + "]".repeat(65);
  const json = { "Content-Type": "application/json" };
  for (const body of [deep, `[${"1,".repeat(101)}1]`, "{", "\u0000"]) {
    const response = await scene.send(url, { method: "POST", headers: json, body });
    expect(await outcomeOf(response)).toEqual([400, "BODY_INVALID"]);
  }
  expect((await scene.post(url, 1)).status).toBe(200);
});

test("S42: a body that arrives slowly is 408, also for a webhook, and other calls are served meanwhile", async () => {
  const slow = webhook("slow", { verify: () => true, start: "waits", id: () => "never" });
  const scene = await open({
    callbacks: { limits: { ...UNLIMITED, bodyMs: 300 }, webhooks: [slow] },
  });
  const url = new URL(await addressOf(scene, "waits", "w"));
  const stalled = (path: string) =>
    rawBytes(scene.port, `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{`);
  const answers = Promise.all([
    stalled(url.pathname),
    stalled(`${MOUNT}/webhook/slow`),
    ...Array.from({ length: 50 }, () => stalled(url.pathname)),
  ]);
  const other = await addressOf(scene, "waits", "other");
  expect((await scene.post(other, 1)).status).toBe(200);
  for (const answer of await answers) {
    expect(answer).toMatch(/^HTTP\/1.1 408 /);
    expect(answer.toLowerCase()).toContain("connection: close");
  }
  expect(await scene.perdure.client.count()).toBe(2);
  expect((await scene.post(url.href, 1)).status).toBe(200);
});

test("S42: the body of a call without a valid token is not awaited", async () => {
  const scene = await open({ callbacks: { limits: { ...UNLIMITED, bodyMs: 3_600_000 } } });
  const head = `POST ${MOUNT}/v1.x.y HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{`;
  const { promise, resolve } = Promise.withResolvers<string>();
  const socket = connect(scene.port, "127.0.0.1", () => socket.write(head));
  socket.setEncoding("utf8").once("data", (text) => resolve(String(text)));
  onTestFinished(() => void socket.destroy());
  expect(await promise).toMatch(/^HTTP\/1.1 404 /);
});

test("S42: more concurrent requests than the limit get 503, and none of them is lost", async () => {
  const scene = await open({
    callbacks: { limits: { ...UNLIMITED, requestsMax: 1, bodyMs: 400 } },
  });
  const url = new URL(await addressOf(scene, "waits", "w"));
  const head = `POST ${url.pathname} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{`;
  const stalled = rawBytes(scene.port, head);
  await expect.poll(async () => (await scene.post(url.href, 1)).status).toBe(503);
  expect(await stalled).toMatch(/^HTTP\/1.1 408 /);
  expect((await scene.post(url.href, 1)).status).toBe(200);
});

test("S43: a rotated secret signs, the previous one is still accepted, and a removed one is 404", async () => {
  const old = await open({ secrets: [SECRET] });
  const issued = await addressOf(old, "waits", "a");
  const { provider } = old;
  const path = issued.slice(issued.lastIndexOf("/"));
  const removed = await open({ provider, register: [], secrets: [OTHER_SECRET] });
  expect((await removed.post(path, 1)).status).toBe(404);
  expect((await removed.send(path)).status).toBe(404);
  const rotated = await open({ provider, register: [], secrets: [OTHER_SECRET, SECRET] });
  expect((await rotated.post(path, 1)).status).toBe(200);
  expect(await old.perdure.client.get("a").result()).toEqual({ value: 1 });
});

test("a token and an address over their rate get 429 with Retry-After, another token does not", async () => {
  const flood = async (scene: Scene, address: string): Promise<Response[]> =>
    Promise.all(Array.from({ length: 30 }, () => scene.send(address)));
  const perToken = await open({ callbacks: { limits: { ...UNLIMITED, tokenPerSecond: 1 } } });
  const [a, b] = [await addressOf(perToken, "waits", "a"), await addressOf(perToken, "waits", "b")];
  const ofToken = await flood(perToken, a);
  expect(new Set(ofToken.map(({ status }) => status))).toEqual(new Set([200, 429]));
  expect((await perToken.send(b)).status).toBe(200);
  const perAddress = await open({ callbacks: { limits: { ...UNLIMITED, addressPerSecond: 1 } } });
  const ofAddress = await flood(perAddress, "/v1.x.y");
  expect(new Set(ofAddress.map(({ status }) => status))).toEqual(new Set([404, 429]));
  for (const answers of [ofToken, ofAddress]) {
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.headers.get("retry-after")).toBe("1");
  }
});

test("X-Forwarded-For names the address only if a proxy is trusted", async () => {
  const limits = { addressPerSecond: 1 };
  const direct = await open({ callbacks: { limits } });
  const trusting = await open({ callbacks: { limits, trustProxy: true } });
  const call = async (scene: Scene, from: string): Promise<number> =>
    (await scene.send("/v1.x.y", { headers: { "X-Forwarded-For": `1.1.1.1, ${from}` } })).status;
  const both = async (scene: Scene): Promise<number[]> =>
    Promise.all([call(scene, "2.2.2.2"), call(scene, "3.3.3.3")]);
  expect((await both(direct)).toSorted()).toEqual([404, 429]);
  expect(await both(trusting)).toEqual([404, 404]);
});

test("no answer may be cached, indexed, framed or scripted, or sends a referrer, and no log line has a token", async () => {
  const scene = await open();
  const url = await addressOf(scene, "waits", "w");
  const answers = [
    await scene.send(url),
    await scene.post(url, 1),
    await scene.post("/v1.x.y", 1),
    await scene.send(url, { headers: { Accept: "text/html" } }),
  ];
  for (const { headers } of answers) {
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-robots-tag")).toBe("noindex, nofollow");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("content-security-policy")).toMatch(
      /^default-src 'none'; style-src 'sha256-/,
    );
    expect(headers.get("content-security-policy")).not.toContain("script-src");
    expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  }
  expect(scene.log).toEqual([]);
});
