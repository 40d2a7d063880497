// Code blocks: functions passed to all, any and race (duroxide's async blocks).

import { expect } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const add = activity("add", ([a, b]: readonly [number, number]) => a + b);

scenario("a join accepts functions with control flow", () => {
  const main = orchestration("main", (ctx) =>
    ctx.all([
      async () => {
        let sum = 0;
        for (let i = 1; i <= 3; i++) sum = await ctx.run(add, [sum, i]);
        return sum;
      },
      async () => {
        const ten = await ctx.run(add, [5, 5]);
        if (ten === 10) await ctx.sleep("1m");
        return ctx.run(add, [ten, 1]);
      },
      async () => "no wait at all",
    ]),
  );
  return {
    register: [add, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      expect(await t.result(handle)).toEqual([6, 11, "no wait at all"]);
    },
  };
});

scenario("twenty blocks run concurrently, each with a separate chain of calls", () => {
  const main = orchestration("main", (ctx) =>
    ctx.all(
      Array.from({ length: 20 }, (_, n) => async () => {
        const first = await ctx.run(add, [n, 1]);
        await ctx.sleep((n + 1) * 1_000);
        return ctx.run(add, [first, 1]);
      }),
    ),
  );
  return {
    register: [add, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("10s");
      await t.deploy();
      await t.advance("10s");
      expect(await t.result(handle)).toEqual(Array.from({ length: 20 }, (_, n) => n + 2));
    },
  };
});

scenario("in a race of two blocks the loser stops at its current call", (t) => {
  const work = t.gate<string, string>("work");
  const chain = (
    ctx: { run: (a: typeof work.activity, i: string) => Promise<string> },
    n: string,
  ) => {
    return async () => {
      const one = await ctx.run(work.activity, `${n}1`);
      const two = await ctx.run(work.activity, `${n}2`);
      return one + two;
    };
  };
  const main = orchestration("main", (ctx) => ctx.race({ a: chain(ctx, "a"), b: chain(ctx, "b") }));
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("a1", "x");
      await work.finish("b1", "y");
      await work.finish("b2", "z");
      expect(await t.result(handle)).toEqual({ key: "b", value: "yz" });
      expect(work.waiting).toEqual([]);
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "ActivityScheduled work",
        "ActivityScheduled work",
        "ActivityCompleted 2",
        "ActivityScheduled work",
        "ActivityCompleted 3",
        "ActivityScheduled work",
        "ActivityCompleted 7",
        "ActivityCancelRequested 5",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("a block can win or lose a race against a timer", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx, id: string) =>
    ctx.race({
      block: async () => {
        await ctx.sleep("10s");
        return ctx.run(work.activity, id);
      },
      late: ctx.sleep("1m"),
    }),
  );
  return {
    register: [work.activity, main],
    run: async () => {
      const fast = await t.client.start(main, "fast", { id: "fast" });
      const slow = await t.client.start(main, "slow", { id: "slow" });
      await t.advance("10s");
      await work.finish("fast", "done");
      await t.advance("50s");
      expect(await t.result(fast)).toEqual({ key: "block", value: "done" });
      expect(await t.result(slow)).toEqual({ key: "late", value: undefined });
      expect(work.waiting).toEqual([]);
    },
  };
});

scenario("a join inside a race, and a race inside a join", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const outer = await ctx.race({
      both: () => ctx.all([ctx.run(work.activity, "a"), ctx.run(work.activity, "b")]),
      timer: ctx.sleep("1h"),
    });
    const inner = await ctx.all([
      () => ctx.race({ c: ctx.run(work.activity, "c"), timer: ctx.sleep("1m") }),
      () => ctx.race({ d: ctx.run(work.activity, "d"), timer: ctx.sleep("1m") }),
    ]);
    return [outer, inner.map((winner) => winner.key)];
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("b", "B");
      await work.finish("a", "A");
      await work.finish("d", "D");
      await t.advance("1m");
      expect(await t.result(handle)).toEqual([{ key: "both", value: ["A", "B"] }, ["timer", "d"]]);
    },
  };
});

scenario("a child in a losing block is cancelled", (t) => {
  const child = orchestration("child", async (ctx) => {
    await ctx.sleep("1d");
    return "child";
  });
  const main = orchestration("main", (ctx) =>
    ctx.race({
      child: async () => `got ${await ctx.call(child, undefined, { id: "kid" })}`,
      event: ctx.waitFor("stop"),
    }),
  );
  return {
    register: [child, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1h");
      await handle.raise("stop", "now");
      expect(await t.result(handle)).toEqual({ key: "event", value: "now" });
      const kid = await t.client.get("kid").describe();
      expect(kid).toMatchObject({ status: "cancelled", cancelled: { reason: "lost a race" } });
    },
  };
});
