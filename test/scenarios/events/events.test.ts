// Events: one mailbox per name, first in first out, kept until read (semantics 18).

import { expect } from "vitest";
import { event, isPerdureError, orchestration, type StandardSchema } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const order = event<{ n: number }>("order");

/** An orchestration that reads `count` "order" events, one after the other. */
function reader(count: number, pause?: "1m") {
  return orchestration("reader", async (ctx) => {
    const read: unknown[] = [];
    if (pause !== undefined) await ctx.sleep(pause);
    while (read.length < count) read.push(await ctx.waitFor("order"));
    return read;
  });
}

scenario("an event reaches the wait for it", () => {
  const main = orchestration("main", async (ctx) => (await ctx.waitFor(order)).n);
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

scenario("an event that arrives before the wait is kept", () => {
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

scenario("an event raised before the first turn is kept", () => {
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

scenario("events with the same name are read in the order in which they were sent", () => {
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

scenario("two equal events are both delivered", () => {
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

scenario("a repeated request id raises the event once, also after the event was read", () => {
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

scenario("each event name has a separate mailbox", () => {
  const main = orchestration("main", async (ctx) => {
    const a = await ctx.waitFor("a");
    const b = await ctx.waitFor("b");
    const a2 = await ctx.waitFor("a");
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

scenario("raising an event on an unknown or ended instance is refused", () => {
  const main = orchestration("main", (ctx) => ctx.waitFor("x"));
  return {
    register: [main],
    run: async (t) => {
      const codeOf = (error: unknown) => (isPerdureError(error) ? error.code : error);
      const unknown = t.client.get("unknown");
      expect(await unknown.raise("x", 1).catch(codeOf)).toBe("INSTANCE_NOT_FOUND");
      const handle = await t.client.start(main, undefined, { id: "i" });
      await handle.raise("x", 1);
      await t.result(handle);
      expect(await handle.raise("x", 2).catch(codeOf)).toBe("INSTANCE_FINISHED");
      expect(await t.story(handle)).toHaveLength(4);
    },
  };
});

scenario("raise validates the event against its schema, once", () => {
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
  const main = orchestration("main", (ctx) => ctx.waitFor(shout));
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
