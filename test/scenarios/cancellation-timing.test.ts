// When a cancel comes: before the first turn, with the last, twice, for another execution.

import { expect } from "vitest";
import { isPerdureError, orchestration } from "../../src/index.ts";
import { scenario } from "./support/scenario.ts";

const codeOf = (error: unknown): unknown => (isPerdureError(error) ? error.code : error);

scenario("a second cancel changes nothing: the first one's reason stands", () => {
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
      expect(await t.failure(handle)).toMatchObject({ message: "canceled: first" });
    },
  };
});

scenario("two cancels at once are one", () => {
  const main = orchestration("main", (ctx) => ctx.sleep("1d"));
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await Promise.all([handle.cancel("one"), handle.cancel("two")]);
      expect(await t.failure(handle)).toMatchObject({ message: "canceled: one" });
    },
  };
});

scenario("a cancel of nobody, or of one that ended, is refused to its sender", () => {
  const main = orchestration("main", async () => "done");
  return {
    register: [main],
    run: async (t) => {
      expect(await t.client.get("nobody").cancel().catch(codeOf)).toBe("INSTANCE_NOT_FOUND");
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toBe("done");
      expect(await handle.cancel().catch(codeOf)).toBe("INSTANCE_FINISHED");
      expect(await handle.describe()).toMatchObject({ status: "completed" });
    },
  };
});

scenario(
  "a cancel before the first turn: the code is cancelled from its first call on (4b)",
  () => {
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
        expect(await t.failure(handle)).toMatchObject({ message: "canceled: never mind" });
        expect(await t.story(handle)).toEqual([
          "OrchestrationStarted",
          "OrchestrationCancelRequested",
          "OrchestrationFailed cancelled",
        ]);
        expect(seen).toEqual([true]);
      },
    };
  },
);

scenario("a cancel of a delayed start ends it before its time, its code not run", () => {
  let ran = false;
  const main = orchestration("main", async () => {
    ran = true;
  });
  return {
    register: [main],
    outdated: ["i"], // the store wrote the end; no code did
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i", delay: "1d" });
      await handle.cancel("not today");
      expect(await t.failure(handle)).toMatchObject({ message: "canceled: not today" });
      await t.advance("2d");
      expect(ran).toBe(false);
    },
  };
});

scenario("a cancel that meets the last completion: the instance ends as cancelled", (t) => {
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

scenario("a cancel reaches the execution that is there when it is read", () => {
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
    await ctx.event("go");
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
