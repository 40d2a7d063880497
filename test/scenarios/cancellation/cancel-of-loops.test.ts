// An execution receives a pending cancel before all other messages, also across continueAsNew (semantics 4b, 19).

import { expect } from "vitest";
import { activity, isPerdureError, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const differs = {
  in: "everything" as const,
  because: "the number of executions before the cancel depends on timing",
};

scenario("a cancel ends an instance that continues as new without ever waiting", () => {
  const loop = orchestration("loop", async (ctx, n: number): Promise<never> =>
    ctx.continueAsNew(n + 1),
  );
  return {
    register: [loop],
    differs,
    run: async (t) => {
      const handle = await t.client.start(loop, 0, { id: "loop" });
      await handle.cancel({ reason: "enough" });
      const { execution } = await handle.describe();
      expect(await t.failure(handle)).toMatchObject({ message: "cancelled: enough" });
      const ended = await handle.describe();
      expect(ended).toMatchObject({ status: "cancelled", cancelled: { reason: "enough" } });
      expect(ended.execution - execution).toBeLessThanOrEqual(2);
    },
  };
});

scenario("a cancelled loop of one activity per execution cleans up behind a shield", (t) => {
  const work = activity("work", (n: number) => n + 1);
  const cleaned: number[] = [];
  const release = activity("release", (n: number) => void cleaned.push(n));
  const loop = orchestration("loop", async (ctx, n: number): Promise<never> => {
    try {
      return await ctx.continueAsNew(await ctx.run(work, n));
    } finally {
      if (ctx.info.cancelRequested) await ctx.shield(() => ctx.run(release, n));
    }
  });
  return {
    register: [work, release, loop],
    differs,
    run: async () => {
      const handle = await t.client.start(loop, 0, { id: "loop" });
      await handle.cancel();
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
      expect(cleaned).toHaveLength(1);
    },
  };
});

scenario(
  "an execution that was cancelled before its start still runs its code, and replays",
  () => {
    const seen: unknown[] = [];
    const actor = orchestration("actor", async (ctx): Promise<unknown> => {
      seen.push(ctx.info.cancelRequested);
      await ctx
        .sleep("1s")
        .catch((error: unknown) => seen.push(isPerdureError(error, "CANCELLED")));
      await ctx.shield(() => ctx.sleep("1h")); // long enough for another process to take over
      return "ended in order";
    });
    return {
      register: [],
      run: async (t) => {
        await t.client.start("actor", 1, { id: "actor" });
        await t.client.get("actor").cancel({ reason: "stop" });
        await t.deploy([actor]);
        await t.settle();
        await t.deploy([actor]);
        await t.advance("2h");
        const handle = t.client.get("actor");
        expect(await t.failure(handle)).toMatchObject({ message: "cancelled: stop" });
        expect(new Set(seen)).toEqual(new Set([true]));
        expect(await t.story(handle)).toEqual([
          "OrchestrationStarted",
          "OrchestrationCancelRequested",
          "TimerCreated",
          "TimerFired 3",
          "OrchestrationFailed cancelled",
        ]);
      },
    };
  },
);

scenario("a cancel reaches an actor before its backlog of messages", () => {
  const actor = orchestration("actor", async (ctx, n: number): Promise<never> => {
    await ctx.waitFor("message");
    return ctx.continueAsNew(n + 1);
  });
  return {
    register: [],
    run: async (t) => {
      const handle = await t.client.start("actor", 0, { id: "actor" });
      await Promise.all(Array.from({ length: 1_100 }, (_, n) => handle.raise("message", n)));
      await handle.cancel();
      await t.deploy([actor]);
      const again = t.client.get("actor");
      expect(await t.failure(again)).toMatchObject({ kind: "cancelled" });
      expect((await again.describe()).execution).toBe(1);
      const { items, cursor = "" } = await again.unread({ limit: 1_000 });
      const rest = await again.unread({ limit: 1_000, cursor });
      expect([...items, ...rest.items]).toHaveLength(1_100);
    },
  };
});

scenario("cancelling a parent also ends a child that keeps continuing as new", () => {
  const child = orchestration("child", async (ctx, n: number): Promise<never> =>
    ctx.continueAsNew(n + 1),
  );
  const parent = orchestration("parent", (ctx) => ctx.call(child, 0, { id: "child" }));
  return {
    register: [child, parent],
    differs,
    run: async (t) => {
      const handle = await t.client.start(parent, undefined, { id: "parent" });
      await expect
        .poll(() =>
          t.client
            .get("child")
            .describe()
            .then((one) => one.execution),
        )
        .toBeGreaterThan(1);
      await handle.cancel();
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
      expect(await t.failure(t.client.get("child"))).toMatchObject({ kind: "cancelled" });
    },
  };
});
