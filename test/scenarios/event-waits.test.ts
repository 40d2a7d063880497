// Waits for events: who gets which message, what a wait shows, who is refused (semantics 18).

import { expect } from "vitest";
import { orchestration } from "../../src/index.ts";
import { scenario } from "./support/scenario.ts";

scenario("waits of one name are served in the order in which they were made", () => {
  const main = orchestration("main", (ctx) =>
    ctx.all([ctx.event("x"), ctx.event("y"), ctx.event("x"), ctx.event("x")]),
  );
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      for (const n of [1, 2, 3]) await handle.raise("x", n);
      await t.deploy();
      await handle.raise("y", "y");
      expect(await t.result(handle)).toEqual([1, "y", 2, 3]);
    },
  };
});

scenario("a cancelled wait takes nothing: its message goes to the next one", () => {
  const main = orchestration("main", async (ctx) => {
    const first = ctx.event("x");
    const second = ctx.event("x");
    await ctx.sleep("1m");
    first.cancel();
    const cancelled = await first.catch((error: unknown) => String(error));
    return [cancelled, await second, await ctx.event("x")];
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      await handle.raise("x", "one");
      await handle.raise("x", "two");
      expect(await t.result(handle)).toEqual(["CancelledError: canceled: cancelled", "one", "two"]);
    },
  };
});

scenario("a wait that lost its race frees its place, even in the batch of its message", () => {
  const main = orchestration("main", async (ctx) => {
    const winner = await ctx.race({ go: ctx.event("go"), x: ctx.event("x") });
    return [winner.key, await ctx.event("x")];
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await Promise.all([handle.raise("go", null), handle.raise("x", "kept")]);
      expect(await t.result(handle)).toEqual(["go", "kept"]);
    },
  };
});

scenario("since: now sees only what is taken after the wait was recorded", () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.sleep("1m");
    const fresh = await ctx.event("x", { since: "now" });
    const old = await ctx.event("x");
    return [fresh, old];
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.raise("x", "before");
      await t.advance("1m");
      expect((await handle.describe()).waitingFor).toMatchObject([{ kind: "event", name: "x" }]);
      await t.deploy();
      await handle.raise("x", "after");
      expect(await t.result(handle)).toEqual(["after", "before"]);
    },
  };
});

scenario("a stream of events is read in a loop, and leaving the loop takes no more", () => {
  const main = orchestration("main", async (ctx) => {
    const read: unknown[] = [];
    for await (const n of ctx.events("n")) {
      read.push(n);
      if (n === 3) break;
    }
    return [read, await ctx.event("n")];
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      for (const n of [1, 2, 3, 4]) await handle.raise("n", n);
      expect(await t.result(handle)).toEqual([[1, 2, 3], 4]);
    },
  };
});

scenario("what a wait is for is shown to whoever asks", () => {
  const main = orchestration("main", (ctx) =>
    ctx.event("approval", { details: { amount: 12n, by: "ada" } }),
  );
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect((await handle.describe()).waitingFor).toEqual([
        { kind: "event", sequence: 2, name: "approval", details: { amount: 12n, by: "ada" } },
      ]);
      await handle.raise("approval");
      expect(await t.result(handle)).toBeUndefined();
    },
  };
});
