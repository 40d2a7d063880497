// Order and types of composed tasks: duroxide's tests of futures and typed composability.

import { expect } from "vitest";
import { activity, event, orchestration, type Task } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario("the first delivered result wins a race, also when both arrive in one batch", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.race([ctx.run(work.activity, "a"), ctx.run(work.activity, "b")]);
    return first.index;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      work.visits[1]?.resolve("B"); // both end at the same time, the second call first
      work.visits[0]?.resolve("A");
      expect(await t.result(handle)).toBe(1);
      expect((await t.story(handle)).slice(3)).toEqual([
        "ActivityCompleted 3",
        "ActivityCancelRequested 2",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("code after a race schedules its next activity in the turn of the winner", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.race({ a: ctx.run(work.activity, "a"), b: ctx.waitFor("b") });
    const next = await ctx.run(work.activity, `after ${first.key}`);
    return [first.key, next];
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.raise("b", "B");
      await t.settle();
      await t.deploy();
      await work.finish("after b", "done");
      expect(await t.result(handle)).toEqual(["b", "done"]);
      expect((await t.story(handle)).slice(3, 6)).toEqual([
        "EventReceived b",
        "ActivityCancelRequested 2",
        "ActivityScheduled work",
      ]);
    },
  };
});

scenario("a completion that is not awaited yet blocks nothing and is available later", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const early = ctx.run(work.activity, "early");
    const late = await ctx.run(work.activity, "late");
    return [late, await early];
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("early", "E");
      await t.deploy();
      await work.finish("late", "L");
      expect(await t.result(handle)).toEqual(["L", "E"]);
    },
  };
});

scenario("a message that is too late for one race goes to the next wait, also in a replay", () => {
  const main = orchestration("main", async (ctx) => {
    const rounds: unknown[] = [];
    for (let i = 0; i < 3; i++) {
      const first = await ctx.race({ x: ctx.waitFor("x"), timer: ctx.sleep("10s") });
      rounds.push(first.key === "x" ? first.value : first.key);
    }
    return rounds;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("10s");
      await handle.raise("x", "late for the first");
      await t.settle();
      await t.deploy();
      await t.advance("10s");
      expect(await t.result(handle)).toEqual(["timer", "late for the first", "timer"]);
    },
  };
});

interface Order {
  readonly id: string;
  readonly lines: readonly { readonly sku: string; readonly n: number }[];
}
type Receipt = { readonly order: string; readonly total: bigint };

scenario("types flow from the definitions through joins, races and maps without a cast", () => {
  const price = activity("price", (line: Order["lines"][number]) => BigInt(line.n) * 10n);
  const charge = activity("charge", (receipt: Receipt): Receipt => receipt);
  const hurry = event<{ readonly by: string }>("hurry");
  const pack = orchestration("pack", async (ctx, order: Order): Promise<number> => {
    await ctx.sleep("1m");
    return order.lines.length;
  });
  const main = orchestration("main", async (ctx, order: Order) => {
    const prices: bigint[] = await ctx.all(order.lines.map((line) => ctx.run(price, line)));
    const total = prices.reduce((a, b) => a + b, 0n);
    const [receipt, packed]: [Receipt, string] = await ctx.all([
      ctx.run(charge, { order: order.id, total }),
      ctx.call(pack, order).map((n) => `${n} lines`),
    ]);
    const first = await ctx.race({ hurried: ctx.waitFor(hurry), calm: ctx.sleep("1h") });
    const hurriedBy: string = first.key === "hurried" ? first.value.by : "none";
    const indexed = await ctx.race([ctx.run(price, { sku: "x", n: 1 }), ctx.sleep("1h")]);
    const value: bigint | void = indexed.value;
    const any: bigint | string = await ctx.any([
      ctx.run(price, { sku: "y", n: 2 }),
      async () => "a text",
    ]);
    const kept: Task<number> = ctx.run(price, { sku: "z", n: 3 }).map(Number);
    return { receipt, packed, hurriedBy, value, any, kept: await kept };
  });
  return {
    register: [price, charge, pack, main],
    run: async (t) => {
      const order: Order = {
        id: "o1",
        lines: [
          { sku: "a", n: 1 },
          { sku: "b", n: 2 },
        ],
      };
      const handle = await t.client.start(main, order, { id: "i" });
      await t.advance("1m");
      await handle.raise(hurry, { by: "ada" });
      const output = await t.result(handle);
      const receipt: Receipt = output.receipt;
      expect(receipt).toEqual({ order: "o1", total: 30n });
      expect(output).toMatchObject({ packed: "2 lines", hurriedBy: "ada", value: 10n, kept: 30 });
    },
  };
});
