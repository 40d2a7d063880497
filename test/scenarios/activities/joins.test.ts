// Joins: values in the order of the calls, cancellation after the first failure, large joins, tasks without an await.

import { expect } from "vitest";
import { activity, CancelledError, event, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const ping = event<string>("ping");

scenario("all: values are in the order of the list, not in the order of completion", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", (ctx) =>
    ctx.all(["a", "b", "c"].map((name) => ctx.run(work.activity, name))),
  );
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      for (const name of ["c", "a", "b"]) await work.finish(name, name.toUpperCase());
      expect(await t.result(handle)).toEqual(["A", "B", "C"]);
      expect((await t.story(handle)).slice(4, 7)).toEqual([
        "ActivityCompleted 4",
        "ActivityCompleted 2",
        "ActivityCompleted 3",
      ]);
    },
  };
});

scenario("all: the first failure rejects and cancels the other tasks", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const tasks = ["a", "b", "c"].map((name) => ctx.run(work.activity, name));
    const outcome = await ctx.all(tasks).catch((error: unknown) => String(error));
    const settled = await ctx.allSettled(tasks);
    return [outcome, settled.map((one) => (one.status === "rejected" ? String(one.reason) : "ok"))];
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("a", null);
      await work.fail("c", new Error("c broke"));
      expect(await t.result(handle)).toEqual([
        "ActivityError: c broke",
        ["ok", "CancelledError: cancelled: a sibling failed", "ActivityError: c broke"],
      ]);
      expect(work.aborts).toEqual([expect.any(CancelledError)]);
    },
  };
});

scenario("allSettled: waits for all tasks and returns every outcome", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const settled = await ctx.allSettled([
      ctx.run(work.activity, "a"),
      ctx.run(work.activity, "b"),
      ctx.sleep("1m"),
    ]);
    return settled.map((one) => (one.status === "rejected" ? String(one.reason) : one.value));
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.fail("a", new Error("a broke"));
      await t.advance("1m");
      await work.finish("b", "B");
      expect(await t.result(handle)).toEqual(["ActivityError: a broke", "B", undefined]);
    },
  };
});

scenario("a join accepts activities, timers, events, children, steps and plain values", (t) => {
  const work = t.gate<string, string>("work");
  const child = orchestration("child", (ctx) => ctx.waitFor(ping));
  const main = orchestration("main", async (ctx) =>
    ctx.all([
      ctx.run(work.activity, "w"),
      ctx.sleep("1m").map(() => "timer"),
      ctx.waitFor("pong"),
      ctx.call(child, undefined, { id: "kid" }),
      ctx.step("step", () => "step"),
      "a plain value" as never,
    ]),
  );
  return {
    register: [work.activity, child, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await t.client.get("kid").raise("ping", "child");
      await t.settle();
      await handle.raise("pong", "event");
      await t.advance("1m");
      await work.finish("w", "activity");
      expect(await t.result(handle)).toEqual([
        "activity",
        "timer",
        "event",
        "child",
        "step",
        "a plain value",
      ]);
    },
  };
});

scenario("a join of 1,100 activities completes, and each activity runs once", (t) => {
  let runs = 0;
  const double = activity("double", (n: number) => {
    runs++;
    return n * 2;
  });
  const main = orchestration("main", async (ctx, count: number) => {
    const tasks = Array.from({ length: count }, (_, n) => ctx.run(double, n));
    const values = await ctx.all(tasks);
    return values.reduce((sum, value) => sum + value, 0);
  });
  return {
    register: [double, main],
    runtime: { activityConcurrency: 50 },
    differs: { in: "everything", because: "parallel activities may end in any order" },
    run: async () => {
      const handle = await t.client.start(main, 1_100, { id: "i" });
      await t.settle();
      expect(await t.result(handle)).toBe(1_100 * 1_099);
      expect(runs).toBe(1_100);
    },
  };
});

scenario("a replay sees many completions in the order of history", (t) => {
  const work = t.gate<number, number>("work");
  const main = orchestration("main", async (ctx) => {
    const seen: number[] = [];
    const tasks = Array.from({ length: 12 }, (_, n) =>
      ctx.run(work.activity, n).map((value) => void seen.push(value)),
    );
    await ctx.all(tasks);
    return seen;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      const order = [5, 0, 11, 3, 8, 1, 10, 2, 9, 4, 7, 6];
      for (const n of order.slice(0, 6)) await work.finish(n, n);
      await t.deploy();
      for (const n of order.slice(6)) await work.finish(n, n);
      expect(await t.result(handle)).toEqual(order);
    },
  };
});

scenario("activities without an await are cancelled at the end, with one warning", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    void ctx.run(work.activity, "forgotten");
    void ctx.run(work.activity, "forgotten too");
    void ctx.sleep("1h");
    await ctx.sleep("1s");
    return "done";
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      expect(await t.result(handle)).toBe("done");
      expect((await t.story(handle)).slice(-4)).toEqual([
        "ActivityCancelRequested 2",
        "ActivityCancelRequested 3",
        "TimerCancelled 4",
        "OrchestrationCompleted",
      ]);
      expect(work.aborts).toHaveLength(2);
      expect(
        t.messages.filter((line) => line.startsWith("The orchestration ended without")),
      ).toHaveLength(1);
    },
  };
});

scenario("calls made in the last turn are recorded but never run", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    await ctx.sleep("1s");
    void ctx.run(work.activity, "never");
    void ctx.call("nowhere");
    return "done";
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      expect(await t.result(handle)).toBe("done");
      expect((await t.story(handle)).slice(3)).toEqual([
        "ActivityScheduled work",
        "ChildScheduled nowhere",
        "ActivityCancelRequested 4",
        "ChildCancelRequested 5",
        "OrchestrationCompleted",
      ]);
      expect(work.visits).toEqual([]);
      expect(await t.client.get("i::sub::5").exists()).toBe(false);
    },
  };
});

scenario("a failure of an activity without an await does not fail the orchestration", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    void ctx.run(work.activity, "bad");
    await ctx.sleep("1m");
    return "fine";
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.fail("bad", new Error("not awaited"));
      await t.advance("1m");
      expect(await t.result(handle)).toBe("fine");
    },
  };
});
