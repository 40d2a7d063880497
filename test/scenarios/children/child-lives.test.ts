// Lifecycle of children: several executions of the child or the parent, abandoned children, late results.

import { expect } from "vitest";
import { activity, ChildError, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const upper = activity("upper", (text: string) => text.toUpperCase());
const shout = orchestration("shout", async (ctx, text: string) => `${await ctx.run(upper, text)}!`);

scenario("a child that continues as new keeps its parent, which gets the last result", () => {
  const counter = orchestration("counter", async (ctx, n: number): Promise<number> => {
    await ctx.sleep("1m");
    return n === 3 ? n : ctx.continueAsNew(n + 1);
  });
  const main = orchestration("main", (ctx) => ctx.call(counter, 1));
  return {
    register: [counter, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      await t.advance("1m");
      await t.deploy();
      await t.advance("2m");
      expect(await t.result(handle)).toBe(3);
      expect(await t.client.get("p::sub::2").describe()).toMatchObject({
        execution: 3,
        parent: { id: "p", sequence: 2 },
      });
    },
  };
});

scenario("children of later executions get different ids", () => {
  const main = orchestration("main", async (ctx, n: number): Promise<string> => {
    const text = await ctx.call(shout, `round ${n}`);
    return n === 3 ? text : ctx.continueAsNew(n + 1);
  });
  return {
    register: [upper, shout, main],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "p" });
      expect(await t.result(handle)).toBe("ROUND 3!");
      for (const id of ["p::sub::2", "p::sub::2_2", "p::sub::3_2"]) {
        expect(await t.client.get(id).exists(), id).toBe(true);
      }
    },
  };
});

scenario("a child's result for an ended execution of the parent is dropped", () => {
  const slow = orchestration("slow", async (ctx) => {
    await ctx.shield(() => ctx.sleep("1h"));
    return "late";
  });
  const main = orchestration("main", async (ctx, n: number): Promise<string> => {
    void ctx.call(slow, undefined, { id: `slow-${n}` });
    if (n === 2) return String(await ctx.waitFor("go"));
    await ctx.sleep("1m");
    return ctx.continueAsNew(2);
  });
  return {
    register: [slow, main],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "p" });
      await t.advance("1h");
      expect(await t.client.get("slow-1").describe()).toMatchObject({ status: "cancelled" });
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "ChildScheduled slow",
        "EventSubscribed go",
      ]);
      await handle.raise("go", "done");
      expect(await t.result(handle)).toBe("done");
    },
  };
});

scenario("a child that ends in the commit of its parent's turn still delivers its result", (t) => {
  const work = t.gate<string, string>("work");
  const child = orchestration("child", (ctx) => ctx.run(work.activity, "child's"));
  const main = orchestration("main", (ctx) =>
    ctx.all([ctx.run(work.activity, "parent's"), ctx.call(child)]),
  );
  return {
    register: [work.activity, child, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      await t.settle();
      for (const visit of work.visits) visit.resolve(visit.input); // both turns in one group
      expect(await t.result(handle)).toEqual(["parent's", "child's"]);
    },
  };
});

scenario(
  "replacing a child by a client's start fails the parent's call; the new instance has no parent",
  () => {
    const kid = orchestration("kid", async (ctx, n: number) => {
      await ctx.sleep("1h");
      return n;
    });
    const main = orchestration("main", async (ctx) => {
      const error = await ctx.call(kid, 1, { id: "kid" }).catch((reason: unknown) => reason);
      return error instanceof ChildError ? error.failure.kind : error;
    });
    return {
      register: [kid, main],
      run: async (t) => {
        const handle = await t.client.start(main, undefined, { id: "p" });
        await t.settle();
        await t.client.start(kid, 2, { id: "kid", onConflict: "terminateExisting" });
        expect(await t.result(handle)).toBe("terminated");
        await t.advance("1h");
        const info = await t.client.get("kid").describe();
        expect(info).toMatchObject({ status: "completed", output: 2, execution: 2 });
        expect(info).not.toHaveProperty("parent");
      },
    };
  },
);

scenario("an abandoned child outlives its parent's end, continueAsNew and cancellation", () => {
  const child = orchestration("child", async (ctx) => {
    await ctx.sleep("1h");
    return "alone";
  });
  const main = orchestration("main", async (ctx, how: string): Promise<string> => {
    if (how === "continued") return how;
    const options = { id: `kid-${how}`, onParentClose: "abandon" } as const;
    void ctx.call(child, undefined, options);
    await ctx.sleep("1m");
    if (how === "cancelled") await ctx.sleep("1d");
    return how === "continue" ? ctx.continueAsNew("continued") : how;
  });
  return {
    register: [child, main],
    run: async (t) => {
      const ended = await t.client.start(main, "ended", { id: "ended" });
      const continued = await t.client.start(main, "continue", { id: "continue" });
      const cancelled = await t.client.start(main, "cancelled", { id: "cancelled" });
      await t.advance("1m");
      await cancelled.cancel("stop");
      expect(await t.result(ended)).toBe("ended");
      expect(await t.result(continued)).toBe("continued");
      expect(await t.failure(cancelled)).toMatchObject({ kind: "cancelled" });
      await t.advance("1h");
      for (const how of ["ended", "continue", "cancelled"]) {
        expect(await t.client.get(`kid-${how}`).describe(), how).toMatchObject({
          status: "completed",
          output: "alone",
        });
      }
    },
  };
});
