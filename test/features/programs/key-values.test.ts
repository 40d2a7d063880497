// Key-values: requests and responses, snapshots and pruning, counters, reading keys of another instance.

import { expect, test } from "vitest";
import { activity, event, orchestration } from "../../../src/index.ts";
import { isWaitingFor, open, state } from "./support.ts";

const noop = activity("noop", async () => undefined);

test("a server answers requests through its key-values", async () => {
  const request = event<{ id: string; n: number }>("request");
  const square = activity("square", async (n: number) => n * n);
  const server = orchestration("server", async (ctx, served: number): Promise<string> => {
    const { id, n } = await ctx.waitFor(request);
    if (id === "stop") return `served ${served}`;
    ctx.kv.set(`response:${id}`, { square: await ctx.run(square, n) });
    return ctx.continueAsNew(served + 1);
  });
  const { client } = await open([server, square]);
  const handle = await client.start(server, 0);
  const ask = async (id: string, n: number) => {
    await handle.raise(request, { id, n });
    return handle.kv.waitFor<{ square: number }>(`response:${id}`, { timeout: "30s" });
  };
  expect(await ask("a", 4)).toEqual({ square: 16 });
  expect(await ask("b", 5)).toEqual({ square: 25 });
  await handle.raise(request, { id: "stop", n: 0 });
  expect(await handle.result()).toBe("served 2");
  expect(await handle.kv.get("response:a")).toEqual({ square: 16 });
});

test("entries returns all keys, and pruneOlderThan removes old keys", async () => {
  const main = orchestration("main", async (ctx) => {
    ctx.kv.set("old-1", 1);
    ctx.kv.set("old-2", 2);
    await ctx.sleep(60);
    ctx.kv.set("young", 3);
    const before = ctx.kv.entries<number>().map(([key]) => key);
    const pruned = ctx.kv.pruneOlderThan(50);
    return { before, pruned, left: ctx.kv.size };
  });
  const { client } = await open([main]);
  const handle = await client.start(main);
  expect(await handle.result()).toEqual({
    before: ["old-1", "old-2", "young"],
    pruned: 2,
    left: 1,
  });
  expect(await handle.kv.entries()).toEqual([["young", 3]]);
});

test("a counter is incremented correctly across turns, replays and executions", async () => {
  const counter = orchestration("counter", async (ctx, rounds: number): Promise<number> => {
    for (let turn = 0; turn < 3; turn++) {
      ctx.kv.set("count", (ctx.kv.get<number>("count") ?? 0) + 1);
      await ctx.run(noop);
    }
    if (rounds > 1) return ctx.continueAsNew(rounds - 1);
    return ctx.kv.get<number>("count") ?? 0;
  });
  // Without a cache every turn runs the writes of the earlier turns again.
  const { client } = await open([counter, noop], { runtime: { stickyCacheMax: 0 } });
  const handle = await client.start(counter, 3);
  expect(await handle.result()).toBe(9);
  expect(await handle.kv.get("count")).toBe(9);
});

test("an instance reads a key of another instance, and a replay returns the same value", async () => {
  const writer = orchestration("writer", async (ctx) => {
    ctx.kv.set("rate", 1.5);
    await ctx.waitFor("change");
    ctx.kv.set("rate", 2);
  });
  const reader = orchestration("reader", async (ctx) => {
    const first = await ctx.kv.of("w").get<number>("rate");
    await ctx.waitFor("again");
    const second = await ctx.kv.of("w").get<number>("rate");
    const missing = [await ctx.kv.of("w").get("none"), await ctx.kv.of("unknown").get("rate")];
    return { first, second, missing };
  });
  const { client } = await open([writer, reader], { runtime: { stickyCacheMax: 0 } });
  const source = await client.start(writer, undefined, { id: "w" });
  await source.kv.waitFor("rate");
  const handle = await client.start(reader);
  await state(handle, isWaitingFor("event"));
  await source.raise("change");
  await source.result();
  await handle.raise("again");
  expect(await handle.result()).toEqual({ first: 1.5, second: 2, missing: [undefined, undefined] });
});
