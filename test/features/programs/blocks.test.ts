// Code blocks: functions with several steps that run in parallel or in a race within one orchestration.

import { expect, test } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { failureOf, open } from "./support.ts";

const step = activity("step", async (name: string) => `step ${name}`);

test("a join accepts blocks with conditions, loops and timers", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.all([
      async () => {
        const first = await ctx.run(step, "a1");
        return first.startsWith("step") ? [first, await ctx.run(step, "a2")] : [first];
      },
      async () => {
        const done: string[] = [];
        for (let round = 1; round <= 3; round++) done.push(await ctx.run(step, `b${round}`));
        return done;
      },
      async () => {
        await ctx.sleep(5);
        return [await ctx.run(step, "c1")];
      },
    ]),
  );
  const { client } = await open([main, step]);
  expect(await (await client.start(main)).result()).toEqual([
    ["step a1", "step a2"],
    ["step b1", "step b2", "step b3"],
    ["step c1"],
  ]);
});

test("a join of many blocks returns the results in the order of the blocks", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.all(
      Array.from({ length: 10 }, (_, block) => async () => {
        await ctx.sleep(20 - block * 2);
        return ctx.run(step, `${block}`);
      }),
    ),
  );
  const { client } = await open([main, step]);
  expect(await (await client.start(main)).result()).toEqual(
    Array.from({ length: 10 }, (_, block) => `step ${block}`),
  );
});

test("consecutive blocks pass their results on", async () => {
  const main = orchestration("main", async (ctx, start: string) => {
    const first = await ctx.scope(async () => {
      const [a, b] = [await ctx.run(step, start), await ctx.run(step, "extra")];
      return `${a} + ${b}`;
    });
    const second = await ctx.scope(() => ctx.run(step, first));
    await ctx.sleep(5);
    return ctx.run(step, second);
  });
  const { client } = await open([main, step]);
  expect(await (await client.start(main, "x")).result()).toBe("step step step x + step extra");
});

test("the faster of two blocks wins, and the slower one stops", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.race({
      fast: async () => [await ctx.run(step, "f1"), await ctx.run(step, "f2")],
      slow: async () => {
        await ctx.sleep("1h");
        return [await ctx.run(step, "s1")];
      },
    }),
  );
  const { client } = await open([main, step]);
  const handle = await client.start(main);
  expect(await handle.result()).toEqual({ key: "fast", value: ["step f1", "step f2"] });
  expect((await handle.history()).map(({ kind }) => kind)).toContain("TimerCancelled");
});

test("a plain call can win a race against a block", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.race([
      ctx.run(step, "single"),
      async () => {
        await ctx.sleep("1h");
        return ctx.run(step, "never");
      },
    ]),
  );
  const { client } = await open([main, step]);
  expect(await (await client.start(main)).result()).toEqual({ index: 0, value: "step single" });
});

test("in a race of three blocks with timers the shortest timer wins", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.race(
      ["1h", 1, "30m"].map((duration, index) => async () => {
        await ctx.sleep(duration as "1h");
        return ctx.run(step, `${index}`);
      }),
    ),
  );
  const { client } = await open([main, step]);
  expect(await (await client.start(main)).result()).toEqual({ index: 1, value: "step 1" });
});

test("joins and races can be nested", async () => {
  const main = orchestration("main", async (ctx) => {
    const outer = await ctx.race({
      work: () => ctx.all(["1", "2", "3"].map((name) => ctx.run(step, name))),
      late: ctx.sleep("1h"),
    });
    const inner = await ctx.all([
      () => ctx.race({ a: ctx.run(step, "a"), late: ctx.sleep("1h") }),
      () => ctx.race({ b: ctx.run(step, "b"), late: ctx.sleep("1h") }),
    ]);
    return { outer, inner: inner.map(({ key }) => key) };
  });
  const { client } = await open([main, step]);
  expect(await (await client.start(main)).result()).toEqual({
    outer: { key: "work", value: ["step 1", "step 2", "step 3"] },
    inner: ["a", "b"],
  });
});

const quick = orchestration(
  "quick",
  async (ctx, name: string) => `quick ${await ctx.run(step, name)}`,
);
const slow = orchestration("slow", async (ctx, name: string) => {
  await ctx.waitFor("never");
  return ctx.run(step, name);
});

test("a block with a child can win its race", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.race({
      child: async () => [await ctx.call(quick, "x"), await ctx.run(step, "after")],
      slow: async () => {
        await ctx.sleep("1h");
        return [];
      },
    }),
  );
  const { client } = await open([main, quick, step]);
  expect(await (await client.start(main)).result()).toEqual({
    key: "child",
    value: ["quick step x", "step after"],
  });
});

test("a child in a losing block is cancelled", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.race({
      child: () => ctx.call(slow, "x", { id: "loser" }),
      quick: async () => [await ctx.run(step, "1"), await ctx.run(step, "2")].join(),
    }),
  );
  const { client } = await open([main, slow, step]);
  expect(await (await client.start(main)).result()).toEqual({
    key: "quick",
    value: "step 1,step 2",
  });
  expect(await failureOf(client.get("loser").result())).toMatchObject({ kind: "cancelled" });
});

test("a join accepts blocks with children", async () => {
  const main = orchestration("main", (ctx, name: string) =>
    ctx.all([
      async () => [await ctx.call(quick, `a-${name}`), await ctx.run(step, "extra")],
      async () => [await ctx.call(quick, `b-${name}`)],
      async () => [await ctx.run(step, "first"), await ctx.call(quick, `c-${name}`)],
    ]),
  );
  const { client } = await open([main, quick, step]);
  expect(await (await client.start(main, "x")).result()).toEqual([
    ["quick step a-x", "step extra"],
    ["quick step b-x"],
    ["step first", "quick step c-x"],
  ]);
});

test("a block with a child can win a race against a slower child and a timeout", async () => {
  const main = orchestration("main", (ctx) =>
    ctx.race({
      quick: () => ctx.call(quick, "x"),
      slow: () => ctx.call(slow, "y"),
      late: ctx.sleep("2h"),
    }),
  );
  const { client } = await open([main, quick, slow, step]);
  expect(await (await client.start(main)).result()).toEqual({
    key: "quick",
    value: "quick step x",
  });
});

test("blocks can call children that call children", async () => {
  const child = orchestration("child", (ctx, name: string) =>
    ctx.all([ctx.call(quick, `grand-${name}`), ctx.run(step, `own-${name}`)]),
  );
  const main = orchestration("main", (ctx) =>
    ctx.all([
      () => ctx.call(child, "1"),
      async () => {
        await ctx.sleep(5);
        return ctx.call(child, "2");
      },
    ]),
  );
  const { client } = await open([main, child, quick, step]);
  expect(await (await client.start(main)).result()).toEqual([
    ["quick step grand-1", "step own-1"],
    ["quick step grand-2", "step own-2"],
  ]);
});
