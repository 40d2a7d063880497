// Derived values: dates, clocks and randomness inside an orchestration follow from its history (guards.2), in hot and
// cold turns (I5).

import nodeCrypto, { webcrypto } from "node:crypto";
import { performance as hooksPerformance } from "node:perf_hooks";
import { expect, test } from "vitest";
import { deterministicRandom, deterministicUuid } from "../../../src/core/replay/deterministic.ts";
import { activity, orchestration, type Handle } from "../../../src/index.ts";
import { startRuntime, virtualStore, virtualWorld } from "../../faults/trouble/support.ts";

const echo = activity("echo", (value: unknown) => value);

async function seedOf(handle: Handle<unknown>): Promise<string> {
  const [started] = await handle.history();
  return started?.kind === "OrchestrationStarted" ? started.seed : "";
}

test("every way to read the time returns the time of the last delivered event", async () => {
  const work = orchestration("work", async (ctx) => {
    class Stamp extends Date {}
    const look = () => ({
      now: ctx.now().getTime(),
      asked: [Date.now(), new Date().getTime(), new Date(Date()).getTime(), new Stamp().getTime()],
    });
    const first = look();
    await ctx.sleep("1h");
    return [first, look()];
  });
  const { client, environment } = await virtualWorld([work]);
  const begun = environment.now();
  const handle = await client.start(work);
  await environment.advance(3_600_000);
  const [first, second] = await handle.result();
  expect(first).toEqual({ now: begun, asked: [begun, begun, begun, begun] });
  const later = begun + 3_600_000;
  expect(second).toEqual({ now: later, asked: [later, later, later, later] });
});

test("performance.now is the time since the start of the execution, with every kind of import", async () => {
  const work = orchestration("work", async (ctx) => {
    const look = () => [performance.now(), hooksPerformance.now(), globalThis.performance.now()];
    const first = look();
    await ctx.sleep("250ms");
    return [first, look()];
  });
  const { client, environment } = await virtualWorld([work]);
  const handle = await client.start(work);
  await environment.advance(250);
  expect(await handle.result()).toEqual([
    [0, 0, 0],
    [250, 250, 250],
  ]);
});

test("a derived date behaves like an ordinary Date", async () => {
  const work = orchestration("work", async () => {
    class Stamp extends Date {
      readonly isStamp = true;
    }
    const date = new Date();
    const stamp = new Stamp();
    return [
      date instanceof Date,
      date.constructor === Date,
      Object.prototype.toString.call(date),
      structuredClone(date) instanceof Date,
      stamp instanceof Stamp && stamp instanceof Date && stamp.isStamp,
      typeof Date(),
      new Date(0).toISOString(),
      new Date(2026, 0, 2, 3).getHours(),
      Number.isNaN(new Date(undefined as never).getTime()),
      [Date.UTC(1970, 0), Date.parse("1970-01-01"), Date.length, Date.name],
      date,
    ];
  });
  const { client, environment } = await virtualWorld([work]);
  const begun = environment.now();
  expect(await (await client.start(work)).result()).toEqual([
    true,
    true,
    "[object Date]",
    true,
    true,
    "string",
    "1970-01-01T00:00:00.000Z",
    3,
    true,
    [0, 0, 7, "Date"],
    new Date(begun),
  ]);
});

test("random values are drawn from the seed in the order of the calls, together with ctx.random and ctx.uuid", async () => {
  const work = orchestration("work", async (ctx) => {
    const first = [
      Math.random(),
      ctx.random(),
      crypto.randomUUID(),
      nodeCrypto.randomUUID(),
      ctx.uuid(),
    ];
    await ctx.sleep("1s");
    return [...first, nodeCrypto.randomUUID(), webcrypto.randomUUID(), Math.random()];
  });
  const { client, environment } = await virtualWorld([work]);
  const handle = await client.start(work);
  await environment.advance(1_000);
  const seed = await seedOf(handle);
  expect(await handle.result()).toEqual([
    deterministicRandom(seed, 1, 0),
    deterministicRandom(seed, 1, 1),
    deterministicUuid(seed, 1, 2),
    deterministicUuid(seed, 1, 3),
    deterministicUuid(seed, 1, 4),
    deterministicUuid(seed, 3, 0),
    deterministicUuid(seed, 3, 1),
    deterministicRandom(seed, 3, 2),
  ]);
});

/** Passes all derived values to activities and timers, so that other values in a replay would show as nondeterminism. */
const acting = orchestration("acting", async (ctx, rounds: number) => {
  const seen: unknown[] = [];
  for (let round = 0; round < rounds; round++) {
    const values = [Date.now(), performance.now(), Math.random(), crypto.randomUUID()];
    seen.push(await ctx.run(echo, [...values, new Date()]));
    await ctx.sleep(1 + Math.floor(Math.random() * 50));
  }
  return seen;
});

test.each([
  ["kept in memory and shadowed", { shadowReplay: "always" }],
  ["replayed at every turn", { stickyCacheMax: 0 }],
] as const)("derived values are the same when the instance is %s", async (_, options) => {
  const { client, environment, runtime } = await virtualWorld([acting, echo], options);
  const handle = await client.start(acting, 8);
  await environment.advance(2_000);
  expect(runtime.stats().blocked).toBe(0);
  const seen = await handle.result();
  expect(new Set(seen.map((values) => JSON.stringify(values))).size).toBe(8);
});

test("derived values are the same in another runtime that replays the history", async () => {
  const { client, environment, provider, runtime } = await virtualWorld([acting, echo]);
  const handle = await client.start(acting, 8);
  await environment.advance(60);
  const shut = runtime.shutdown();
  await environment.advance(10);
  await shut;
  const before = (await handle.history()).length;
  expect(before).toBeGreaterThan(3);
  const other = await startRuntime(provider, [acting, echo]);
  await environment.advance(2_000);
  expect(await handle.result()).toHaveLength(8);
  expect(other.stats().blocked).toBe(0);
  expect((await handle.history()).length).toBeGreaterThan(before);
});

test("without its guard each derived value diverges at the first replay", async () => {
  const draws = [
    ["random", () => Math.random()],
    ["random", () => crypto.randomUUID()],
    ["date", () => performance.now()],
  ] as const;
  for (const [guard, draw] of draws) {
    const work = orchestration("work", async (ctx) => {
      await ctx.run(echo, draw());
      return ctx.waitFor("go");
    });
    const { environment, provider, client } = await virtualStore();
    await startRuntime(provider, [work, echo], { guards: { [guard]: false }, stickyCacheMax: 0 });
    const handle = await client.start(work);
    await environment.settle();
    await handle.raise("go");
    await environment.settle();
    expect(await handle.describe()).toMatchObject({ blocked: { code: "NONDETERMINISM" } });
  }
});
