// Events: one mailbox a name, first in first out, kept until read (semantics 18).

import { expect } from "vitest";
import { event, isPerdureError, orchestration, type StandardSchema } from "../../src/index.ts";
import { scenario } from "./support/scenario.ts";

const order = event<{ n: number }>("order");

/** Reads `count` events of that name, one after the other. */
function reader(count: number, pause?: "1m") {
  return orchestration("reader", async (ctx) => {
    const read: unknown[] = [];
    if (pause !== undefined) await ctx.sleep(pause);
    while (read.length < count) read.push(await ctx.event("order"));
    return read;
  });
}

scenario("an event reaches the wait for it", () => {
  const main = orchestration("main", async (ctx) => (await ctx.event(order)).n);
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.raise(order, { n: 7 });
      expect(await t.result(handle)).toBe(7);
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "EventSubscribed order",
        "EventReceived order",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("an event that comes before the wait is kept for it", () => {
  const main = reader(1, "1m");
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.raise("order", "early");
      await t.deploy();
      await t.advance("1m");
      expect(await t.result(handle)).toEqual(["early"]);
    },
  };
});

scenario("an event raised before the first turn is kept: the start comes first", () => {
  const main = reader(2);
  return {
    register: [main],
    run: async (t) => {
      await t.stop();
      const handle = await t.client.start(main, undefined, { id: "i" });
      await handle.raise("order", 1);
      await handle.raise("order", 2);
      await t.boot();
      expect(await t.result(handle)).toEqual([1, 2]);
    },
  };
});

scenario("events of one name are read in the order in which they were sent", () => {
  const main = reader(20);
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      for (let n = 0; n < 20; n++) {
        await handle.raise("order", n);
        if (n % 7 === 0) await t.advance("1s");
        if (n === 9) await t.deploy();
      }
      expect(await t.result(handle)).toEqual(Array.from({ length: 20 }, (_, n) => n));
    },
  };
});

scenario("two equal events are two events", () => {
  const main = reader(2);
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await handle.raise("order", "same");
      await handle.raise("order", "same");
      expect(await t.result(handle)).toEqual(["same", "same"]);
    },
  };
});

scenario("a repeated request id raises once, also after it was read", () => {
  const main = reader(2);
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await handle.raise("order", "first", { requestId: "r1" });
      await handle.raise("order", "again", { requestId: "r1" });
      await t.settle();
      await handle.raise("order", "again", { requestId: "r1" });
      await handle.raise("order", "second", { requestId: "r2" });
      expect(await t.result(handle)).toEqual(["first", "second"]);
    },
  };
});

scenario("names are mailboxes of their own", () => {
  const main = orchestration("main", async (ctx) => {
    const a = await ctx.event("a");
    const b = await ctx.event("b");
    const a2 = await ctx.event("a");
    return [a, b, a2];
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await handle.raise("b", "b1");
      await handle.raise("a", "a1");
      await t.settle();
      await handle.raise("b", "b2");
      await handle.raise("a", "a2");
      expect(await t.result(handle)).toEqual(["a1", "b1", "a2"]);
    },
  };
});

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

scenario("an event to nobody, or to one that ended, is refused to its sender", () => {
  const main = orchestration("main", (ctx) => ctx.event("x"));
  return {
    register: [main],
    run: async (t) => {
      const codeOf = (error: unknown) => (isPerdureError(error) ? error.code : error);
      const nobody = t.client.get("nobody");
      expect(await nobody.raise("x", 1).catch(codeOf)).toBe("INSTANCE_NOT_FOUND");
      const handle = await t.client.start(main, undefined, { id: "i" });
      await handle.raise("x", 1);
      await t.result(handle);
      expect(await handle.raise("x", 2).catch(codeOf)).toBe("INSTANCE_FINISHED");
      expect(await t.story(handle)).toHaveLength(4);
    },
  };
});

scenario("an event's schema is asked where it is raised, once", () => {
  const upper: StandardSchema<string, string> = {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) =>
        typeof value === "string"
          ? { value: value.toUpperCase() }
          : { issues: [{ message: "no text" }] },
    },
  };
  const shout = event("shout", upper);
  const main = orchestration("main", (ctx) => ctx.event(shout));
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      const refused = await handle.raise(shout, 5 as never).catch((error: unknown) => error);
      expect(isPerdureError(refused, "INVALID_ARGUMENT")).toBe(true);
      await handle.raise(shout, "hey");
      expect(await t.result(handle)).toBe("HEY");
    },
  };
});
