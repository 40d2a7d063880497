// ctx.any, and the arguments that ctx.race and ctx.any refuse (semantics 7a).

import { expect } from "vitest";
import { isPerdureError, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario("any: the first success wins; earlier failures are ignored", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.any(["a", "b", "c"].map((name) => ctx.run(work.activity, name)));
    await ctx.sleep("1m");
    return first;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.fail("a", new Error("a"));
      await work.finish("b", "b it is");
      expect(work.waiting).toEqual([]);
      await t.advance("1m");
      expect(await t.result(handle)).toBe("b it is");
      expect((await t.story(handle)).slice(5)).toEqual([
        "ActivityCompleted 3",
        "ActivityCancelRequested 4",
        "TimerCreated",
        "TimerFired 8",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("any: when all tasks fail, the AggregateError has every failure", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    try {
      return await ctx.any([ctx.run(work.activity, "a"), ctx.run(work.activity, "b")]);
    } catch (error) {
      return error instanceof AggregateError ? error.errors.map(String) : error;
    }
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.fail("b", new Error("b"));
      await work.fail("a", new Error("a"));
      expect(await t.result(handle)).toEqual(["ActivityError: a", "ActivityError: b"]);
    },
  };
});

scenario("race and any refuse a plain promise, because it cannot be cancelled", () => {
  const main = orchestration("main", async (ctx) => {
    const codes: unknown[] = [];
    const note = (attempt: () => unknown): void => {
      try {
        attempt();
      } catch (error) {
        codes.push(isPerdureError(error) ? error.code : error);
      }
    };
    note(() => ctx.race([Promise.resolve(1) as never]));
    note(() => ctx.any([Promise.resolve(1) as never]));
    note(() => ctx.race([]));
    note(() => ctx.race(Promise.resolve() as never));
    const nothing = await ctx.all([]);
    return [...codes, nothing.length];
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      const refused = Array.from({ length: 4 }, () => "INVALID_ARGUMENT");
      expect(await t.result(handle)).toEqual([...refused, 0]);
    },
  };
});

scenario("a native Promise.race cancels nothing; the losing task continues", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const a = ctx.run(work.activity, "a");
    const b = ctx.run(work.activity, "b");
    const first = await Promise.race([a, b]);
    return [first, await a, await b];
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("b", "B");
      expect(work.waiting).toEqual(["a"]);
      await work.finish("a", "A");
      expect(await t.result(handle)).toEqual(["B", "A", "B"]);
    },
  };
});
