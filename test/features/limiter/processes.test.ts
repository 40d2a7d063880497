// Limiters across processes that start and stop, on every store (limiter.test.ts has the rest).

import { expect } from "vitest";
import { limiter, type LimiterStatus } from "../../../src/limiter/index.ts";
import { orchestration } from "../../../src/index.ts";
import { scenario } from "../../scenarios/support/scenario.ts";
import type { World } from "../../scenarios/support/world.ts";

const two = limiter("two", { concurrency: 2, rate: { count: 4, per: "1m" } });
const visit = orchestration("visit", (ctx) =>
  two.run(ctx, async () => {
    const from = ctx.now().getTime();
    await ctx.sleep("5s");
    return { in: from, out: ctx.now().getTime() };
  }),
);
const register = [two, visit];

async function start(t: World, ids: readonly string[]): Promise<void> {
  for (const id of ids) await t.client.start(visit, undefined, { id });
}

/** Reads the results through a running process. */
async function visitsOf(t: World, ids: readonly string[]) {
  const visits = [];
  for (const id of ids) visits.push(await t.result(t.client.get(visit, id)));
  return visits;
}

function expectKept(visits: readonly { readonly in: number; readonly out: number }[]): void {
  for (const { in: time } of visits) {
    expect(visits.filter((v) => v.in <= time && time < v.out).length).toBeLessThanOrEqual(2);
    expect(visits.filter((v) => v.in > time - 60_000 && v.in <= time).length).toBeLessThanOrEqual(
      4,
    );
  }
}

const TIMING = {
  in: "everything",
  because: "the order of commits decides the order of requests and which admissions share a batch",
} as const;

scenario(
  "a limiter survives a crash and an hour without a process, and admits all callers by its rule",
  {
    register,
    differs: TIMING,
    run: async (t) => {
      await start(t, ["a", "b", "c", "d", "e"]);
      await t.advance("7s");
      await t.crashAndRecover();
      await t.advance("3s");
      await t.stop();
      await t.advance("1h");
      await t.boot();
      await start(t, ["f", "g"]);
      await t.advance("5m");
      expectKept(await visitsOf(t, ["a", "b", "c", "d", "e", "f", "g"]));
    },
  },
);

scenario("two processes with concurrent requests share one limiter instance", {
  register,
  differs: TIMING,
  run: async (t) => {
    const other = await t.boot();
    const ids = ["a", "b", "c", "d", "e", "f"];
    await Promise.all(
      ids.map((id, n) => (n % 2 === 0 ? t.client : other.client).start(visit, undefined, { id })),
    );
    await t.advance("3m");
    expectKept(await visitsOf(t, ids));
    const { customStatus } = await t.client.get("two").describe();
    expect(customStatus).toMatchObject({ inUse: 0 } satisfies Partial<LimiterStatus>);
    expect(await t.client.count({ name: "two" })).toBe(1);
  },
});
