// ctx.waitFor with a timeout: the result is the event, or null after the timeout.

import { expect } from "vitest";
import { event, isPerdureError, orchestration, type Handle } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";
import { DAILY } from "../support/world.ts";

const approval = event<{ by: string }>("approval");

const kinds = async (handle: Handle): Promise<readonly string[]> =>
  (await handle.history()).map(({ kind }) => kind);

scenario("an event in time is the result, and the timer is cancelled", () => {
  const main = orchestration("main", async (ctx) => {
    const found = await ctx.waitFor(approval, { timeout: "2d" });
    await ctx.sleep("30d");
    return found === null ? "late" : found.by;
  });
  return {
    register: [main],
    runtime: DAILY,
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("47h");
      await t.deploy();
      await handle.raise(approval, { by: "Eve" });
      await t.advance("31d");
      expect(await t.result(handle)).toBe("Eve");
      expect(await kinds(handle)).toEqual([
        "OrchestrationStarted",
        "EventSubscribed",
        "TimerCreated",
        "EventReceived",
        "TimerCancelled",
        "TimerCreated",
        "TimerFired",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("after the timeout the result is null, and a later event stays unread", () => {
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.waitFor(approval, { timeout: "2d", details: { question: "Ship?" } });
    await ctx.sleep("1d");
    return [first, await ctx.waitFor(approval)];
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect((await handle.describe()).waitingFor).toMatchObject([
        { kind: "event", name: "approval", details: { question: "Ship?" } },
        { kind: "timer", due: new Date(t.now() + 2 * 86_400_000) },
      ]);
      await t.advance("2d");
      await t.deploy();
      await handle.raise(approval, { by: "Eve" });
      await t.advance("1d");
      expect(await t.result(handle)).toEqual([null, { by: "Eve" }]);
      expect(await kinds(handle)).toContain("EventSubscriptionCancelled");
    },
  };
});

scenario("an unread event is taken at once, without a timer", () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.sleep("1m");
    return [await ctx.waitFor("x", { timeout: 0 }), await ctx.waitFor("x", { timeout: 0 })];
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.raise("x", "there");
      await t.advance("2m");
      expect(await t.result(handle)).toEqual(["there", null]);
      const story = await kinds(handle);
      expect(story.filter((kind) => kind === "TimerCreated")).toHaveLength(2);
      expect(story).not.toContain("TimerCancelled");
    },
  };
});

scenario("since: now with a timeout ignores an unread event", () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.sleep("1m");
    const fresh = await ctx.waitFor("x", { since: "now", timeout: "1m" });
    return [fresh, await ctx.waitFor("x", { timeout: "1m" })];
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.raise("x", "old");
      await t.advance("5m");
      expect(await t.result(handle)).toEqual([null, "old"]);
    },
  };
});

scenario("cancelling the task, its scope or its race cancels the wait and its timer", () => {
  const main = orchestration("main", async (ctx) => {
    const task = ctx.waitFor("x", { timeout: "1d" });
    const scope = ctx.scope(() => ctx.waitFor("x", { timeout: "1d" }));
    const race = ctx.race({ x: ctx.waitFor("x", { timeout: "1d" }), soon: ctx.sleep("1m") });
    const { key } = await race;
    task.cancel();
    scope.cancel();
    const ends = await Promise.allSettled([task, scope]);
    const names = ends.map((end) => end.status === "rejected" && (end.reason as Error).name);
    return [key, ...names, await ctx.waitFor("x")];
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      await t.deploy();
      expect((await handle.describe()).waitingFor).toMatchObject([{ kind: "event", name: "x" }]);
      await handle.raise("x", "kept");
      const cancelled = "CancelledError";
      expect(await t.result(handle)).toEqual(["soon", cancelled, cancelled, "kept"]);
    },
  };
});

scenario("cancelling the instance cancels the wait", () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.waitFor("x", { timeout: "1d" });
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.cancel("enough");
      await expect(t.result(handle)).rejects.toMatchObject({ code: "CANCELLED" });
      expect(await kinds(handle)).toEqual(
        expect.arrayContaining(["EventSubscriptionCancelled", "TimerCancelled"]),
      );
    },
  };
});

scenario("an invalid timeout is refused, and nothing is recorded", () => {
  const main = orchestration("main", async (ctx) =>
    ["soon", -1, null, new Date(0)].map((timeout) => {
      try {
        void ctx.waitFor("x", { timeout: timeout as never });
        return "accepted";
      } catch (error) {
        return isPerdureError(error, "INVALID_ARGUMENT") && error.message.includes("timeout");
      }
    }),
  );
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual([true, true, true, true]);
      expect(await t.story(handle)).toHaveLength(2);
    },
  };
});
