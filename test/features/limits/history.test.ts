// Limits of histories: a warning, then a block with instructions, and ways to continue (semantics 9).

import { expect, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { startRuntime, virtualWorld } from "../../faults/trouble/support.ts";

const echo = activity("echo", (value: string) => value);
const long = orchestration("long", async (ctx, steps: number) => {
  ctx.compensate(() => ctx.setStatus("cleaned up"));
  for (let n = 0; n < steps; n++) await ctx.run(echo, "x".repeat(100));
  return `${steps} steps`;
});

async function blockOf(world: Awaited<ReturnType<typeof virtualWorld>>, id: string) {
  for await (const info of world.client.get(id).watch()) {
    if (info.blocked !== undefined) return info.blocked;
  }
  throw new Error(`instance "${id}" ended without a block`);
}

test("a history over its limit of events blocks its instance, and the message suggests continueAsNew", async () => {
  const world = await virtualWorld([long, echo], { limits: { historyEventsMax: 21 } });
  await world.client.start(long, 50, { id: "a" });
  const block = await blockOf(world, "a");
  expect(block).toMatchObject({ code: "LIMIT_EXCEEDED" });
  expect(block.message).toContain("has 22 events; the limit is 21");
  expect(block.message).toContain("ctx.continueAsNew");
  expect((await world.client.get("a").stats()).events).toBe(22);
});

test("a history over its limit of bytes blocks its instance", async () => {
  const world = await virtualWorld([long, echo], { limits: { historyBytesMax: 3_000 } });
  await world.client.start(long, 50, { id: "a" });
  expect((await blockOf(world, "a")).message).toMatch(/has \d+ bytes; the limit is 3000/);
});

test("after the limit is raised and the instance unblocked, it continues without losing events", async () => {
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

test("continueAsNew begins a new history, so the instance is never blocked", async () => {
  const eternal = orchestration("eternal", async (ctx, round: number): Promise<number> => {
    for (let n = 0; n < 8; n++) await ctx.run(echo, "");
    return round === 5 ? round : ctx.continueAsNew(round + 1);
  });
  const world = await virtualWorld([eternal, echo], { limits: { historyEventsMax: 17 } });
  const handle = await world.client.start(eternal, 0, { id: "a" });
  expect(await handle.result()).toBe(5);
});

test("a cancelled instance over the limit still runs its compensations", async () => {
  const stuck = orchestration("stuck", async (ctx) => {
    ctx.compensate(async () => {
      await ctx.run(echo, "undo");
      ctx.setStatus("undone");
    });
    for (let n = 0; n < 29; n++) ctx.setStatus(n);
    await ctx.waitFor("never");
  });
  const world = await virtualWorld([stuck, echo], { limits: { historyEventsMax: 30 } });
  const handle = await world.client.start(stuck, undefined, { id: "a" });
  for await (const info of handle.watch()) if (info.waitingFor.length > 0) break;
  await handle.cancel("enough");
  await expect(handle.result()).rejects.toMatchObject({ kind: "cancelled" });
  expect((await handle.describe()).customStatus).toBe("undone");
});

test("a history at three quarters of the limit logs one warning, and ctx.info shows its length", async () => {
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
    'The history of "a" (ctx.continueAsNew begins a new one) has 16 of at most 20 events',
  ]);
});

test("scheduling more calls than the history limit without an await blocks the instance", async () => {
  const wide = orchestration("wide", async (ctx) => {
    await Promise.all(Array.from({ length: 101 }, () => ctx.run(echo, "")));
  });
  const world = await virtualWorld([wide, echo], { limits: { historyEventsMax: 100 } });
  await world.client.start(wide, undefined, { id: "a" });
  expect((await blockOf(world, "a")).message).toContain("more than 100 calls without awaiting any");
});
