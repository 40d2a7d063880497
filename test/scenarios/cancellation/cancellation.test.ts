// Cancelling an instance: history records the cancel, the code may clean up, the instance ends as cancelled (semantics 19).

import { expect } from "vitest";
import { CancelledError, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario(
  "the awaits of a cancelled instance reject in schedule order, and it ends as cancelled",
  (t) => {
    const work = t.gate<string>("work");
    const rejections: string[] = [];
    const main = orchestration("main", async (ctx) => {
      const note = (name: string) => (error: unknown) => {
        if (!ctx.info.isReplaying) rejections.push(`${name} ${String(error)}`);
      };
      await Promise.all([
        ctx.run(work.activity, "w").catch(note("activity")),
        ctx.sleep("1h").catch(note("timer")),
        ctx.waitFor("x").catch(note("event")),
      ]);
      return "the value does not matter";
    });
    return {
      register: [work.activity, main],
      run: async () => {
        const handle = await t.client.start(main, undefined, { id: "i" });
        await t.settle();
        await handle.cancel({ reason: "no stock", by: "ada" });
        expect(await t.failure(handle)).toMatchObject({
          code: "CANCELLED",
          kind: "cancelled",
          message: "cancelled: no stock",
        });
        expect(rejections).toEqual([
          "activity CancelledError: cancelled: no stock",
          "timer CancelledError: cancelled: no stock",
          "event CancelledError: cancelled: no stock",
        ]);
        expect(await handle.describe()).toMatchObject({
          status: "cancelled",
          cancelled: { reason: "no stock", by: "ada" },
          waitingFor: [],
        });
        expect(await t.story(handle)).toEqual([
          "OrchestrationStarted",
          "ActivityScheduled work",
          "TimerCreated",
          "EventSubscribed x",
          "OrchestrationCancelRequested",
          "ActivityCancelRequested 2",
          "TimerCancelled 3",
          "EventSubscriptionCancelled 4",
          "OrchestrationFailed cancelled",
        ]);
        expect(work.aborts).toEqual([expect.any(CancelledError)]);
      },
    };
  },
);

scenario("cleanup behind a shield runs to its end, however long it takes", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    try {
      await ctx.run(work.activity, "do");
    } catch (error) {
      await ctx.shield(async () => {
        await ctx.run(work.activity, "undo");
        await ctx.sleep("10m");
        await ctx.run(work.activity, "report");
      });
      throw error;
    }
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.cancel("stop");
      await work.finish("undo", null);
      await t.deploy();
      await t.advance("10m");
      expect(await handle.describe()).toMatchObject({ status: "running" });
      await work.finish("report", null);
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
      expect(work.inputs).toEqual(["do", "undo", "report"]);
    },
  };
});

scenario("a call after the cancel records nothing and rejects", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const rejections: unknown[] = [];
    await ctx.sleep("1d").catch(() => undefined);
    rejections.push(await ctx.run(work.activity, "no").catch(String));
    rejections.push(await ctx.sleep("1s").catch(String));
    rejections.push(await ctx.waitFor("e").catch(String));
    rejections.push(await ctx.call(main).catch(String));
    rejections.push(await ctx.step("s", () => 1).catch(String));
    rejections.push(await ctx.continueAsNew(undefined).catch(String));
    void ctx.startDetached(main, undefined, { id: "ghost" });
    ctx.log.info("rejections", { rejections });
    throw new Error(
      rejections.every((line) => line === "CancelledError: cancelled: stop") ? "ok" : "?",
    );
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.cancel("stop");
      await t.failure(handle);
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "TimerCreated",
        "OrchestrationCancelRequested",
        "TimerCancelled 2",
        "OrchestrationFailed cancelled",
      ]);
      expect(work.visits).toEqual([]);
      expect(await t.client.get("ghost").exists()).toBe(false);
      expect(t.messages).toEqual(["rejections"]);
    },
  };
});

scenario("an instance that keeps ignoring its cancellation is terminated", () => {
  const main = orchestration("main", async (ctx) => {
    for (;;) await ctx.sleep("1h").catch(() => undefined);
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.cancel("stop");
      expect(await t.failure(handle)).toMatchObject({
        kind: "terminated",
        message: expect.stringContaining("ignored its cancellation"),
      });
    },
  };
});

scenario("an instance is terminated if its cleanup exceeds cancelTimeout", () => {
  const main = orchestration("main", (ctx) => ctx.shield(() => ctx.sleep("2d")));
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.cancel("stop");
      await t.advance("30m");
      await t.deploy();
      await t.advance("29m");
      expect(await handle.describe()).toMatchObject({ status: "running" });
      await t.advance("1m");
      expect(await t.failure(handle)).toMatchObject({ kind: "terminated", code: "TERMINATED" });
    },
  };
});

scenario("code behind a shield sees the cancel in ctx.info.cancelRequested", () => {
  const main = orchestration("main", async (ctx) => {
    const seen = await ctx.shield(async () => {
      const before = ctx.info.cancelRequested;
      await ctx.sleep("1m");
      return [before, ctx.info.cancelRequested];
    });
    ctx.log.info(JSON.stringify(seen));
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.cancel("stop");
      await t.advance("1m");
      await t.failure(handle);
      expect(t.messages).toEqual(["[false,true]"]);
    },
  };
});
