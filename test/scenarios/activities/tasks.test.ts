// Tasks: durable promises with cancel, map and dispose; scheduled at the call, in call order.

import { expect } from "vitest";
import { CancelledError, orchestration, type Task } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario("work is scheduled at the call, in call order, not at the await", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const b = ctx.run(work.activity, "b");
    const timer = ctx.sleep("1m");
    const a = ctx.run(work.activity, "a");
    await timer;
    return [await a, await b];
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      expect(work.inputs).toEqual(["b", "a"]);
      await work.finish("a", "A");
      await work.finish("b", "B");
      await t.advance("1m");
      expect(await t.result(handle)).toEqual(["A", "B"]);
      expect((await t.story(handle)).slice(1, 4)).toEqual([
        "ActivityScheduled work",
        "TimerCreated",
        "ActivityScheduled work",
      ]);
    },
  };
});

scenario("cancelling an activity rejects its await and aborts its handler", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const task = ctx.run(work.activity, "w");
    await ctx.sleep("1m");
    task.cancel("changed my mind");
    const error = await task.catch((reason: unknown) => reason);
    return error instanceof CancelledError ? [error.code, error.reason, error.message] : error;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      expect(await t.result(handle)).toEqual([
        "CANCELLED",
        "changed my mind",
        "cancelled: changed my mind",
      ]);
      expect(work.aborts).toEqual([expect.any(CancelledError)]);
    },
  };
});

scenario("an activity cancelled in the turn of its call is recorded and never entered", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const task = ctx.run(work.activity, "w");
    task.cancel();
    await ctx.sleep("1m");
    return "done";
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1m");
      expect(await t.result(handle)).toBe("done");
      expect((await t.story(handle)).slice(1, 3)).toEqual([
        "ActivityScheduled work",
        "ActivityCancelRequested 2",
      ]);
      expect(work.visits).toEqual([]);
    },
  };
});

scenario("cancelling a settled task, or cancelling a task twice, does nothing", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const done = ctx.run(work.activity, "done");
    const value = await done;
    done.cancel("too late");
    const timer = ctx.sleep("1h");
    timer.cancel("first");
    timer.cancel("second");
    const reason = await timer.catch((error: unknown) => String(error));
    return [value, reason];
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("done", "value");
      expect(await t.result(handle)).toEqual(["value", "CancelledError: cancelled: first"]);
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "ActivityScheduled work",
        "ActivityCompleted 2",
        "TimerCreated",
        "TimerCancelled 4",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("map changes the value, passes on a failure, and cancel reaches the mapped task", (t) => {
  const work = t.gate<string, number>("work");
  const main = orchestration("main", async (ctx) => {
    const doubled: Task<number> = ctx.run(work.activity, "n").map((n) => n * 2);
    const text: Task<string> = doubled.map((n) => `#${n}`);
    const broken = ctx.run(work.activity, "bad").map((n) => n + 1);
    const thrown = ctx.run(work.activity, "m").map((): number => {
      throw new TypeError("in map");
    });
    const cut = ctx.run(work.activity, "cut").map((n) => n);
    const outcomes = [await text];
    outcomes.push(String(await broken.catch((error: unknown) => error)));
    outcomes.push(String(await thrown.catch((error: unknown) => error)));
    cut.cancel("by its map");
    outcomes.push(String(await cut.catch((error: unknown) => error)));
    return outcomes;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("n", 21);
      await work.fail("bad", new Error("broke"));
      await work.finish("m", 1);
      expect(await t.result(handle)).toEqual([
        "#42",
        "ActivityError: broke",
        "TypeError: in map",
        "CancelledError: cancelled: by its map",
      ]);
      expect(work.aborts).toHaveLength(1);
    },
  };
});

scenario("`using` cancels unfinished tasks at the end of the block", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    let value: string;
    {
      using slow = ctx.run(work.activity, "slow");
      using fast = ctx.run(work.activity, "fast");
      value = await fast;
      void slow;
    }
    await ctx.sleep("1s");
    return value;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("fast", "F");
      expect(work.aborts).toEqual([expect.any(CancelledError)]);
      await t.advance("1s");
      expect(await t.result(handle)).toBe("F");
      expect(await t.story(handle)).toContain("ActivityCancelRequested 2");
    },
  };
});

scenario("a task that is awaited twice or late returns the same value each time", (t) => {
  const work = t.gate<string, { n: number }>("work");
  const main = orchestration("main", async (ctx) => {
    const task = ctx.run(work.activity, "w");
    await ctx.sleep("1h");
    const first = await task;
    const second = await task;
    return [first === second, first.n, await Promise.all([task, task]).then((l) => l.length)];
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("w", { n: 5 });
      await t.deploy();
      await t.advance("1h");
      expect(await t.result(handle)).toEqual([true, 5, 2]);
    },
  };
});

scenario("tasks work with Promise.all, allSettled and any", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const run = (name: string) => ctx.run(work.activity, name);
    const all = await Promise.all([run("a"), run("b"), Promise.resolve(3)]);
    const any = await Promise.any([run("c"), run("d")]);
    const settled = await Promise.allSettled([run("e"), run("f")]);
    return [all, any, settled.map((one) => one.status)];
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("b", "B");
      await work.finish("a", "A");
      await work.fail("c", new Error("c"));
      await work.finish("d", "D");
      await work.finish("f", "F");
      await work.fail("e", new Error("e"));
      expect(await t.result(handle)).toEqual([["A", "B", 3], "D", ["rejected", "fulfilled"]]);
    },
  };
});

scenario("cancelling a child's task cancels the child, and the caller continues at once", (t) => {
  const child = orchestration("child", async (ctx) => {
    try {
      await ctx.sleep("1d");
    } finally {
      await ctx.shield(() => ctx.sleep("1m"));
    }
  });
  const main = orchestration("main", async (ctx) => {
    const kid = ctx.call(child, undefined, { id: "kid" });
    await ctx.sleep("1h");
    kid.cancel("not needed");
    await kid.catch(() => undefined);
    return ctx.now();
  });
  return {
    register: [child, main],
    run: async () => {
      const begun = t.now();
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1h");
      expect(await t.result(handle)).toEqual(new Date(begun + 3_600_000));
      expect(await t.client.get("kid").describe()).toMatchObject({ status: "running" });
      await t.advance("1m");
      expect(await t.client.get("kid").describe()).toMatchObject({ status: "cancelled" });
    },
  };
});
