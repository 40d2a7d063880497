// continueAsNew carries over all unread messages in order (semantics 18a, 21).

import { expect } from "vitest";
import { orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario("continueAsNew carries over unread events in order", () => {
  const main = orchestration("main", async (ctx, got: readonly unknown[]): Promise<unknown> => {
    const next = [...got, await ctx.waitFor("n")];
    return next.length === 4 ? next : ctx.continueAsNew(next);
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, [], { id: "i" });
      await t.settle();
      await Promise.all([1, 2, 3].map((n) => handle.raise("n", n))); // all in the first execution
      await t.settle();
      expect((await handle.describe()).execution).toBe(4);
      await t.deploy();
      await handle.raise("n", 4);
      expect(await t.result(handle)).toEqual([1, 2, 3, 4]);
    },
  };
});

scenario("unread messages of several names survive many executions", () => {
  const main = orchestration("main", async (ctx, n: number): Promise<unknown> => {
    if (n < 4) {
      await ctx.sleep("1m");
      return ctx.continueAsNew(n + 1);
    }
    const read: unknown[] = [];
    for (const name of ["b", "a", "a", "b"]) read.push(await ctx.waitFor(name));
    return read;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "i" });
      await t.settle();
      await handle.raise("a", "a1");
      await handle.raise("b", "b1");
      await t.advance("1m");
      await handle.raise("a", "a2");
      await t.advance("1m");
      await handle.raise("b", "b2");
      await t.advance("1m");
      expect(await t.result(handle)).toEqual(["b1", "a1", "a2", "b2"]);
    },
  };
});

scenario("continueAsNew carries over two hundred unread messages and drops none", () => {
  const main = orchestration("main", async (ctx, n: number): Promise<unknown> => {
    if (n === 1) {
      await ctx.waitFor("go");
      return ctx.continueAsNew(2);
    }
    const read: unknown[] = [];
    while (read.length < 200) read.push(await ctx.waitFor("m"));
    return read;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "i" });
      for (let n = 0; n < 150; n++) await handle.raise("m", n);
      await t.settle();
      await handle.raise("go");
      for (let n = 150; n < 200; n++) await handle.raise("m", n);
      expect(await t.result(handle)).toEqual(Array.from({ length: 200 }, (_, n) => n));
    },
  };
});

scenario("a wait that loses its race in the last turn takes no message", () => {
  const main = orchestration("main", async (ctx, n: number): Promise<unknown> => {
    if (n === 2) return ctx.waitFor("data");
    void ctx.waitFor("data"); // open, and never read
    await ctx.race({ go: ctx.waitFor("go"), data: ctx.waitFor("data") });
    return ctx.continueAsNew(2);
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "i" });
      await t.settle();
      await Promise.all([handle.raise("go"), handle.raise("data", "kept")]);
      expect(await t.result(handle)).toBe("kept");
    },
  };
});

scenario("a request id is remembered across executions", () => {
  const main = orchestration("main", async (ctx, got: readonly unknown[]): Promise<unknown> => {
    const next = [...got, await ctx.waitFor("n")];
    return next.length === 2 ? next : ctx.continueAsNew(next);
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, [], { id: "i" });
      await handle.raise("n", "first", { requestId: "r" });
      await t.settle();
      await handle.raise("n", "repeated", { requestId: "r" });
      await handle.raise("n", "second");
      expect(await t.result(handle)).toEqual(["first", "second"]);
    },
  };
});
