// Misbehaving handlers: they throw values that are not Errors, fail late, or never end (I8).

import { describe, expect, test } from "vitest";
import {
  activity,
  orchestration,
  type Activity,
  type Orchestration,
  type RuntimeOptions,
} from "../../../src/index.ts";
import { areOpen, signal, virtualWorld } from "./support.ts";

const revoked = Proxy.revocable({}, {});
revoked.revoke();
const hostile: object = new Proxy(
  {},
  new Proxy(
    {},
    {
      get: () => () => {
        throw new Error("touched");
      },
    },
  ),
);

/** [description, the thrown value, the expected failure message]. */
const THROWN: readonly (readonly [string, unknown, RegExp])[] = [
  ["a string", "out of paper", /^out of paper$/],
  ["an empty string", "", /^$/],
  ["undefined", undefined, /undefined was thrown, which is not an Error/],
  ["null", null, /null was thrown, which is not an Error/],
  ["a number", 0, /0 was thrown/],
  ["a symbol", Symbol("s"), /Symbol\(s\) was thrown/],
  ["a frozen object", Object.freeze({ code: 7 }), /\{"code":7\} was thrown/],
  ["a frozen error", Object.freeze(new TypeError("frozen")), /^frozen$/],
  ["an object without a prototype", Object.assign(Object.create(null), { a: 1 }), /was thrown/],
  ["a proxy that throws at every touch", hostile, /./],
  ["a revoked proxy", revoked.proxy, /./],
  ["an error whose message throws", trapped("message"), /^$/],
  ["an error whose name throws", trapped("name"), /./],
  ["a function", () => 1, /was thrown/],
  ["an error that is its own cause", ownCause(), /^round$/],
];

describe.each(THROWN)("a thrown value: %s", (_, value, message) => {
  const places: readonly (readonly [string, () => unknown])[] = [
    ["at once", () => raise(value)],
    ["after an await", async () => (await Promise.resolve(), raise(value))],
    ["as a rejection", () => Promise.reject(value)],
  ];

  test.each(places)(
    "thrown by an activity %s is retried, and fails the activity with that message",
    async (_, fn) => {
      const bad = activity("bad", fn, { attempts: 2 });
      const work = orchestration("work", async (ctx) => {
        try {
          return await ctx.run(bad);
        } catch (error) {
          return { ...summary(error), isError: error instanceof Error };
        }
      });
      const failure = await resultOf(work, [bad]);
      expect(failure).toMatchObject({
        code: "ACTIVITY_FAILED",
        kind: "application",
        attempts: 2,
        isError: true,
        message: expect.stringMatching(message),
      });
    },
  );

  test.each(places)("thrown by a step %s fails the step", async (_, fn) => {
    const work = orchestration("work", async (ctx) => {
      try {
        return await ctx.step("bad", fn);
      } catch (error) {
        return summary(error);
      }
    });
    expect(await resultOf(work, [])).toMatchObject({ code: "STEP_FAILED", attempts: 1 });
  });

  test.each(places)("thrown by an orchestration %s fails it with that message", async (_, fn) => {
    const work = orchestration("work", fn as () => Promise<unknown>);
    const { client } = await virtualWorld([work]);
    await expect((await client.start(work)).result()).rejects.toMatchObject({
      code: "ORCHESTRATION_FAILED",
      message: expect.stringMatching(message),
    });
  });
});

describe("an outcome that comes too late", () => {
  test("is ignored if it is a rejection after the timeout: the timeout was the outcome", async () => {
    const late = signal<never>();
    const slow = activity("slow", () => late.reached, { timeout: "5s" });
    const work = orchestration("work", async (ctx) => {
      try {
        return await ctx.run(slow);
      } catch (error) {
        return summary(error);
      }
    });
    const { client, environment, logs } = await virtualWorld([work, slow]);
    const handle = await client.start(work);
    const result = handle.result();
    await environment.advance(5_000);
    expect(await result).toMatchObject({
      kind: "timeout",
      attempts: 1,
      message: "timeout: activity timed out",
    });
    const history = await handle.history();
    late.fail(new Error("too late to matter"));
    await environment.advance(20_000);
    expect(await handle.history()).toEqual(history);
    expect(logs.about("too late to matter")).toEqual([]);
  });

  test("does not replace a retry in flight if it is a result after the timeout", async () => {
    const first = signal<string>();
    const aborted: unknown[] = [];
    const slow = activity(
      "slow",
      (_: undefined, { attempt, signal: stop }) => {
        if (attempt > 1) return `attempt ${attempt}`;
        stop.addEventListener("abort", () => aborted.push(stop.reason));
        return first.reached;
      },
      { timeout: "5s", retry: { maxAttempts: 2, backoff: { kind: "fixed", base: "1s" } } },
    );
    const work = orchestration("work", async (ctx) => ctx.run(slow));
    const { client, environment } = await virtualWorld([work, slow]);
    const result = (await client.start(work)).result();
    await environment.advance(5_500);
    first.reach("attempt 1, late");
    await environment.advance(5_000);
    expect(await result).toBe("attempt 2");
    expect(aborted).toMatchObject([{ code: "TIMEOUT", message: "timeout: activity timed out" }]);
  });

  test("changes nothing if it is a rejection or a result after the cancel", async () => {
    for (const settle of ["reach", "fail"] as const) {
      const late = signal<unknown>();
      const entered = signal();
      const slow = activity("slow", () => (entered.reach(), late.reached));
      const work = orchestration("work", async (ctx) => ctx.run(slow));
      const { client, environment, runtime } = await virtualWorld([work, slow]);
      const handle = await client.start(work);
      await entered.reached;
      await handle.cancel("enough");
      await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED" });
      const history = await handle.history();
      late[settle](new Error("late"));
      await environment.advance(20_000);
      expect(await handle.history()).toEqual(history);
      expect((await handle.describe()).status).toBe("cancelled");
      expect(runtime.stats().activities.active).toBe(0);
    }
  });

  test("changes nothing if it is a step's outcome after its cancel", async () => {
    const late = signal<unknown>();
    const entered = signal();
    const work = orchestration("work", async (ctx) =>
      ctx.step("slow", () => (entered.reach(), late.reached)),
    );
    const { client, environment } = await virtualWorld([work]);
    const handle = await client.start(work);
    await entered.reached;
    await handle.cancel("enough");
    await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED" });
    const history = await handle.history();
    late.fail(new Error("late"));
    await environment.advance(20_000);
    expect(await handle.history()).toEqual(history);
  });
});

describe("a handler that never settles", () => {
  test("is aborted through its signal, keeps its slot for the grace period, then loses the slot to the next task", async () => {
    const entered = signal();
    let reason: unknown;
    const stuck = activity("stuck", (_: undefined, ctx) => {
      const { signal: stop } = ctx;
      stop.addEventListener("abort", () => (reason = stop.reason));
      entered.reach();
      return new Promise<never>(() => undefined);
    });
    const next = activity("next", () => "ran");
    const first = orchestration("first", async (ctx) => ctx.run(stuck));
    const second = orchestration("second", async (ctx) => ctx.run(next));
    const { client, environment, runtime } = await virtualWorld([first, second, stuck, next], {
      activityConcurrency: 1,
      cancelGraceMs: 4_000,
    });
    const handle = await client.start(first);
    await entered.reached;
    const waiting = await client.start(second);
    const result = waiting.result();
    await handle.cancel("enough");
    await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED" });
    expect(reason).toMatchObject({ code: "CANCELLED" });
    await environment.advance(3_900);
    expect(await areOpen(result)).toBe(true);
    await environment.advance(2_000);
    expect(await result).toBe("ran");
    expect(runtime.stats().activities).toMatchObject({ active: 0, cancelled: 1 });
  });

  test("that ends within the grace period frees its slot at once", async () => {
    const entered = signal();
    const polite = activity("polite", async (_: undefined, { signal: stop }) => {
      entered.reach();
      await new Promise((resolve) => stop.addEventListener("abort", resolve));
    });
    const next = activity("next", () => "ran");
    const first = orchestration("first", async (ctx) => ctx.run(polite));
    const second = orchestration("second", async (ctx) => ctx.run(next));
    const { client } = await virtualWorld([first, second, polite, next], {
      activityConcurrency: 1,
      cancelGraceMs: 3_600_000,
    });
    const handle = await client.start(first);
    await entered.reached;
    const waiting = await client.start(second);
    await handle.cancel();
    expect(await waiting.result()).toBe("ran");
  });

  test("with a timeout is retried although its first attempt never ends", async () => {
    let runs = 0;
    const stuck = activity("stuck", () => (runs++, new Promise<never>(() => undefined)), {
      timeout: "1s",
      retry: { maxAttempts: 3, backoff: { kind: "none" } },
    });
    const work = orchestration("work", async (ctx) => ctx.run(stuck));
    const { client, environment } = await virtualWorld([work, stuck], {
      activityConcurrency: 1,
      cancelGraceMs: 500,
    });
    const result = (await client.start(work)).result();
    const refused = expect(result).rejects.toMatchObject({
      cause: { kind: "timeout", attempts: 3 },
    });
    await environment.advance(10_000);
    await refused;
    expect(runs).toBe(3);
  });

  test("as a step is cancelled with its instance, and the instance does not wait for it", async () => {
    const entered = signal();
    const work = orchestration("work", async (ctx) =>
      ctx.step("stuck", () => (entered.reach(), new Promise<never>(() => undefined))),
    );
    const { client } = await virtualWorld([work]);
    const handle = await client.start(work);
    await entered.reached;
    await handle.cancel("enough");
    await expect(handle.result()).rejects.toMatchObject({ code: "CANCELLED" });
  });

  test("as an orchestration that shields itself forever is terminated when its cleanup takes too long", async () => {
    const work = orchestration("work", async (ctx) => {
      for (;;) await ctx.shield(async () => ctx.sleep("10s"));
    });
    const { client, environment } = await virtualWorld([work], { cancelTimeoutMs: 60_000 });
    const handle = await client.start(work);
    const refused = expect(handle.result()).rejects.toMatchObject({
      code: "TERMINATED",
      message: expect.stringContaining("(enough) took too long"),
    });
    await environment.advance(5_000);
    await handle.cancel("enough");
    await environment.advance(59_000);
    expect((await handle.describe()).status).toBe("running");
    await environment.advance(2_000);
    await refused;
  });
});

describe("a handler that returns a thenable", () => {
  const thenables: readonly (readonly [string, () => unknown, unknown])[] = [
    ["that fulfils", () => ({ then: (done: (v: string) => void) => done("value") }), "value"],
    ["that fulfils twice", () => ({ then: (done: (v: number) => void) => (done(1), done(2)) }), 1],
    [
      "that fulfils and then throws",
      () => ({
        then: (done: (v: number) => void) => {
          done(1);
          throw new Error("after the fact");
        },
      }),
      1,
    ],
    [
      "of a thenable",
      () => ({
        then: (done: (v: unknown) => void) => done({ then: (d: (v: string) => void) => d("deep") }),
      }),
      "deep",
    ],
  ];
  test.each(thenables)("%s yields that value", async (_, fn, value) => {
    const act = activity("act", fn);
    const work = orchestration("work", async (ctx) => [
      await ctx.run(act),
      await ctx.step("step", fn),
    ]);
    expect(await resultOf(work, [act])).toEqual([value, value]);
    const direct = orchestration("direct", fn as () => Promise<unknown>);
    expect(await resultOf(direct, [])).toBe(value);
  });

  test("that rejects, or whose then throws, fails", async () => {
    const refusing = [
      () => ({ then: (_: unknown, fail: (e: unknown) => void) => fail(new Error("no")) }),
      () => ({
        then: () => {
          throw new Error("no");
        },
      }),
      () => ({
        get then(): never {
          throw new Error("no");
        },
      }),
    ];
    for (const fn of refusing) {
      const act = activity("act", fn as () => unknown);
      const work = orchestration("work", async (ctx) => {
        const settled = await ctx.allSettled([ctx.run(act), ctx.step("step", fn as () => unknown)]);
        return settled.map((one) => (one.status === "rejected" ? summary(one.reason) : one));
      });
      expect(await resultOf(work, [act])).toMatchObject([
        { code: "ACTIVITY_FAILED", message: "no" },
        { code: "STEP_FAILED", message: "no" },
      ]);
    }
  });

  test("whose promise settles twice keeps the first outcome", async () => {
    const act = activity(
      "act",
      () =>
        new Promise((resolve, reject) => {
          reject(new Error("first"));
          reject(new Error("second"));
          resolve("third");
        }),
    );
    const work = orchestration("work", async (ctx) => {
      const [one] = await ctx.allSettled([ctx.run(act)]);
      return one.status === "rejected" ? summary(one.reason) : one;
    });
    expect(await resultOf(work, [act])).toMatchObject({ message: "first" });
  });
});

/** Starts the orchestration on a virtual clock and advances it until the orchestration ends. */
async function resultOf(
  work: Orchestration<undefined, unknown>,
  activities: readonly Activity<never, unknown>[],
  options: RuntimeOptions = {},
): Promise<unknown> {
  const { client, environment } = await virtualWorld([work, ...activities], options);
  const result = (await client.start(work)).result();
  await environment.advance(5_000);
  return result;
}

/** The fields of an error that a test compares, as data that an orchestration may return. */
function summary(error: unknown): object {
  const { code, kind, attempts, message } = error as Record<string, unknown>;
  return { code, kind, attempts, message };
}

function raise(value: unknown): never {
  throw value;
}

function trapped(key: string): Error {
  return Object.defineProperty(new Error("trapped"), key, {
    get: () => raise(new Error("the getter throws")),
  });
}

function ownCause(): Error {
  const error = new Error("round");
  error.cause = error;
  return error;
}
