// Attributes of every type, from the code and from clients, and searches by them.

import { expect, test } from "vitest";
import { activity, event, orchestration, value } from "../../../src/index.ts";
import { TestEnvironment } from "../../../src/testing/index.ts";

const due = value<Date>("due", { as: "attribute" });
const cents = value<number>("cents", { as: "attribute" });
const go = event<null>("go");

const placeOrder = orchestration("placeOrder", async (ctx, price: number) => {
  ctx.setAttributes({ cents: price, isGift: price > 1_000, note: null });
  ctx.set(due, new Date(price));
  const seen = ctx.get(cents);
  await ctx.waitFor(go);
  return { seen, attributes: ctx.info.attributes };
});

test("code and clients set attributes of every type, read them back, and find instances by them", async () => {
  await using env = await TestEnvironment.create({ register: [placeOrder] });
  const { client } = env;
  for (const price of [500, 1_500, 2_500]) {
    const attributes = { customer: "42", region: price > 2_000 ? "us" : "eu", note: "x" };
    await client.start(placeOrder, price, { id: `o-${price}`, attributes });
  }
  await env.settle();
  const found = async (query: Parameters<typeof client.list>[0]): Promise<readonly string[]> =>
    (await client.list({ order: "asc", ...query })).items.map(({ id }) => id);
  expect(await client.get("o-1500").describe()).toMatchObject({
    attributes: { customer: "42", region: "eu", cents: 1_500, isGift: true, due: new Date(1_500) },
  });
  expect(await client.get("o-1500").read(due)).toEqual(new Date(1_500));
  expect(await found({ where: { customer: "42", cents: { gte: 1_000 } } })).toEqual([
    "o-1500",
    "o-2500",
  ]);
  expect(await found({ where: { due: { before: new Date(1_500) } } })).toEqual(["o-500"]);
  expect(await found({ where: { isGift: true, region: { in: ["us", "asia"] } } })).toEqual([
    "o-2500",
  ]);
  expect(await found({ where: { note: { exists: true } } })).toEqual([]);
  expect(await found({ where: { cents: "500" } })).toEqual([]); // a text is not a number
  expect(await found({ where: { cents: { gt: -0, lt: 501 } } })).toEqual(["o-500"]);
  expect(await found({ text: "ORDER" })).toHaveLength(3);
  expect(await found({ text: "2500" })).toEqual(["o-2500"]);
  await client.raise("o-2500", "go", null);
  await env.settle();
  await env.advance("1m");
  await client.raise("o-500", "go", null);
  await env.settle();
  expect(await found({ orderBy: "completedAt" })).toEqual(["o-2500", "o-500", "o-1500"]);
  expect(await found({ orderBy: "completedAt", order: "desc" })).toEqual([
    "o-500",
    "o-2500",
    "o-1500",
  ]);
  expect(await client.get("o-500").result()).toEqual({
    seen: 500,
    attributes: { customer: "42", region: "eu", cents: 500, isGift: false, due: new Date(500) },
  });
  expect(await client.counts()).toEqual([
    { status: "completed", count: 2 },
    { status: "running", count: 1 },
  ]);
  await client.get("o-1500").pause();
  expect(await client.counts({ by: ["name", "status"] })).toEqual([
    { name: "placeOrder", status: "completed", count: 2 },
    { name: "placeOrder", status: "paused", count: 1 },
  ]);
});

test("wrong attributes and wrong tests are refused before anything is written", async () => {
  await using env = await TestEnvironment.create({ register: [placeOrder] });
  const { client } = env;
  const starts: readonly (readonly [unknown, string])[] = [
    [{ a: NaN }, "INVALID_ARGUMENT"],
    [{ a: Infinity }, "INVALID_ARGUMENT"],
    [{ a: new Date(NaN) }, "INVALID_ARGUMENT"],
    [{ a: null }, "INVALID_ARGUMENT"],
    [{ a: 1n }, "INVALID_ARGUMENT"],
    [{ a: "x".repeat(70_000) }, "LIMIT_EXCEEDED"],
    [Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`a${i}`, i])), "LIMIT_EXCEEDED"],
  ];
  for (const [attributes, code] of starts) {
    const options = { id: "x", attributes: attributes as Record<string, string> };
    await expect(client.start(placeOrder, 1, options)).rejects.toMatchObject({ code });
  }
  const queries: readonly unknown[] = [
    { where: { a: {} } },
    { where: { a: { like: "x" } } },
    { where: { a: { in: "x" } } },
    { where: { a: { gt: NaN } } },
    { where: { a: { before: 5 } } },
    { where: { a: { before: new Date(0), lt: new Date(0) } } },
    { where: { a: { prefix: 5 } } },
    { where: [] },
    { text: "" },
    { orderBy: "name" },
    { order: "up" },
  ];
  for (const query of queries) {
    const list = client.list(query as Parameters<typeof client.list>[0]);
    await expect(list, JSON.stringify(query)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  }
  expect(await client.count()).toBe(0);
});

test("an orchestration that sets too many attributes gets the error, and can continue", async () => {
  const greedy = orchestration("greedy", async (ctx) => {
    ctx.setAttributes({ kept: 1 });
    try {
      ctx.setAttributes({ text: "x".repeat(70_000) });
    } catch (error) {
      await ctx.sleep("1s");
      return { code: (error as { code?: string }).code, attributes: ctx.info.attributes };
    }
    return null;
  });
  await using env = await TestEnvironment.create({ register: [greedy] });
  const handle = await env.client.start(greedy, undefined);
  await env.advance("2s");
  expect(await handle.result()).toEqual({ code: "LIMIT_EXCEEDED", attributes: { kept: 1 } });
});

const charge = activity("charge", async (_cents: number) => "paid");
const ship = orchestration("ship", async (ctx) => {
  await ctx.sleep("1d");
});
const sell = orchestration("sell", async (ctx) => {
  const paid = ctx.run(charge, 5);
  const shipped = ctx.call(ship, undefined, { id: "ship-1" });
  await ctx.waitFor(go, { timeout: "2h" });
  await Promise.all([paid, shipped]);
});

test("a list says what its instances wait for only if it is asked", async () => {
  await using env = await TestEnvironment.create({ register: [sell, ship, placeOrder] });
  const { client } = env;
  await client.start(sell, undefined, { id: "sell-1" });
  await client.start(placeOrder, 1, { id: "o-1" });
  await client.start(placeOrder, 1, { id: "o-2" });
  await env.settle();
  await client.raise("o-2", "go", null);
  await env.settle();
  const { items: withWaits } = await client.list({ waits: true });
  const kinds: Record<string, readonly string[]> = {};
  for (const { id, waitingFor = [] } of withWaits) {
    kinds[id] = waitingFor.map(({ kind }) => kind);
    expect((await client.get(id).describe()).waitingFor).toMatchObject(waitingFor);
  }
  expect(kinds).toEqual({
    "sell-1": ["activity", "child", "event", "timer"],
    "ship-1": ["timer"],
    "o-1": ["event"],
    "o-2": [],
  });
  const { items } = await client.list({ name: "sell" });
  expect(items[0]).not.toHaveProperty("waitingFor");
  await expect(client.list({}, { waits: "yes" as never })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});
