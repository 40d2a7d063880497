// Many concurrent instances, and runtimes with the smallest limits: instances do not affect each other, and all complete.

import { expect } from "vitest";
import { activity, orchestration } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

const ONE_BY_ONE = {
  turnConcurrency: 1,
  activityConcurrency: 1,
  stepConcurrency: 1,
  leaseBatch: 1,
};

scenario("parallel instances with equal and different activities get the right results", (t) => {
  const seen: string[] = [];
  const acts = ["x", "y", "z"].map((name) =>
    activity(name, (input: string, { info }) => {
      seen.push(info.instanceId);
      return `${name}(${input})`;
    }),
  );
  const main = orchestration("main", async (ctx, names: readonly string[]) => {
    let value = ctx.info.instanceId;
    for (const name of names) value = String(await ctx.run(name, value));
    return value;
  });
  return {
    register: [...acts, main],
    run: async () => {
      const plans = [["x"], ["x", "x"], ["x", "y", "z"], ["z", "y"]];
      const handles = await Promise.all(
        Array.from({ length: 60 }, (_, n) =>
          t.client.start(main, plans[n % plans.length] ?? [], { id: `i${n}` }),
        ),
      );
      for (const [n, handle] of handles.entries()) {
        const plan = plans[n % plans.length] ?? [];
        const expected = plan.reduce((value, name) => `${name}(${value})`, `i${n}`);
        expect(await t.result(handle)).toBe(expected);
      }
      expect(seen).toHaveLength(15 * (1 + 2 + 3 + 2));
    },
  };
});

scenario("at most activityConcurrency activities run at once, and all of them run", (t) => {
  const work = t.gate<number, number>("work");
  const inputs = [1, 2, 3, 4, 5, 6, 7, 8];
  const main = orchestration("main", async (ctx) =>
    ctx.all(inputs.map((n) => ctx.run(work.activity, n))),
  );
  return {
    register: [work.activity, main],
    runtime: { activityConcurrency: 3 },
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      for (const [over, n] of [2, 1, 3, 4, 5, 6, 7, 8].entries()) {
        expect(work.waiting).toHaveLength(Math.min(3, inputs.length - over));
        await work.finish(n, n);
      }
      expect(await t.result(handle)).toEqual(inputs);
    },
  };
});

scenario("with one turn, one activity and one step at a time all work completes", () => {
  const act = activity("act", (n: number) => n + 1);
  const child = orchestration("child", async (ctx, n: number) => ctx.run(act, n));
  const main = orchestration("main", async (ctx, n: number): Promise<number> => {
    const [a, b] = await ctx.all([ctx.run(act, n), ctx.call(child, n)]);
    const c = await ctx.step("c", () => 100);
    await ctx.sleep("1s");
    return n > 1 ? ctx.continueAsNew(n - 1) : a + b + c;
  });
  return {
    register: [act, child, main],
    runtime: ONE_BY_ONE,
    run: async (t) => {
      const ids = ["a", "b", "c", "d", "e"];
      const handles = await Promise.all(ids.map((id) => t.client.start(main, 2, { id })));
      await t.advance("10s");
      for (const handle of handles) expect(await t.result(handle)).toBe(104);
    },
  };
});

scenario("a cancelled activity that returns frees the only slot for the next one", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.race({ work: ctx.run(work.activity, "slow"), late: ctx.sleep("1s") });
    return [first.key, await ctx.run(work.activity, "next")];
  });
  return {
    register: [work.activity, main],
    runtime: ONE_BY_ONE,
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      await work.finishVisit(0, "returned"); // a handler that reacts to its signal
      await work.finish("next", "done");
      expect(await t.result(handle)).toEqual(["late", "done"]);
    },
  };
});

scenario("a handler that ignores its signal loses the only slot after the grace period", (t) => {
  const work = t.gate<string, string>("work");
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.race({ work: ctx.run(work.activity, "deaf"), late: ctx.sleep("1s") });
    return [first.key, await ctx.run(work.activity, "next")];
  });
  return {
    register: [work.activity, main],
    runtime: { ...ONE_BY_ONE, cancelGraceMs: 10_000 },
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("10s");
      expect(work.inputs).toEqual(["deaf"]);
      await t.advance("1s");
      await work.finish("next", "done");
      expect(await t.result(handle)).toEqual(["late", "done"]);
    },
  };
});

scenario("queued activities run by priority, then by age", (t) => {
  const work = t.gate<string>("work");
  const main = orchestration("main", async (ctx) => {
    const first = ctx.run(work.activity, "first");
    await ctx.sleep("1s");
    const later = [3, 5, 1, 3, 1].map((priority, n) =>
      ctx.run(work.activity, `${priority}${"abcde"[n]}`, { priority }),
    );
    await ctx.all([first, ...later]);
  });
  return {
    register: [work.activity, main],
    runtime: { activityConcurrency: 1 },
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      for (let n = 0; n < 6; n++) await work.finish(work.waiting[0] ?? "none", null);
      await t.result(handle);
      expect(work.inputs).toEqual(["first", "1c", "1e", "3a", "3d", "5b"]);
    },
  };
});

// "patient" has waited for eleven seconds when "urgent" is scheduled two priorities above it.
for (const [priorityAgeingMs, order] of [
  [5_000, ["first", "patient", "urgent"]],
  [6_000, ["first", "urgent", "patient"]],
] as const) {
  scenario(
    `priority ageing: ${priorityAgeingMs} ms of waiting are worth one priority level`,
    (t) => {
      const work = t.gate<string>("work");
      const main = orchestration("main", async (ctx) => {
        const first = ctx.run(work.activity, "first");
        await ctx.sleep("1s");
        const patient = ctx.run(work.activity, "patient", { priority: 5 });
        await ctx.sleep("11s");
        const urgent = ctx.run(work.activity, "urgent", { priority: 3 });
        await ctx.all([first, patient, urgent]);
      });
      return {
        register: [work.activity, main],
        runtime: { activityConcurrency: 1, priorityAgeingMs },
        run: async () => {
          const handle = await t.client.start(main, undefined, { id: "i" });
          await t.advance("12s");
          for (const input of order) await work.finish(input, null);
          await t.result(handle);
          expect(work.inputs).toEqual(order);
        },
      };
    },
  );
}

scenario("with a cache of one instance, many instances replay and complete", () => {
  const act = activity("act", (n: number) => n * 2);
  const main = orchestration("main", async (ctx, n: number) => {
    const a = await ctx.run(act, n);
    const b = await ctx.waitFor("b");
    return [a, b, await ctx.run(act, a)];
  });
  return {
    register: [act, main],
    runtime: { stickyCacheMax: 1 },
    run: async (t) => {
      const handles = await Promise.all(
        Array.from({ length: 12 }, (_, n) => t.client.start(main, n, { id: `i${n}` })),
      );
      await t.settle();
      for (const [n, handle] of handles.entries()) await handle.raise("b", `b${n}`);
      for (const [n, handle] of handles.entries()) {
        expect(await t.result(handle)).toEqual([n * 2, `b${n}`, n * 4]);
      }
    },
  };
});

scenario("two processes on one store share the work, and no activity runs twice", () => {
  const runs = new Map<string, number>();
  const act = activity("act", (key: string) => void runs.set(key, (runs.get(key) ?? 0) + 1));
  const main = orchestration("main", async (ctx, n: number) => {
    for (let i = 0; i < 5; i++) await ctx.run(act, `${n}.${i}`);
    await ctx.sleep("1m");
    await ctx.run(act, `${n}.last`);
    return n;
  });
  return {
    register: [act, main],
    run: async (t) => {
      const first = t.process;
      const second = await t.boot();
      const handles = await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          (n % 2 === 0 ? first : second).client.start(main, n, { id: `i${n}` }),
        ),
      );
      await t.advance("2m");
      for (const [n, handle] of handles.entries()) expect(await t.result(handle)).toBe(n);
      expect(runs.size).toBe(240);
      expect([...runs.values()].every((count) => count === 1)).toBe(true);
    },
  };
});

scenario("an instance that receives a hundred messages while it works reads each once", (t) => {
  const work = t.gate<number>("work");
  const main = orchestration("main", async (ctx) => {
    const read: unknown[] = [];
    for (let n = 0; n < 100; n++) {
      read.push(await ctx.waitFor("m"));
      if (n % 25 === 0) await ctx.run(work.activity, n);
    }
    return read;
  });
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      const sends: Promise<void>[] = [];
      for (let n = 0; n < 100; n++) {
        sends.push(handle.raise("m", n));
        if (n % 30 === 0) await t.settle();
      }
      await Promise.all(sends);
      for (const n of [0, 25, 50, 75]) await work.finish(n, null);
      expect(await t.result(handle)).toEqual(Array.from({ length: 100 }, (_, n) => n));
    },
  };
});
