// Inline steps: run in the process that holds the instance, recorded once (semantics 17).

import { expect } from "vitest";
import {
  isPerdureError,
  NonRetryableError,
  orchestration,
  RetryAfterError,
  StepError,
  type StepContext,
} from "../../src/index.ts";
import { scenario } from "./support/scenario.ts";

scenario("a step's value is recorded, and the step is not run again", () => {
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

scenario("a step is tried again after its back-off, and history counts the attempts", (t) => {
  const begun = t.now();
  const entered: number[] = [];
  const main = orchestration("main", (ctx) =>
    ctx.step(
      "flaky",
      ({ attempt }) => {
        entered.push(t.now() - begun);
        if (attempt === 2) throw new RetryAfterError("10s");
        if (attempt < 4) throw new Error(`attempt ${attempt}`);
        return attempt;
      },
      { retry: { maxAttempts: 5, backoff: { kind: "linear", base: "1s" } } },
    ),
  );
  return {
    register: [main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("1s");
      expect((await handle.describe()).waitingFor).toEqual([
        { kind: "step", sequence: 2, name: "flaky", attempt: 3 },
      ]);
      await t.advance("1m");
      expect(entered).toEqual([0, 1_000, 11_000, 14_000]);
      expect(await t.result(handle)).toBe(4);
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "StepScheduled flaky",
        "StepAttemptFailed 2",
        "StepAttemptFailed 2",
        "StepAttemptFailed 2",
        "StepCompleted 2",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("a step that uses up its attempts, or must not be repeated, is a StepError", () => {
  const main = orchestration("main", async (ctx) => {
    const told: string[] = [];
    const tell = (error: unknown): void => {
      if (error instanceof StepError) told.push(`${error.step} ${error.message} ${error.attempts}`);
    };
    const retry = { maxAttempts: 2, backoff: { kind: "none" } } as const;
    await ctx.step("plain", () => Promise.reject(new Error("no"))).catch(tell);
    await ctx.step("twice", () => Promise.reject(new Error("no")), { retry }).catch(tell);
    const hopeless = (): never => {
      throw new NonRetryableError("hopeless");
    };
    await ctx.step("final", hopeless, { retry }).catch(tell);
    return told;
  });
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual(["plain no 1", "twice no 2", "final hopeless 1"]);
    },
  };
});

scenario("a step that takes too long is aborted and tried again", (t) => {
  const signals: AbortSignal[] = [];
  const main = orchestration("main", (ctx) =>
    ctx.step(
      "slow",
      ({ signal, attempt }) => {
        signals.push(signal);
        return attempt === 1 ? new Promise<number>(() => undefined) : attempt;
      },
      { timeout: "2s", retry: 2 },
    ),
  );
  return {
    register: [main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("2s");
      expect(isPerdureError(signals[0]?.reason, "TIMEOUT")).toBe(true);
      await t.advance("100ms");
      expect(await t.result(handle)).toBe(2);
    },
  };
});

scenario("parallel steps end in any order, each for its own call", () => {
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

scenario("a cancelled step is aborted, its await rejects, its late outcome is dropped", (t) => {
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
      expect(await t.result(handle)).toBe("CancelledError: canceled: no longer needed");
      expect(await t.story(handle)).not.toContain("StepCompleted 2");
    },
  };
});

scenario("ctx inside a step is refused: a step is given values", () => {
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

scenario("a step whose process dies is run again under the same key", (t) => {
  const keys: string[] = [];
  let finish: ((value: string) => void) | undefined;
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.step("first", () => "kept");
    const second = await ctx.step("second", ({ idempotencyKey }: StepContext) => {
      keys.push(idempotencyKey);
      return new Promise<string>((resolve) => (finish = resolve));
    });
    return [first, second];
  });
  return {
    register: [main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.crashAndRecover();
      expect(keys).toHaveLength(2);
      expect(keys[0]).toBe(keys[1]);
      finish?.("again");
      expect(await t.result(t.client.get(main, handle.id))).toEqual(["kept", "again"]);
    },
  };
});

scenario("a step that waits for its next attempt survives a restart", () => {
  let fails = true;
  const main = orchestration("main", (ctx) =>
    ctx.step(
      "later",
      ({ attempt }) => {
        if (fails) throw new Error("not yet");
        return attempt;
      },
      { retry: { maxAttempts: 3, backoff: { kind: "fixed", base: "1h" } } },
    ),
  );
  return {
    register: [main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await t.advance("30m");
      await t.deploy();
      fails = false;
      await t.advance("29m");
      expect((await handle.describe()).status).toBe("running");
      await t.advance("1m");
      expect(await t.result(handle)).toBe(2);
    },
  };
});

scenario("no more steps than stepConcurrency run at once; the others wait in order", (t) => {
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
