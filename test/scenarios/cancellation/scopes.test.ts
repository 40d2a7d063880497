// Scopes: a function passed to scope, all, any or race runs as one scope. Cancelling the scope cancels all of its work
// (duroxide's async blocks).

import { expect } from "vitest";
import { CancelledError, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario("cancelling a scope cancels its open tasks and rejects its later calls", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const outcomes: string[] = [];
    const block = ctx.scope(async () => {
      try {
        await ctx.all([ctx.run(work.activity, "a"), ctx.sleep("1h")]);
      } catch (error) {
        outcomes.push(String(error));
      }
      await ctx.run(work.activity, "later").catch((error: unknown) => outcomes.push(String(error)));
      return "block over";
    });
    await ctx.sleep("1m");
    block.cancel("enough");
    outcomes.push(await block);
    outcomes.push(String(await ctx.run(work.activity, "outside")));
    return outcomes;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      await work.finish("outside", "fine");
      const cancelled = "CancelledError: cancelled: enough";
      expect(await t.result(handle)).toEqual([cancelled, cancelled, "block over", "fine"]);
      expect(work.inputs).toEqual(["a", "outside"]);
    },
  };
});

scenario("cancelling an outer scope cancels its inner scopes, but not the other way round", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const outcomes: string[] = [];
    const note = (name: string) => (error: unknown) =>
      void outcomes.push(`${name} ${error instanceof CancelledError ? error.reason : "?"}`);
    const outer = ctx.scope(async () => {
      const inner = ctx.scope(() => ctx.run(work.activity, "inner").catch(note("inner")));
      const aside = ctx.run(work.activity, "aside").catch(note("aside"));
      await ctx.waitFor("cut inner");
      inner.cancel("inner only");
      await inner;
      await ctx.scope(() => ctx.run(work.activity, "second").catch(note("second")));
      await aside;
    });
    await ctx.waitFor("cut outer");
    outer.cancel("all of it");
    await outer;
    return outcomes;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.raise("cut inner");
      await t.settle();
      expect(work.waiting).toEqual(["aside", "second"]);
      await handle.raise("cut outer");
      expect(await t.result(handle)).toEqual([
        "inner inner only",
        "aside all of it",
        "second all of it",
      ]);
    },
  };
});

scenario(
  "calls of a helper function stay in the caller's scope after any number of awaits",
  (t) => {
    const work = t.gate<string>("work");
    const main = orchestration("main", async (ctx) => {
      const helper = async (name: string): Promise<unknown> => {
        await Promise.resolve("a value");
        await Promise.resolve();
        const first = await ctx.run(work.activity, `${name}1`);
        await new Promise<void>((resolve) => queueMicrotask(resolve));
        return [first, await ctx.run(work.activity, `${name}2`)];
      };
      const winner = await ctx.race({ a: () => helper("a"), b: () => helper("b") });
      return winner.key;
    });
    return {
      register: [work.activity, main],
      run: async () => {
        const handle = await t.client.start(main, undefined, { id: "i" });
        await work.finish("a1", null);
        await work.finish("b1", null);
        await work.finish("a2", null);
        expect(await t.result(handle)).toBe("a");
        expect(work.aborts).toHaveLength(1);
      },
    };
  },
);

scenario("a losing scope can clean up behind a shield while the race continues", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const outcomes: string[] = [];
    const slow = ctx.scope(async () => {
      try {
        await ctx.run(work.activity, "slow");
      } catch {
        await ctx.shield(() => ctx.run(work.activity, "undo"));
        outcomes.push("undone");
      }
    });
    const winner = await ctx.race({ slow, timer: ctx.sleep("1m") });
    outcomes.push(winner.key);
    await slow;
    return outcomes;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      expect(work.waiting).toEqual(["undo"]);
      await work.finish("undo", null);
      expect(await t.result(handle)).toEqual(["timer", "undone"]);
    },
  };
});
