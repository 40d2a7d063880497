// Calls to callbacks over HTTP: values, answers, repeated and late calls.

import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { callback } from "../../../src/callback/index.ts";
import { Client, orchestration } from "../../../src/index.ts";
import { digits } from "../../support/schemas.ts";
import { addressOf, attemptAddress, kvText, register, rendering } from "./programs.ts";
import { openScene, outcomeOf, SECRET, type SceneOptions } from "./support.ts";

const open = (options: SceneOptions = {}) => openScene({ register, ...options });

test("a value arrives as JSON, a form, a text or bytes", async () => {
  const scene = await open();
  const bodies = [
    ["application/json", '{"a":[1,null]}', { a: [1, null] }],
    [
      "application/x-www-form-urlencoded",
      "decision=approve&note=a+b",
      { decision: "approve", note: "a b" },
    ],
    ["text/plain", "hello", "hello"],
    ["image/png", new Uint8Array([1, 2, 255]), new Uint8Array([1, 2, 255])],
  ] as const;
  for (const [type, body, expected] of bodies) {
    const url = await addressOf(scene, "waits", type);
    const response = await scene.send(url, {
      method: "POST",
      headers: { "Content-Type": type },
      body,
    });
    expect(await outcomeOf(response)).toEqual([200, "completed"]);
    expect(await scene.perdure.client.get(type).result()).toEqual({ value: expected });
  }
  const url = await addressOf(scene, "waits", "empty");
  expect((await scene.send(url, { method: "POST" })).status).toBe(200);
  expect(await scene.perdure.client.get("empty").result()).toEqual({ value: undefined });
});

test("chosen headers arrive as a record with names in lower case, and no others do", async () => {
  const scene = await open({ callbacks: { headers: ["X-Request-Id", "X-Absent"] } });
  const url = await addressOf(scene, "waits", "h");
  await scene.post(url, 1, { "X-REQUEST-ID": "r-1", "X-Other": "x" });
  expect(await scene.perdure.client.get("h").result()).toEqual({
    value: 1,
    headers: { "x-request-id": "r-1" },
  });
});

test("S39: a repeated call is 200 and changes nothing, also with another value and after the end", async () => {
  const scene = await open();
  const url = await addressOf(scene, "waits", "r");
  const both = await Promise.all([scene.post(url, "first"), scene.post(url, "first")]);
  expect(both.map(({ status }) => status)).toEqual([200, 200]);
  expect(await scene.perdure.client.get("r").result()).toEqual({ value: "first" });
  expect(await outcomeOf(await scene.post(url, "second"))).toEqual([200, "completed"]);
  expect(await scene.perdure.client.get("r").result()).toEqual({ value: "first" });
});

test("an early call is kept until the code awaits it", async () => {
  const early = orchestration("early", async (ctx) => {
    const answer = ctx.callback("answer");
    ctx.kv.set("url", answer.url);
    await ctx.waitFor("go");
    return await answer;
  });
  const scene = await open({ register: [early] });
  await scene.perdure.client.start(early, undefined, { id: "e" });
  expect((await scene.post(await kvText(scene.perdure, "e", "url"), "early")).status).toBe(200);
  await scene.perdure.client.raise("e", "go");
  expect(await scene.perdure.client.get("e").result()).toBe("early");
});

test("a value that a known schema refuses is 422 with its reason, and the wait goes on", async () => {
  const scene = await open();
  const url = await addressOf(scene, "checked", "c");
  const refused = await scene.post(url, "seven");
  expect(refused.status).toBe(422);
  expect(await refused.json()).toMatchObject({
    code: "VALUE_REFUSED",
    detail: expect.stringContaining("must be digits") as string,
  });
  expect(await outcomeOf(await scene.post(url, "7"))).toEqual([200, "completed"]);
  expect(await scene.perdure.client.get("c").result()).toBe(7);
});

test("a process that does not know the schema answers 202, and the receiver keeps a refused value unread", async () => {
  const worker = await open();
  const url = await addressOf(worker, "checked", "c");
  // A separate provider, as in another process: it does not know the schema.
  const receiver = await openScene({ provider: unlearned(worker.provider) });
  const token = url.slice(url.lastIndexOf("/"));
  expect(await outcomeOf(await receiver.post(token, "seven"))).toEqual([202, "accepted"]);
  const handle = worker.perdure.client.get("c");
  const refusal = async () => (await handle.unread()).items[0]?.refused?.message;
  await expect.poll(refusal).toContain("must be digits");
  expect(await outcomeOf(await receiver.post(token, "7"))).toEqual([202, "accepted"]);
  expect(await handle.result()).toBe(7);
});

test("a definition makes the schema known to a process that runs no code", async () => {
  const worker = await open();
  const url = await addressOf(worker, "checked", "c");
  const definition = callback("digits", { schema: digits });
  const receiver = await openScene({
    provider: unlearned(worker.provider),
    callbacks: { callbacks: [definition] },
  });
  const token = url.slice(url.lastIndexOf("/"));
  expect((await receiver.post(token, "seven")).status).toBe(422);
  expect(await outcomeOf(await receiver.post(token, "7"))).toEqual([200, "completed"]);
  expect(await worker.perdure.client.get("c").result()).toBe(7);
});

test("S38: a call after the timeout is 410, and so is its page", async () => {
  const scene = await open();
  const url = await addressOf(scene, "hurried", "h", 20);
  expect(await kvText(scene.perdure, "h", "value")).toBe("none");
  expect(await outcomeOf(await scene.post(url, 1))).toEqual([410, "CALLBACK_CLOSED"]);
  expect((await scene.send(url)).status).toBe(410);
  await scene.perdure.client.raise("h", "end");
  expect(await scene.perdure.client.get("h").result()).toBeNull();
  expect((await scene.post(url, 1)).status).toBe(410);
});

test("a call to an instance that was cancelled, or deleted and created again, is 410", async () => {
  const scene = await open();
  const { client } = scene.perdure;
  const cancelled = await addressOf(scene, "waits", "a");
  await client.get("a").cancel();
  await client
    .get("a")
    .result()
    .catch(() => undefined);
  expect((await scene.post(cancelled, 1)).status).toBe(410);
  const deleted = await addressOf(scene, "waits", "b");
  await client.delete("b", { force: true });
  expect((await scene.post(deleted, 1)).status).toBe(410);
  const again = await addressOf(scene, "waits", "b");
  expect(again).not.toBe(deleted);
  expect((await scene.post(deleted, 1)).status).toBe(410);
  expect((await scene.post(again, 2)).status).toBe(200);
  expect(await client.get("b").result()).toEqual({ value: 2 });
});

test("an activity completes later: a failure follows the retry policy, a heartbeat is accepted, the value is its result", async () => {
  const scene = await open();
  await scene.perdure.client.start(rendering, "alien", { id: "film" });
  const first = await attemptAddress("film", 1);
  expect(await outcomeOf(await scene.send(`${first}/heartbeat`, { method: "POST" }))).toEqual([
    200,
    "extended",
  ]);
  expect(await outcomeOf(await scene.post(`${first}/fail`, { message: "disk full" }))).toEqual([
    200,
    "failed",
  ]);
  const second = await attemptAddress("film", 2);
  expect((await scene.post(`${first}/fail`, "late repetition")).status).toBe(200);
  expect((await scene.post(second, { frames: 9 })).status).toBe(200);
  expect(await scene.perdure.client.get("film").result()).toEqual({ frames: 9 });
  expect((await scene.post(first, { frames: 1 })).status).toBe(200);
});

test("a reported failure can end the activity, and a malformed report is 422", async () => {
  const scene = await open();
  await scene.perdure.client.start(rendering, "alien", { id: "refused" });
  const url = await attemptAddress("refused", 1);
  expect((await scene.post(`${url}/fail`, { mesage: "typo" })).status).toBe(422);
  const final = { message: "no such film", name: "FarmError", retry: false };
  expect((await scene.post(`${url}/fail`, final)).status).toBe(200);
  await expect(scene.perdure.client.get("refused").result()).rejects.toThrow("no such film");
});

test("a callback cannot fail: 422, and the wait goes on", async () => {
  const scene = await open();
  const url = await addressOf(scene, "waits", "w");
  expect((await scene.post(`${url}/fail`, "no")).status).toBe(422);
  expect((await scene.post(url, 1)).status).toBe(200);
});

test("GET never completes anything: it opens a page with a button", async () => {
  const scene = await open();
  const url = await addressOf(scene, "waits", "g");
  for (const method of ["GET", "HEAD"]) {
    const response = await scene.send(`${url}?decision=approve`, { method });
    expect([method, response.status]).toEqual([method, 200]);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  }
  const html = await (await scene.send(`${url}?decision=approve`)).text();
  expect(html).toContain('<input type="hidden" name="decision" value="approve">');
  expect(html).not.toContain(">g<"); // the id of the instance
  await pause(0);
  const info = await scene.perdure.client.get("g").describe();
  expect([info.status, info.waitingFor.length]).toEqual(["running", 1]);
});

test("a browser gets pages, a program gets JSON", async () => {
  const scene = await open({
    callbacks: { page: ({ name }) => ({ lang: "de", title: `Bitte: ${name}`, button: "Ja" }) },
  });
  const url = await addressOf(scene, "waits", "p");
  const accept = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
  const page = await (await scene.send(url, { headers: accept })).text();
  expect(page).toContain('<html lang="de">');
  expect(page).toContain('<button type="submit">Ja</button>');
  const done = await scene.send(url, {
    method: "POST",
    headers: { ...accept, "Content-Type": "application/x-www-form-urlencoded" },
    body: "a=1",
  });
  expect(done.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(await done.text()).toContain("Your answer was recorded.");
  const missing = await scene.send("/v1.x.y", { headers: accept });
  expect([missing.status, await missing.text()]).toEqual([
    404,
    expect.stringContaining("There is nothing at this address.") as string,
  ]);
});

test("callbacks without secrets, or with unknown or repeated options, are refused at once", async () => {
  const { provider } = await open();
  const { callbacks } = await import("../../../src/callback/index.ts");
  const client = new Client(provider, {
    callbacks: { secrets: [SECRET], baseUrl: "http://127.0.0.1" },
  });
  expect(() => callbacks(new Client(provider))).toThrow(/callbacks: { secrets, baseUrl }/);
  expect(() => callbacks(client, { hooks: [] } as never)).toThrow(/unknown option "hooks"/);
  expect(() => callbacks(client, { limits: { bodyMs: 0 } })).toThrow(/limits.bodyMs/);
  expect(() => callbacks(client, { limits: { bodyS: 1 } as never })).toThrow(/bodyS/);
  const twice = [callback("a"), callback("a")];
  expect(() => callbacks(client, { callbacks: twice })).toThrow(/two callbacks "a"/);
  expect(() => callbacks(client, { webhooks: [{}] as never })).toThrow(/list of webhook/);
  expect(() => callbacks(client, { headers: ["a:b"] })).toThrow(/header names/);
});

/** The same store without what this process knows about it. */
function unlearned<P extends object>(provider: P): P {
  return new Proxy(provider, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}
