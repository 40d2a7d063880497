// Effects of cancel, terminate and the end of an instance on its children, activities and steps.

import { expect } from "vitest";
import { CancelledError, ChildError, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const sleeper = orchestration("sleeper", async (ctx) => {
  await ctx.sleep("1d");
  return "slept";
});

scenario("a cancel reaches children and grandchildren, but not detached instances", () => {
  const middle = orchestration("middle", (ctx) => ctx.call(sleeper, undefined, { id: "leaf" }));
  const main = orchestration("main", async (ctx) => {
    void ctx.startDetached(sleeper, undefined, { id: "detached" });
    await ctx.all([
      ctx.call(middle, undefined, { id: "middle" }),
      ctx.call(sleeper, undefined, { id: "second" }),
    ]);
  });
  return {
    register: [sleeper, middle, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "top" });
      await t.settle();
      await handle.cancel("shut down");
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
      for (const id of ["middle", "leaf", "second"]) {
        expect(await t.client.get(id).describe(), id).toMatchObject({
          status: "cancelled",
          cancelled: { reason: "shut down", by: "parent" },
        });
      }
      expect(await t.client.get("detached").describe()).toMatchObject({ status: "running" });
    },
  };
});

scenario("the parent of a directly cancelled child receives a ChildError", () => {
  const main = orchestration("main", async (ctx) => {
    const error = await ctx.call(sleeper, undefined, { id: "kid" }).catch((e: unknown) => e);
    return error instanceof ChildError ? [error.message, error.failure.kind] : error;
  });
  return {
    register: [sleeper, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      await t.settle();
      await t.client.get("kid").cancel("just you");
      expect(await t.result(handle)).toEqual(["cancelled: just you", "cancelled"]);
    },
  };
});

scenario("the parent of a terminated child receives a ChildError", () => {
  const main = orchestration("main", async (ctx) => {
    const error = await ctx.call(sleeper, undefined, { id: "kid" }).catch((e: unknown) => e);
    return error instanceof ChildError ? [error.message, error.failure.kind] : error;
  });
  return {
    register: [sleeper, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      await t.settle();
      await t.client.get("kid").terminate("pulled the plug");
      expect(await t.result(handle)).toEqual(["terminated: pulled the plug", "terminated"]);
    },
  };
});

scenario("terminate runs no code, ends the instance and cancels its tasks and children", (t) => {
  const work = t.gate<string>("work");
  let cleaned = false;
  const main = orchestration("main", async (ctx) => {
    try {
      await ctx.all([
        ctx.run(work.activity, "w"),
        ctx.call(sleeper, undefined, { id: "kid" }),
        ctx.call(sleeper, undefined, { id: "loose", onParentClose: "abandon" }),
      ]);
    } finally {
      cleaned = true;
    }
  });
  return {
    register: [work.activity, sleeper, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.terminate({ reason: "runaway", by: "ops" });
      expect(await t.failure(handle)).toMatchObject({
        kind: "terminated",
        message: "terminated: runaway",
      });
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "ActivityScheduled work",
        "ChildScheduled sleeper",
        "ChildScheduled sleeper",
        "OrchestrationFailed terminated",
      ]);
      expect(await t.client.get("kid").describe()).toMatchObject({ status: "cancelled" });
      expect(await t.client.get("loose").describe()).toMatchObject({ status: "running" });
      expect(work.aborts).toHaveLength(1);
      await work.finishVisit(0, "late");
      await t.advance("2h");
      expect(await t.story(handle)).toHaveLength(5);
      expect(cleaned).toBe(false);
    },
  };
});

scenario("terminate before the first turn leaves a history of two events", () => {
  const main = orchestration("main", async () => "never");
  return {
    register: [main],
    run: async (t) => {
      await t.stop();
      const handle = await t.client.start(main, undefined, { id: "i" });
      await handle.terminate("before the first turn");
      await t.boot();
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "OrchestrationFailed terminated",
      ]);
    },
  };
});

scenario("a cancel removes a queued activity from the queue", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", (ctx) =>
    ctx.all([ctx.run(work.activity, "first"), ctx.run(work.activity, "queued")]),
  );
  return {
    register: [work.activity, main],
    runtime: { activityConcurrency: 1 },
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect(work.inputs).toEqual(["first"]);
      await handle.cancel("stop");
      await work.finishVisit(0, null);
      await t.advance("1h");
      expect(work.inputs).toEqual(["first"]);
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
    },
  };
});

scenario("a cancel aborts an activity that runs in another process", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", (ctx) => ctx.run(work.activity, "far away"));
  return {
    register: [main],
    run: async () => {
      // The worker starts first; otherwise the log may report that no worker registers the activity.
      const { client } = t;
      const worker = await t.boot([work.activity]);
      const handle = await client.start(main, undefined, { id: "i" });
      await t.settle();
      expect(work.waiting).toEqual(["far away"]);
      await handle.cancel("stop");
      await t.settle();
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
      expect(work.aborts).toHaveLength(1);
      expect(worker.perdure.runtime.stats().activities.active).toBe(0);
    },
  };
});

scenario("an orchestration that ends early cancels its open activity and child", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    void ctx.run(work.activity, "w");
    void ctx.call(sleeper, undefined, { id: "kid" });
    await ctx.sleep("1s");
    throw new Error("gave up");
  });
  return {
    register: [work.activity, sleeper, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      expect(await t.failure(handle)).toMatchObject({ kind: "failed", message: "gave up" });
      expect(work.aborts).toEqual([expect.any(CancelledError)]);
      expect(await t.client.get("kid").describe()).toMatchObject({ status: "cancelled" });
    },
  };
});

scenario("cancelling the instance aborts its running step", (t) => {
  let signal: AbortSignal | undefined;
  const main = orchestration("main", async (ctx) => {
    await ctx.step("slow", (s) => {
      signal = s.signal;
      return new Promise(() => undefined);
    });
  });
  return {
    register: [main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.cancel("stop");
      expect(await t.failure(handle)).toMatchObject({ kind: "cancelled" });
      expect(signal?.aborted).toBe(true);
    },
  };
});

scenario("terminate aborts a running step and drops its outcome", (t) => {
  let signal: AbortSignal | undefined;
  let finish: ((value: number) => void) | undefined;
  const main = orchestration("main", (ctx) =>
    ctx.step("slow", (s) => {
      signal = s.signal;
      return new Promise<number>((resolve) => (finish = resolve));
    }),
  );
  return {
    register: [main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await handle.terminate("now");
      await t.settle();
      expect(signal?.aborted).toBe(true);
      finish?.(1);
      expect(await t.failure(handle)).toMatchObject({ kind: "terminated" });
      expect(await t.story(handle)).toHaveLength(3);
    },
  };
});

scenario("a child cancelled by its parent and a client at once is cancelled once", () => {
  const main = orchestration("main", async (ctx) => {
    const kid = ctx.call(sleeper, undefined, { id: "kid" });
    await ctx.waitFor("drop");
    kid.cancel("dropped");
    await kid.catch(() => undefined);
    return "dropped it";
  });
  return {
    register: [sleeper, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "p" });
      await t.settle();
      await Promise.all([t.client.get("kid").cancel("by hand"), handle.raise("drop")]);
      expect(await t.result(handle)).toBe("dropped it");
      expect(await t.client.get("kid").describe()).toMatchObject({
        status: "cancelled",
        cancelled: { reason: "by hand" },
      });
    },
  };
});
