// All features work on encrypted values, and a value that cannot be decrypted stops only its instance (S30, S31).

import { expect, test } from "vitest";
import {
  activity,
  ActivityError,
  Client,
  event,
  orchestration,
  type Orchestration,
} from "../../../src/index.ts";
import { flow } from "../../../src/flow/index.ts";
import { sqliteStore } from "../../faults/kill/stores.ts";
import { both, first, second, untilBlocked, untilWaiting, Vault } from "./support.ts";
import { rowsOf, write } from "./tampering.ts";

const go = event<{ word: string }>("go");
const double = activity("double", async (value: number, context) => {
  context.heartbeat({ at: value });
  context.progress({ share: 0.5 });
  return value * 2;
});
const declines = activity(
  "declines",
  async () => {
    const cause = Object.assign(new TypeError("limit"), { code: "E_LIMIT", left: 3 });
    throw new RangeError("card declined", { cause });
  },
  { retry: { maxAttempts: 2, backoff: { kind: "none" } } },
);
const child = orchestration("child", async (_ctx, value: { n: number }) => value.n + 1);
const badChild = orchestration("bad-child", async () => {
  throw new Error("the child's own");
});

const everything = orchestration("everything", async (ctx, input: { n: number; round: number }) => {
  ctx.setStatus({ phase: "begun", round: input.round });
  ctx.kv.set("doubled", await ctx.run(double, input.n));
  const stepped = await ctx.step("step", () => new Map([[1, new Date(7)]]));
  const called = await ctx.call(child, { n: input.n });
  if (input.round < 2) return ctx.continueAsNew({ n: input.n, round: input.round + 1 });
  const failures = await Promise.all([
    ctx.run(declines).catch((error: unknown) => error as ActivityError),
    ctx.call(badChild).catch((error: unknown) => error as Error),
  ]);
  const { word } = await ctx.waitFor(go, { details: { ask: "word?" } });
  return {
    word,
    called,
    at: stepped.get(1),
    doubled: ctx.kv.get("doubled"),
    status: ctx.status,
    messages: failures.map((error) => error.message),
    cause: String((failures[0] as { cause?: { cause?: unknown } }).cause?.cause),
    kind: failures[0] instanceof ActivityError && failures[0].failure.message,
  };
}) as Orchestration<{ n: number; round: number }, unknown>;
const failing = orchestration("failing", async (ctx) => {
  ctx.compensate(() => {
    throw new Error("undoing failed too");
  });
  await ctx.run(declines);
});
const register = [everything, failing, child, badChild, double, declines];

test("replay, executions, children, events, steps, state and failures work as without encryption", async () => {
  const vault = new Vault();
  const before = await vault.open({ codec: first, register });
  const { client } = before;
  const handle = await client.start(everything, { n: 4, round: 1 }, { id: "e" });
  await untilWaiting(before, "e");
  expect(await handle.describe()).toMatchObject({
    customStatus: { phase: "begun", round: 2 },
    waitingFor: [{ kind: "event", details: { ask: "word?" } }],
  });
  await before.close();
  const after = await vault.open({ codec: first, register }); // a new runtime with an empty cache
  await after.client.get("e").raise(go, { word: "on" });
  expect(await after.client.get("e").result({ timeout: "20s" })).toEqual({
    word: "on",
    called: 5,
    at: new Date(7),
    doubled: 8,
    status: { phase: "begun", round: 2 },
    messages: ["card declined", "the child's own"],
    cause: "TypeError: limit",
    kind: "card declined",
  });
  expect(await after.client.get("e").kv.get("doubled")).toBe(8);
});

test("a reader with the key sees the whole failure; a reader without the key sees only its name", async () => {
  const vault = new Vault();
  const { client } = await vault.open({ codec: first, register });
  const handle = await client.start(failing, undefined, { id: "f" });
  await expect(handle.result({ timeout: "20s" })).rejects.toMatchObject({
    message: "card declined",
    kind: "failed",
    failure: { name: "ActivityError", code: "ACTIVITY_FAILED" },
    cause: {
      name: "ActivityError",
      cause: { name: "RangeError", cause: { message: "limit", code: "E_LIMIT", left: 3 } },
    },
    compensationErrors: [{ message: "undoing failed too" }],
  });
  const failed = (await handle.history()).find(({ kind }) => kind === "ActivityFailed");
  expect(JSON.stringify(failed)).not.toMatch(/card declined|limit|engine\.test/);
  expect(failed).toMatchObject({ failure: { name: "RangeError", retryable: true } }); // readable without the key
});

test("a flow runs with encryption", async () => {
  const vault = new Vault();
  const doubled = flow<number>("doubled")
    .then(double)
    .then("plus", async (value) => value + 1)
    .build();
  const { client } = await vault.open({ codec: first, register: [doubled, double] });
  expect(await (await client.start(doubled, 5)).result({ timeout: "20s" })).toBe(11);
});

test("S31: with two keys existing instances continue and new texts use the new key", async () => {
  const vault = new Vault();
  const before = await vault.open({ codec: first, register });
  await before.client.start(everything, { n: 1, round: 2 }, { id: "e" });
  await untilWaiting(before, "e");
  await before.close();
  const after = await vault.open({ codec: both, register });
  await after.client.get("e").raise(go, { word: "new" });
  expect(await after.client.get("e").result({ timeout: "20s" })).toMatchObject({ word: "new" });
  const texts = (await after.client.get("e").history()).map((one) => JSON.stringify(one));
  expect(texts[0]).toContain("enc2.k1.");
  expect(texts.at(-1)).toContain("enc2.k2.");
  expect(texts.at(-1)).not.toContain("enc2.k1.");
});

test("S31: a missing key blocks only its instance, with the reason; with the key the instance continues", async () => {
  const vault = new Vault();
  const before = await vault.open({ codec: first, register });
  await before.client.start(everything, { n: 1, round: 2 }, { id: "old" });
  await before.client.start(child, { n: 1 }, { id: "ended" });
  await before.client.get("ended").result();
  await untilWaiting(before, "old");
  await before.close();

  const without = await vault.open({ codec: second, register });
  await without.client.get("old").raise(go, { word: "unread" });
  expect(await untilBlocked(without, "old")).toMatchObject({
    code: "KEY_MISSING",
    message: expect.stringContaining('the key "k1"') as string,
  });
  expect(await (await without.client.start(child, { n: 2 })).result({ timeout: "20s" })).toBe(3);
  const { items } = await without.client.list(); // lists still work
  expect(items.map(({ id }) => id)).toEqual(expect.arrayContaining(["ended", "old"]));
  expect(await without.client.get("ended").describe()).toMatchObject({
    status: "completed",
    unreadable: expect.stringContaining('"k1"') as string,
  });
  await expect(without.client.get("ended").result()).rejects.toMatchObject({ code: "KEY_MISSING" });
  await without.close();

  const again = await vault.open({ codec: both, register });
  expect(await again.client.get("old").result({ timeout: "20s" })).toMatchObject({
    word: "unread",
  });
});

test("S31: a recorded input with a missing key is not reported as nondeterminism and fails nothing", async () => {
  const vault = new Vault();
  const strict = orchestration(
    "strict",
    async (ctx, value: number) => {
      ctx.kv.set("value", value);
      await ctx.run(double, value);
      await ctx.waitFor(go);
      return ctx.kv.get("value");
    },
    { onNondeterminism: "fail" },
  );
  const before = await vault.open({ codec: both, register: [strict, double] });
  // The starting client has only the old key: the input is readable with it, the records of the turns are not.
  await new Client(before.provider, { codec: first }).start(strict, 5, { id: "s" });
  await untilWaiting(before, "s");
  await before.close();
  const without = await vault.open({ codec: first, register: [strict, double] });
  await without.client.get("s").raise(go, { word: "x" });
  expect(await untilBlocked(without, "s")).toMatchObject({ code: "KEY_MISSING" });
  await without.close();
  const again = await vault.open({ codec: both, register: [strict, double] });
  expect(await again.client.get("s").result({ timeout: "20s" })).toBe(5);
});

test("S31: an activity waits for a worker with the key and does not fail on a worker without it", async () => {
  const vault = new Vault();
  const ask = orchestration("ask", async (ctx, value: number) => ctx.run(double, value));
  // This runtime has the orchestration and both keys. The only worker of the activity has only the old key.
  const turns = await vault.open({ codec: both, register: [ask] });
  const withoutKey = await vault.open({ codec: first, register: [double] });
  const handle = await turns.client.start(ask, 21, { id: "a" });
  await expect
    .poll(() => vault.log.filter((line) => /waits for a worker that can read/.test(line)))
    .toHaveLength(1);
  expect(await handle.describe()).toMatchObject({ status: "running" });
  await withoutKey.close();
  await vault.open({ codec: both, register: [double] });
  expect(await handle.result({ timeout: "20s" })).toBe(42);
});

test("S30: a value changed in the store blocks its instance", async () => {
  const vault = new Vault();
  const before = await vault.open({ codec: first, register });
  await before.client.start(everything, { n: 1, round: 2 }, { id: "e" });
  await untilWaiting(before, "e");
  await before.close();
  const store = sqliteStore(vault.address.slice("sqlite:".length));
  for (const row of await rowsOf(store, "e")) {
    await write(store, row, row.data.replace("enc2.k1.", "enc2.k1.AAAA"));
  }
  const after = await vault.open({ codec: first, register });
  await after.client.get("e").raise(go, { word: "on" });
  expect(await untilBlocked(after, "e")).toMatchObject({
    code: "HISTORY_CORRUPT",
    message: expect.stringContaining("was changed") as string,
  });
});
