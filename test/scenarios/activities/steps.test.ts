// Inline steps: they run in the process that holds the instance, and are recorded once (semantics 17).

import { expect } from "vitest";
import { isPerdureError, orchestration, StepError } from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario("the value of a step is recorded, and the step does not run again", () => {
  let runs = 0;
  const main = orchestration("main", async (ctx) => {
    const value = await ctx.step("draw", () => ({ run: ++runs, when: new Date(5) }));
    await ctx.sleep("1m");
    return value;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.settle();
      await t.deploy();
      await t.advance("1m");
      expect(await t.result(handle)).toEqual({ run: 1, when: new Date(5) });
      expect(runs).toBe(1);
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "StepScheduled draw",
        "StepCompleted 2",
        "TimerCreated",
        "TimerFired 4",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("parallel steps can end in any order, and each value reaches its call", () => {
  const doors = new Map<string, (value: string) => void>();
  const wait = (name: string) => new Promise<string>((resolve) => void doors.set(name, resolve));
  const main = orchestration("main", async (ctx) => {
    const order: string[] = [];
    const tasks = ["a", "b", "c"].map((name) =>
      ctx.step(name, () => wait(name)).map((value) => void order.push(value)),
    );
    await ctx.all(tasks);
    return order;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      for (const name of ["c", "a", "b"]) {
        await t.settle();
        doors.get(name)?.(name);
      }
      expect(await t.result(handle)).toEqual(["c", "a", "b"]);
      expect((await t.story(handle)).slice(4, 7)).toEqual([
        "StepCompleted 4",
        "StepCompleted 2",
        "StepCompleted 3",
      ]);
    },
  };
});

scenario("a cancelled step is aborted, its await rejects, and its late outcome is dropped", (t) => {
  let late: ((value: string) => void) | undefined;
  let seen: AbortSignal | undefined;
  const main = orchestration("main", async (ctx) => {
    const task = ctx.step("slow", ({ signal }) => {
      seen = signal;
      return new Promise<string>((resolve) => (late = resolve));
    });
    await ctx.sleep("1s");
    task.cancel("no longer needed");
    const outcome = await task.catch((error: unknown) => String(error));
    await ctx.sleep("1s");
    return outcome;
  });
  return {
    register: [main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      expect(seen?.aborted).toBe(true);
      late?.("late");
      await t.advance("1s");
      expect(await t.result(handle)).toBe("CancelledError: cancelled: no longer needed");
      expect(await t.story(handle)).not.toContain("StepCompleted 2");
    },
  };
});

scenario("using ctx inside a step throws GUARD_VIOLATION", () => {
  const main = orchestration("main", async (ctx) => {
    try {
      return await ctx.step("nested", () => ctx.sleep("1s"));
    } catch (error) {
      return error instanceof StepError && isPerdureError(error.cause) ? error.cause.code : error;
    }
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toBe("GUARD_VIOLATION");
    },
  };
});

scenario("at most stepConcurrency steps run at once; the others wait in order", (t) => {
  let running = 0;
  let most = 0;
  const doors: (() => void)[] = [];
  const main = orchestration("main", async (ctx) => {
    const names = ["a", "b", "c", "d", "e"];
    return ctx.all(
      names.map((name) =>
        ctx.step(name, async () => {
          most = Math.max(most, ++running);
          await new Promise<void>((resolve) => void doors.push(resolve));
          running--;
          return name;
        }),
      ),
    );
  });
  return {
    register: [main],
    runtime: { stepConcurrency: 2 },
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      for (let i = 0; i < 5; i++) {
        await t.settle();
        doors.shift()?.();
      }
      expect(await t.result(handle)).toEqual(["a", "b", "c", "d", "e"]);
      expect(most).toBe(2);
    },
  };
});
