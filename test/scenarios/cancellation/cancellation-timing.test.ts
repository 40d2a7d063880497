// Timing of a cancel: before the first turn, together with a completion, twice, and across executions.

import { expect } from "vitest";
import { isPerdureError, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const codeOf = (error: unknown): unknown => (isPerdureError(error) ? error.code : error);

scenario("a second cancel changes nothing: the reason of the first one remains", () => {
  const main = orchestration("main", (ctx) => ctx.shield(() => ctx.sleep("1m")));
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.cancel("first");
      await t.settle();
      await handle.cancel("second");
      await t.advance("1m");
      expect(await t.failure(handle)).toMatchObject({ message: "cancelled: first" });
    },
  };
});

scenario("of two concurrent cancels only the first counts", () => {
  const main = orchestration("main", (ctx) => ctx.sleep("1d"));
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await Promise.all([handle.cancel("one"), handle.cancel("two")]);
      expect(await t.failure(handle)).toMatchObject({ message: "cancelled: one" });
    },
  };
});

scenario("cancelling an unknown or ended instance is refused", () => {
  const main = orchestration("main", async () => "done");
  return {
    register: [main],
    run: async (t) => {
      expect(await t.client.get("unknown").cancel().catch(codeOf)).toBe("INSTANCE_NOT_FOUND");
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toBe("done");
      expect(await handle.cancel().catch(codeOf)).toBe("INSTANCE_FINISHED");
      expect(await handle.describe()).toMatchObject({ status: "completed" });
    },
  };
});

scenario("after a cancel before the first turn, the first call of the code rejects (4b)", () => {
  const seen: boolean[] = [];
  const main = orchestration("main", async (ctx) => {
    seen.push(ctx.info.cancelRequested);
    await ctx.sleep("1d");
  });
  return {
    register: [main],
    run: async (t) => {
      await t.stop();
      const handle = await t.client.start(main, undefined, { id: "i" });
      await handle.cancel("never mind");
      await t.boot();
      expect(await t.failure(handle)).toMatchObject({ message: "cancelled: never mind" });
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "OrchestrationCancelRequested",
        "OrchestrationFailed cancelled",
      ]);
      expect(seen).toEqual([true]);
    },
  };
});

scenario("cancelling a delayed start ends the instance at once without running its code", () => {
  let ran = false;
  const main = orchestration("main", async () => {
    ran = true;
  });
  return {
    register: [main],
    outdated: ["i"], // the store wrote the end, not the code
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i", delay: "1d" });
      await handle.cancel("not today");
      expect(await t.failure(handle)).toMatchObject({ message: "cancelled: not today" });
      await t.advance("2d");
      expect(ran).toBe(false);
    },
  };
});

scenario("an instance cancelled while its last activity is open ends as cancelled", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "w"));
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await t.stop();
      await handle.cancel("first");
      await t.boot();
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
      expect(work.waiting).toEqual([]);
    },
  };
});

scenario("a cancel reaches the execution that is current when the cancel is read", () => {
  const main = orchestration("main", async (ctx, n: number): Promise<void> => {
    await ctx.sleep("1m");
    return ctx.continueAsNew(n + 1);
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "i" });
      await t.advance("90s");
      await handle.cancel("in the second");
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
      expect(await handle.executions()).toMatchObject([
        { execution: 1, status: "continuedAsNew" },
        { execution: 2, status: "cancelled" },
      ]);
    },
  };
});

scenario("a pending cancel is delivered before an event that was sent earlier (4b)", () => {
  const main = orchestration("main", async (ctx, n: number): Promise<void> => {
    await ctx.waitFor("go");
    return ctx.continueAsNew(n + 1);
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, 1, { id: "i" });
      await t.settle();
      await t.stop();
      await handle.raise("go"); // sent first; with it the execution would continue as new
      await handle.cancel("enough");
      await t.boot();
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
      expect(await t.client.get("i").executions()).toMatchObject([{ status: "cancelled" }]);
      expect((await t.client.get("i").unread()).items).toMatchObject([{ name: "go" }]);
    },
  };
});
