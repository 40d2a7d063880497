// Gates among processes that come and go, on every store (gate.test.ts has the rest).

import { expect } from "vitest";
import { gate, type GateStatus } from "../../src/gate/index.ts";
import { orchestration } from "../../src/index.ts";
import { scenario } from "../scenarios/support/scenario.ts";
import type { World } from "../scenarios/support/world.ts";

const two = gate("two", { atOnce: 2, rate: { count: 4, per: "1m" } });
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

/** Asked through a process that is alive. */
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

const byChance = {
  in: "everything",
  because: "who asks first, and who is told with whom, is the order of commits",
} as const;

scenario(
  "a gate outlives a crash and an hour without a process, and lets everybody in by its rule",
  {
    register,
    differs: byChance,
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

scenario("two processes that ask at once have one gate", {
  register,
  differs: byChance,
  run: async (t) => {
    const other = await t.boot();
    const ids = ["a", "b", "c", "d", "e", "f"];
    await Promise.all(
      ids.map((id, n) => (n % 2 === 0 ? t.client : other.client).start(visit, undefined, { id })),
    );
    await t.advance("3m");
    expectKept(await visitsOf(t, ids));
    const { customStatus } = await t.client.get("two").describe();
    expect(customStatus).toMatchObject({ inside: 0 } satisfies Partial<GateStatus>);
    expect(await t.client.count({ name: "two" })).toBe(1);
  },
});
