// Inputs and outputs of activities: values, schemas, defaults (I10, semantics 28).

import { expect } from "vitest";
import {
  activity,
  ActivityError,
  isPerdureError,
  orchestration,
  type StandardSchema,
} from "../../../src/index.ts";
import { scenario } from "../support/scenario.ts";

scenario("values of every type are unchanged after input and output", () => {
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

scenario("inputs and outputs are copies, never the live object (I10)", () => {
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

scenario("a result that cannot be serialized fails the call without a retry, with its path", () => {
  let runs = 0;
  const leak = activity("leak", () => {
    runs++;
    return { items: [1, () => 2] };
  });
  const main = orchestration("main", async (ctx) => {
    const error = await ctx.run(leak, undefined, { attempts: 5 }).catch((e: unknown) => e);
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

scenario("an input that cannot be serialized throws at the call and records nothing", () => {
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

scenario("the worker checks an activity's input and output against the schemas", () => {
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

scenario("an option of a call replaces the activity's default for that option", (t) => {
  const work = t.gate<string>("work", { timeout: "5s", attempts: 2, priority: 4 });
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
