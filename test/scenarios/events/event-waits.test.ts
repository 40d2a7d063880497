// Waits for events: which wait gets which message, cancelled waits, streams, details (semantics 18).

import { expect } from "vitest";
import { orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario("waits for the same name receive messages in the order of the waits", () => {
  const main = orchestration("main", (ctx) =>
    ctx.all([ctx.waitFor("x"), ctx.waitFor("y"), ctx.waitFor("x"), ctx.waitFor("x")]),
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

scenario("a cancelled wait takes no message: the message goes to the next wait", () => {
  const main = orchestration("main", async (ctx) => {
    const first = ctx.waitFor("x");
    const second = ctx.waitFor("x");
    await ctx.sleep("1m");
    first.cancel();
    const cancelled = await first.catch((error: unknown) => String(error));
    return [cancelled, await second, await ctx.waitFor("x")];
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      await handle.raise("x", "one");
      await handle.raise("x", "two");
      expect(await t.result(handle)).toEqual([
        "CancelledError: cancelled: cancelled",
        "one",
        "two",
      ]);
    },
  };
});

scenario("a wait that lost its race takes no message, even from the same batch", () => {
  const main = orchestration("main", async (ctx) => {
    const winner = await ctx.race({ go: ctx.waitFor("go"), x: ctx.waitFor("x") });
    return [winner.key, await ctx.waitFor("x")];
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

scenario("since: now receives only events that arrive after the wait was recorded", () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.sleep("1m");
    const fresh = await ctx.waitFor("x", { since: "now" });
    const old = await ctx.waitFor("x");
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

scenario("a loop can read a stream of events, and leaving the loop takes no further events", () => {
  const main = orchestration("main", async (ctx) => {
    const read: unknown[] = [];
    for await (const n of ctx.events("n")) {
      read.push(n);
      if (n === 3) break;
    }
    return [read, await ctx.waitFor("n")];
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

scenario("describe shows the details of a wait", () => {
  const main = orchestration("main", (ctx) =>
    ctx.waitFor("approval", { details: { amount: 12n, by: "ada" } }),
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
