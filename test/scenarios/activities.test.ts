// Activities: routing of results, what they receive, what they may return.

import { expect } from "vitest";
import {
  activity,
  ActivityError,
  isPerdureError,
  orchestration,
  type StandardSchema,
} from "../../src/index.ts";
import { scenario } from "./support/scenario.ts";

scenario("an activity's result comes back to its orchestration", () => {
  const greet = activity("greet", (name: string) => `Hello, ${name}!`);
  const hello = orchestration("hello", (ctx, name: string) => ctx.run(greet, name));
  return {
    register: [greet, hello],
    run: async (t) => {
      const handle = await t.client.start(hello, "Ada", { id: "h" });
      expect(await t.result(handle)).toBe("Hello, Ada!");
      expect(await t.story(handle)).toEqual([
        "OrchestrationStarted",
        "ActivityScheduled greet",
        "ActivityCompleted 2",
        "OrchestrationCompleted",
      ]);
    },
  };
});

scenario("two calls of one name and input get each its own result, also after a restart", (t) => {
  const roll = t.gate<string, number>("roll");
  const twice = orchestration("twice", (ctx) =>
    ctx.all([ctx.run(roll.activity, "die"), ctx.run(roll.activity, "die")]),
  );
  return {
    register: [roll.activity, twice],
    run: async () => {
      const handle = await t.client.start(twice, undefined, { id: "i" });
      await roll.finishVisit(1, 2);
      await t.deploy();
      await roll.finish("die", 1);
      expect(roll.inputs).toEqual(["die", "die", "die"]); // the aborted first one ran again
      expect(await t.result(handle)).toEqual([1, 2]);
    },
  };
});

scenario("an activity is called by its name, and without an input", () => {
  const count = activity("count", (input: undefined) => [typeof input]);
  const main = orchestration("main", async (ctx) => [
    await ctx.run("count"),
    await ctx.run(count),
    await ctx.run(count, undefined, { priority: 1 }),
  ]);
  return {
    register: [count, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual([["undefined"], ["undefined"], ["undefined"]]);
    },
  };
});

scenario("values of every kind arrive as they were sent, in both directions", () => {
  const values = {
    date: new Date(Date.UTC(2026, 1, 3)),
    map: new Map<string, bigint>([["a", 10n ** 30n]]),
    set: new Set([1, "1"]),
    bytes: new Uint8Array([0, 255]),
    numbers: [NaN, -0, Infinity],
    none: undefined,
    nothing: null,
    text: "ü🙂\u2028",
    pattern: /a+/gi,
    __proto__like: JSON.parse('{"__proto__": 1}') as unknown,
  };
  const echo = activity("echo", (input: typeof values) => input);
  const main = orchestration("main", async (ctx, input: typeof values) => {
    const once = await ctx.run(echo, input);
    return ctx.run(echo, once);
  });
  return {
    register: [echo, main],
    run: async (t) => {
      const handle = await t.client.start(main, values, { id: "i" });
      const output = await t.result(handle);
      expect(output).toEqual(values);
      expect(Object.is(output.numbers[1], -0)).toBe(true);
      expect("none" in output).toBe(true);
    },
  };
});

scenario("what is handed on is a copy, never the live object (I10)", () => {
  const kept: { n: number }[] = [];
  const grow = activity("grow", (box: { n: number }) => {
    box.n += 1;
    kept.push(box);
    return box;
  });
  const main = orchestration("main", async (ctx) => {
    const box = { n: 1 };
    const task = ctx.run(grow, box);
    box.n = 100;
    const grown = await task;
    for (const other of kept) other.n = -1;
    return [box.n, grown.n];
  });
  return {
    register: [grow, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual([100, 2]);
    },
  };
});

scenario("an activity knows its call: attempt, key, place", (t) => {
  const work = t.gate<number>("work");
  const main = orchestration(
    "main",
    async (ctx) => {
      await ctx.run(work.activity, 1, { retry: 2 });
      await ctx.run(work.activity, 2);
    },
    { version: "2.1.0" },
  );
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i", priority: 2 });
      await work.fail(1, new Error("once more"));
      await t.advance("100ms");
      await work.finish(1, null);
      await work.finish(2, null);
      await t.result(handle);
      const [first, second, other] = work.visits.map((visit) => visit.context);
      expect([first?.attempt, second?.attempt, other?.attempt]).toEqual([1, 2, 1]);
      expect(first?.idempotencyKey).toBe(second?.idempotencyKey);
      expect(first?.idempotencyKey).not.toBe(other?.idempotencyKey);
      const place = { instanceId: "i", executionId: 1, activity: "work", sequence: 2 };
      const of = { orchestration: "main", orchestrationVersion: "2.1.0", priority: 2 };
      expect(first?.info).toMatchObject({ ...place, ...of });
      expect(second?.info).toMatchObject({ ...place, ...of });
    },
  };
});

scenario("what an activity throws is restored as the cause of an ActivityError", () => {
  const pay = activity("pay", () => {
    const cause = new RangeError("limit is 10");
    throw Object.assign(new TypeError("declined", { cause }), { amount: 12, code: "E_LIMIT" });
  });
  const main = orchestration("main", async (ctx) => {
    try {
      return await ctx.run(pay);
    } catch (error) {
      if (!(error instanceof ActivityError) || !(error.cause instanceof TypeError)) throw error;
      const { cause } = error;
      return {
        ...{ code: error.code, kind: error.kind, attempts: error.attempts, name: error.activity },
        ...{ message: error.message, inner: cause.cause instanceof RangeError },
        amount: "amount" in cause ? cause.amount : null,
      };
    }
  });
  return {
    register: [pay, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual({
        ...{ code: "ACTIVITY_FAILED", kind: "application", attempts: 1, name: "pay" },
        ...{ message: "declined", inner: true, amount: 12 },
      });
    },
  };
});

scenario("a result that cannot be stored fails the call, with its path and without a retry", () => {
  let runs = 0;
  const leak = activity("leak", () => {
    runs++;
    return { items: [1, () => 2] };
  });
  const main = orchestration("main", async (ctx) => {
    const error = await ctx.run(leak, undefined, { retry: 5 }).catch((e: unknown) => e);
    return error instanceof ActivityError && isPerdureError(error.cause)
      ? [error.cause.code, error.cause.path, error.attempts]
      : error;
  });
  return {
    register: [leak, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toEqual(["VALUE_NOT_SERIALIZABLE", "$.items[1]", 1]);
      expect(runs).toBe(1);
    },
  };
});

scenario("an input that cannot be stored throws at the call, and nothing is recorded", () => {
  const work = activity("work", (input: unknown) => input);
  const main = orchestration("main", async (ctx) => {
    try {
      void ctx.run(work, { when: Symbol("now") });
    } catch (error) {
      return isPerdureError(error) ? `${error.code} ${String(error.path)}` : error;
    }
    return "accepted";
  });
  return {
    register: [work, main],
    run: async (t) => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      expect(await t.result(handle)).toBe("VALUE_NOT_SERIALIZABLE $.when");
      expect(await t.story(handle)).toEqual(["OrchestrationStarted", "OrchestrationCompleted"]);
    },
  };
});

scenario("schemas check an activity's input and output at the worker", () => {
  const entered: number[] = [];
  const half = activity(
    "half",
    (n) => {
      entered.push(n);
      return n / 2;
    },
    { input: whole, output: whole },
  );
  const main = orchestration("main", async (ctx, list: readonly number[]) => {
    const results = await ctx.allSettled(list.map((n) => ctx.run(half, n)));
    return results.map((r) => (r.status === "fulfilled" ? r.value : String(r.reason)));
  });
  return {
    register: [half, main],
    run: async (t) => {
      const handle = await t.client.start(main, [4, 0.5, 3], { id: "i" });
      const [good, badInput, badOutput] = await t.result(handle);
      expect(good).toBe(2);
      expect(badInput).toContain('input of activity "half"');
      expect(badOutput).toContain('output of activity "half"');
      expect(entered.splice(0)).toEqual([4, 3]);
    },
  };
});

scenario("what a call asks for replaces the activity's defaults, part by part", (t) => {
  const work = t.gate<string>("work", { timeout: "5s", retry: 2, priority: 4 });
  const main = orchestration("main", (ctx) =>
    ctx.all([ctx.run(work.activity, "a"), ctx.run(work.activity, "b", { timeout: "1m" })]),
  );
  return {
    register: [work.activity, main],
    run: async () => {
      const handle = await t.client.start(main, undefined, { id: "i" });
      await work.finish("a", null);
      await work.finish("b", null);
      const scheduled = (await t.events(handle)).filter((e) => e.kind === "ActivityScheduled");
      expect(scheduled).toMatchObject([
        { timeoutMs: 5_000, retry: { maxAttempts: 2 }, priority: 4 },
        { timeoutMs: 60_000, retry: { maxAttempts: 2 }, priority: 4 },
      ]);
    },
  };
});

const whole: StandardSchema<number, number> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      typeof value === "number" && Number.isInteger(value)
        ? { value }
        : { issues: [{ message: "not whole" }] },
  },
};
