// Schemas of inputs and events, checked by the worker that receives them: starts by name, from orchestrations and
// flows; events by name. Every test also replays each turn (shadow replay).

import { expect, test } from "vitest";
import { again, done, flow, runFlow } from "../../../src/flow/index.ts";
import { event, orchestration } from "../../../src/index.ts";
import { schedule } from "../../../src/schedule/index.ts";
import { counted, digits, digitsLater, order } from "../../support/schemas.ts";
import { open, untilWaiting } from "./support.ts";

const amount = event("amount", digits);
const echo = orchestration("echo", async (_ctx, n: number) => n, { input: digits });
/** Waits for one amount. */
const payer = orchestration("payer", async (ctx) => ctx.waitFor(amount));

test("a start by name is checked by the worker, and its code receives the schema's output", async () => {
  const { client } = await open([echo]);
  const handle = await client.start("echo", "12", { id: "e" });
  expect(await handle.result()).toBe(12);
  const [started] = await handle.history();
  expect(started).toMatchObject({ kind: "OrchestrationStarted", input: "12" });
  expect(started).not.toHaveProperty("unchecked");
});

test("a start by name with a wrong input fails and names the part of the input", async () => {
  let runs = 0;
  const buy = orchestration("buy", async () => ++runs, { input: order });
  const { client } = await open([buy]);
  const handle = await client.start("buy", { items: [{ sku: 1 }] });
  await expect(handle.result()).rejects.toMatchObject({
    name: "OrchestrationError",
    message: expect.stringContaining('Invalid input of "buy": items.0.sku: must be a string.'),
    cause: { code: "INVALID_ARGUMENT", path: "$.items[0].sku" },
  });
  expect((await handle.history()).map(({ kind }) => kind)).toEqual([
    "OrchestrationStarted",
    "OrchestrationFailed",
  ]);
  expect(runs).toBe(0);
});

test("a start with the definition fails early, and the stored input is as it was given", async () => {
  const { client } = await open([echo], { shadowReplay: "always" });
  await expect(client.start(echo, "twelve")).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    path: "$",
  });
  // The second start runs its first turn before it is committed (first-turns.1).
  expect(await (await client.start(echo, "1")).result()).toBe(1);
  expect(await (await client.start(echo, "2")).result()).toBe(2);
  const wrong = await client.start("echo", "two");
  await expect(wrong.result()).rejects.toMatchObject({ name: "OrchestrationError" });
});

test("an asynchronous schema works with the definition and fails a start by name", async () => {
  const later = orchestration("later", async (_ctx, n: number) => n, { input: digitsLater });
  const { client } = await open([later]);
  expect(await (await client.start(later, "12")).result()).toBe(12);
  await expect((await client.start("later", "12")).result()).rejects.toThrow(/is asynchronous/);
});

test("the input of a child is converted once, and a child by name is checked", async () => {
  const parent = orchestration("parent", async (ctx) => {
    void ctx.startDetached(echo, "3", { id: "detached" });
    const typed = await ctx.call(echo, "1");
    const named = await ctx.call("echo", "2");
    const wrong = await ctx.call("echo", "two").catch((error: unknown) => String(error));
    return { typed, named, wrong };
  });
  const { client } = await open([parent, echo]);
  const result = await (await client.start(parent)).result();
  expect(result).toMatchObject({ typed: 1, named: 2 });
  expect(result.wrong).toContain('Invalid input of "echo"');
  expect(await client.get("detached").result()).toBe(3);
});

test("continueAsNew passes the schema's input, and a wrong one fails the next execution", async () => {
  const countdown = orchestration(
    "countdown",
    async (ctx, n: number) => (n === 0 ? "done" : ctx.continueAsNew(n === 7 ? "x" : String(n - 1))),
    { input: digits },
  );
  const { client } = await open([countdown]);
  expect(await (await client.start("countdown", "2")).result()).toBe("done");
  await expect((await client.start("countdown", "7")).result()).rejects.toThrow(
    'Invalid input of "countdown"',
  );
});

test("a restart keeps the checked input, and checks a refused input again", async () => {
  const { client } = await open([echo]);
  const good = await client.start("echo", "12");
  await good.result();
  await good.restart();
  expect(await good.result()).toBe(12);
  const bad = await client.start("echo", "x");
  await expect(bad.result()).rejects.toThrow("must be digits");
  await bad.restart();
  await expect(bad.result()).rejects.toThrow("must be digits");
  await expect(client.fork(bad.id, { beforeSequence: 2 })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("ended before its code ran"),
  });
});

test("a fork has the checked input", async () => {
  const waiting = orchestration("waiting", async (ctx, n: number) => [n, await ctx.waitFor("go")], {
    input: digits,
  });
  const perdure = await open([waiting]);
  await perdure.client.start("waiting", "5", { id: "w" });
  await untilWaiting(perdure, "w");
  const fork = await perdure.client.fork("w", { beforeSequence: 3, id: "f" });
  await fork.raise("go", "on");
  expect(await fork.result()).toEqual([5, "on"]);
});

test("a flow has the checked input, also after it was compacted", async () => {
  const rounds = flow("rounds", { input: digits, compactAfter: 10 })
    .loop("l", (f) => f.then("s", (n) => (n < 12 ? again(n + 1) : done(n))), { maxIterations: 50 })
    .build();
  const { client } = await open([rounds]);
  const handle = await client.start("rounds", "0", { id: "r" });
  expect(await handle.result()).toBe(12);
  expect((await handle.executions()).length).toBeGreaterThan(1);
  expect(await runFlow(rounds, "0")).toBe(12);
});

test("a schedule starts its runs with the schema's input", async () => {
  const nightly = schedule("nightly", { start: echo, input: "4", every: "1h", apply: false });
  const { client } = await open([nightly, echo]);
  await nightly.apply(client);
  await nightly.trigger(client);
  await expect.poll(() => client.count({ name: "echo", status: "completed" })).toBe(1);
  const wrong = await client.start("nightly", "x", { id: "other" });
  await expect(wrong.result()).rejects.toThrow('Invalid input of "nightly"');
});

test("a refused event stays unread with the reason, and the wait goes on", async () => {
  const logs: string[] = [];
  const perdure = await open([payer], {
    log: (level, message) => void (level === "warn" && logs.push(message)),
  });
  const handle = await perdure.client.start(payer, undefined, { id: "p" });
  await untilWaiting(perdure, "p");
  await perdure.client.raise("p", "amount", "twelve");
  const refused = {
    code: "INVALID_ARGUMENT",
    message: 'Invalid event "amount": must be digits, got "twelve".',
    path: "$",
  };
  await expect
    .poll(async () => (await handle.unread()).items)
    .toEqual([{ name: "amount", data: "twelve", refused }]);
  await handle.raise(amount, "12");
  expect(await handle.result()).toBe(12);
  expect(logs.filter((line) => line.includes('event "amount" stays unread'))).toHaveLength(1);
  expect((await handle.unread()).items).toMatchObject([{ refused }]);
});

test("every turn of an evicted instance gives the events the same verdicts", async () => {
  const count = counted(digits);
  const typed = event("amount", count.schema);
  const sum = orchestration("sum", async (ctx) => {
    const first = await ctx.waitFor(typed);
    const second = await ctx.waitFor(typed);
    return [first, second, await ctx.waitFor("amount")];
  });
  const perdure = await open([sum], { stickyCacheMax: 0 });
  const handle = await perdure.client.start(sum, undefined, { id: "s" });
  await untilWaiting(perdure, "s");
  for (const text of ["x", "1"]) await perdure.client.raise("s", "amount", text);
  await expect.poll(async () => (await handle.history()).length).toBeGreaterThan(4);
  await perdure.client.raise("s", "amount", "2");
  expect(await handle.result()).toEqual([1, 2, "x"]);
});

test("continueAsNew hands refused events on, and the next execution checks them again", async () => {
  const loop = orchestration("loop", async (ctx, round: number) => {
    const value = await ctx.waitFor(amount);
    if (round === 0) return ctx.continueAsNew(1);
    return [value, await ctx.waitFor("amount")];
  });
  const perdure = await open([loop]);
  const handle = await perdure.client.start(loop, 0, { id: "l" });
  await untilWaiting(perdure, "l");
  await perdure.client.raise("l", "amount", "x");
  await perdure.client.raise("l", "amount", "1");
  await expect.poll(async () => (await handle.describe()).execution).toBe(2);
  await expect
    .poll(async () => (await handle.unread()).items)
    .toMatchObject([{ data: "x", refused: { path: "$" } }]);
  await handle.raise(amount, "2");
  expect(await handle.result()).toEqual([2, "x"]);
});
