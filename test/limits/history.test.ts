// Histories that grow too long: a warning, then a block that says what to do, and a way on (semantics 9).

import { expect, test } from "vitest";
import { activity, orchestration } from "../../src/index.ts";
import { startRuntime, virtualWorld } from "../trouble/support.ts";

const echo = activity("echo", (value: string) => value);
const long = orchestration("long", async (ctx, steps: number) => {
  ctx.defer(() => ctx.setStatus("cleaned up"));
  for (let n = 0; n < steps; n++) await ctx.run(echo, "x".repeat(100));
  return `${steps} steps`;
});

async function blockOf(world: Awaited<ReturnType<typeof virtualWorld>>, id: string) {
  for await (const info of world.client.get(id).watch()) {
    if (info.blocked !== undefined) return info.blocked;
  }
  throw new Error("it ended");
}

test("a history over its number of events blocks its instance and says continueAsNew", async () => {
  const world = await virtualWorld([long, echo], { limits: { historyEventsMax: 21 } });
  await world.client.start(long, 50, { id: "a" });
  const block = await blockOf(world, "a");
  expect(block).toMatchObject({ code: "LIMIT_EXCEEDED" });
  expect(block.message).toContain("has 22 events; the limit is 21");
  expect(block.message).toContain("ctx.continueAsNew");
  expect((await world.client.get("a").stats()).events).toBe(22);
});

test("a history over its bytes blocks its instance too", async () => {
  const world = await virtualWorld([long, echo], { limits: { historyBytesMax: 3_000 } });
  await world.client.start(long, 50, { id: "a" });
  expect((await blockOf(world, "a")).message).toMatch(/has \d+ bytes; the limit is 3000/);
});

test("with the limit raised and the block lifted the code gets its turn, and nothing was lost", async () => {
  const world = await virtualWorld([long, echo], { limits: { historyEventsMax: 21 } });
  const handle = await world.client.start(long, 50, { id: "a" });
  await blockOf(world, "a");
  await handle.unblock();
  expect(await blockOf(world, "a")).toMatchObject({ code: "LIMIT_EXCEEDED" }); // not raised yet
  await world.runtime.shutdown();
  await startRuntime(world.provider, [long, echo], { limits: { historyEventsMax: 1_000 } });
  await handle.unblock();
  expect(await handle.result()).toBe("50 steps");
  const attempts = (await handle.history()).filter(({ kind }) => kind === "ActivityCompleted");
  expect(attempts).toHaveLength(50);
});

test("continueAsNew begins a history of its own, and is never blocked", async () => {
  const eternal = orchestration("eternal", async (ctx, round: number): Promise<number> => {
    for (let n = 0; n < 8; n++) await ctx.run(echo, "");
    return round === 5 ? round : ctx.continueAsNew(round + 1);
  });
  const world = await virtualWorld([eternal, echo], { limits: { historyEventsMax: 17 } });
  const handle = await world.client.start(eternal, 0, { id: "a" });
  expect(await handle.result()).toBe(5);
});

test("a cancelled instance over the limit still winds up", async () => {
  const stuck = orchestration("stuck", async (ctx) => {
    ctx.defer(async () => {
      await ctx.run(echo, "undo");
      ctx.setStatus("undone");
    });
    for (let n = 0; n < 29; n++) ctx.setStatus(n);
    await ctx.event("never");
  });
  const world = await virtualWorld([stuck, echo], { limits: { historyEventsMax: 30 } });
  const handle = await world.client.start(stuck, undefined, { id: "a" });
  for await (const info of handle.watch()) if (info.waitingFor.length > 0) break;
  await handle.cancel("enough");
  await expect(handle.result()).rejects.toMatchObject({ kind: "cancelled" });
  expect((await handle.describe()).customStatus).toBe("undone");
});

test("three quarters of the limit are told once, and ctx.info shows how long the history is", async () => {
  const lengths: number[] = [];
  const looks = orchestration("looks", async (ctx) => {
    for (let n = 0; n < 8; n++) {
      await ctx.run(echo, "");
      lengths.push(ctx.info.historyLength);
    }
    return ctx.info.historyBytes > 0;
  });
  const world = await virtualWorld([looks, echo], { limits: { historyEventsMax: 20 } });
  const handle = await world.client.start(looks, undefined, { id: "a" });
  expect(await handle.result()).toBe(true);
  expect(lengths).toEqual([3, 5, 7, 9, 11, 13, 15, 17]);
  const warnings = world.logs.lines.filter(({ level }) => level === "warn");
  expect(warnings.map(({ message }) => message)).toEqual([
    'The history of "a" (ctx.continueAsNew begins a new one) has 16 of the 20 events that are allowed',
  ]);
});

test("one drain may not ask for more than a whole history holds", async () => {
  const wide = orchestration("wide", async (ctx) => {
    await Promise.all(Array.from({ length: 101 }, () => ctx.run(echo, "")));
  });
  const world = await virtualWorld([wide, echo], { limits: { historyEventsMax: 100 } });
  await world.client.start(wide, undefined, { id: "a" });
  expect((await blockOf(world, "a")).message).toContain("more than 100 things without waiting");
});
