// Blocks: functions given to scope, all, any and race run as scopes that are cancelled as one (duroxide's async
// blocks).

import { expect } from "vitest";
import { CancelledError, orchestration } from "../../src/index.ts";
import { scenario } from "./support/scenario.ts";

scenario("a scope is cancelled as one: what is open in it, and every later call", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const told: string[] = [];
    const block = ctx.scope(async () => {
      try {
        await ctx.all([ctx.run(work.activity, "a"), ctx.sleep("1h")]);
      } catch (error) {
        told.push(String(error));
      }
      await ctx.run(work.activity, "later").catch((error: unknown) => told.push(String(error)));
      return "block over";
    });
    await ctx.sleep("1m");
    block.cancel("enough");
    told.push(await block);
    told.push(String(await ctx.run(work.activity, "outside")));
    return told;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      await work.finish("outside", "fine");
      const cancelled = "CancelledError: canceled: enough";
      expect(await t.result(handle)).toEqual([cancelled, cancelled, "block over", "fine"]);
      expect(work.inputs).toEqual(["a", "outside"]);
    },
  };
});

scenario(
  "scopes are nested: cancelling the outer reaches the inner, not the other way round",
  (t) => {
    const work = t.gate<string>("work");
    const main = orchestration("main", async (ctx) => {
      const told: string[] = [];
      const tell = (name: string) => (error: unknown) =>
        void told.push(`${name} ${error instanceof CancelledError ? error.reason : "?"}`);
      const outer = ctx.scope(async () => {
        const inner = ctx.scope(() => ctx.run(work.activity, "inner").catch(tell("inner")));
        const aside = ctx.run(work.activity, "aside").catch(tell("aside"));
        await ctx.event("cut inner");
        inner.cancel("inner only");
        await inner;
        await ctx.scope(() => ctx.run(work.activity, "second").catch(tell("second")));
        await aside;
      });
      await ctx.event("cut outer");
      outer.cancel("all of it");
      await outer;
      return told;
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
  },
);

scenario(
  "a helper's calls belong to the block they were written in, after any number of awaits",
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

scenario(
  "a loser may clean up behind a shield; the race does not wait for it, the end does not cut it",
  (t) => {
    const work = t.gate<string>("work");
    const main = orchestration("main", async (ctx) => {
      const told: string[] = [];
      const slow = ctx.scope(async () => {
        try {
          await ctx.run(work.activity, "slow");
        } catch {
          await ctx.shield(() => ctx.run(work.activity, "undo"));
          told.push("undone");
        }
      });
      const winner = await ctx.race({ slow, timer: ctx.sleep("1m") });
      told.push(winner.key);
      await slow;
      return told;
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
  },
);
