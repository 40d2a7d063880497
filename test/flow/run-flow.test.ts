// runFlow: the same interpreter without a store. Delays, retries and time-outs are kept (T30).

import { expect, test } from "vitest";
import {
  activity,
  event,
  flow,
  NonRetryableError,
  orchestration,
  runFlow,
} from "../../src/index.ts";
import type { RunFlowOptions } from "../../src/flow/index.ts";
import { again, done } from "../../src/flow/index.ts";
import { VirtualEnvironment } from "../../src/testing/index.ts";
import { SHAPES } from "./shapes.ts";

/** A run on virtual time, and the hands on its clock. */
function virtual() {
  const environment = new VirtualEnvironment();
  const log: string[] = [];
  const options: RunFlowOptions = { environment, log: (_level, message) => void log.push(message) };
  return { environment, options, log };
}

test.each(SHAPES.map((shape) => [shape.title, shape] as const))("%s", async (_title, shape) => {
  const { environment, options } = virtual();
  const { register = [], signals: events = [] } = shape;
  const result = runFlow(shape.flow, shape.input as never, { ...options, register, events });
  const caught = result.catch((error: unknown) => error);
  await environment.advance(3_600_000);
  expect(await caught).toEqual(shape.result);
});

test("a delay is waited for, to the millisecond", async () => {
  const { environment, options } = virtual();
  let ended = false;
  const running = runFlow(flow<number>("slow").delay("d", "40d").build(), 7, options).then(
    (value) => {
      ended = true;
      return value;
    },
  );
  await environment.advance(40 * 86_400_000 - 1);
  expect(ended).toBe(false);
  await environment.advance(1);
  expect(await running).toBe(7);
});

test("retries and their back-off are those of the queue", async () => {
  const { environment, options } = virtual();
  const attempts: number[] = [];
  const flaky = flow("flaky")
    .then(
      "a",
      (_, { attempt }) => {
        attempts.push(environment.now());
        if (attempt < 3) throw new Error(`attempt ${attempt}`);
        return attempt;
      },
      { retry: { maxAttempts: 3, backoff: { kind: "exponential", base: "1s", max: "90s" } } },
    )
    .build();
  const running = runFlow(flaky, undefined, options);
  await environment.advance(60_000);
  expect(await running).toBe(3);
  const [first = 0, second = 0, third = 0] = attempts;
  expect([second - first, third - second]).toEqual([1_000, 2_000]);
});

test("a time-out ends the attempt, aborts its signal and follows the retry policy", async () => {
  const { environment, options } = virtual();
  const aborts: unknown[] = [];
  const hangs = flow("hangs")
    .then(
      "a",
      (_, { signal }) =>
        new Promise<never>(() => {
          signal.addEventListener("abort", () => aborts.push(signal.reason));
        }),
      { timeout: "5s", retry: { maxAttempts: 2, backoff: { kind: "none" } } },
    )
    .build();
  const running = runFlow(hangs, undefined, options).catch((error: unknown) => error);
  await environment.advance(10_000);
  expect(await running).toMatchObject({
    code: "ORCHESTRATION_FAILED",
    cause: { kind: "timeout", attempts: 2, node: "a" },
  });
  expect(aborts).toMatchObject([{ code: "TIMEOUT" }, { code: "TIMEOUT" }]);
});

test("scheduleToClose and heartbeat time-outs hold here too", async () => {
  const { environment, options } = virtual();
  const closed = flow("closed")
    .then("a", () => new Promise<never>(() => undefined), { scheduleToClose: "3s" })
    .catch((f) => f.then("why", ({ failure }) => failure.message))
    .build();
  const silent = flow("silent")
    .then(
      "a",
      async (_, { heartbeat }) => {
        heartbeat("here");
        await new Promise<void>((resolve) => environment.setTimer(1_500, resolve));
        heartbeat();
        return new Promise<never>(() => undefined);
      },
      { heartbeatTimeout: "2s" },
    )
    .catch((f) => f.then("why", ({ failure }) => failure.message))
    .build();
  const both = Promise.all([
    runFlow(closed, undefined, options),
    runFlow(silent, undefined, options),
  ]);
  await environment.advance(10_000);
  expect(await both).toEqual([
    "timeout: activity timed out (scheduleToClose)",
    "timeout: activity heartbeat timed out",
  ]);
});

test("what cannot be retried is not", async () => {
  let runs = 0;
  const once = flow("once")
    .then(
      "a",
      () => {
        runs++;
        throw new NonRetryableError("never");
      },
      { retry: 5 },
    )
    .build();
  await expect(runFlow(once)).rejects.toThrow("never");
  expect(runs).toBe(1);
});

test("it runs on the machine's own clock as well", async () => {
  const quick = flow<number>("quick")
    .delay("d", 5)
    .then("a", (n) => n + 1)
    .build();
  expect(await runFlow(quick, 1)).toBe(2);
});

test("a wait that nobody can end says so at once", async () => {
  const go = event<number>("go");
  const waits = flow<number>("waits")
    .fork({ a: (f) => f.waitFor(go), b: (f) => f.then("b", (n) => n) })
    .build();
  await expect(runFlow(waits, 1)).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: 'It waits for "go", and nobody can send it: give runFlow the events.',
  });
  expect(await runFlow(waits, 1, { events: [{ name: "go", data: 2 }] })).toEqual({ a: 2, b: 1 });
});

test("a cancel runs the compensations before the promise rejects", async () => {
  const { environment, options } = virtual();
  const undone: unknown[] = [];
  const slow = flow<number>("slow")
    .then("a", (n) => n + 1)
    .defer((step) => void undone.push(step))
    .delay("d", "1h")
    .build();
  const controller = new AbortController();
  const running = runFlow(slow, 1, { ...options, signal: controller.signal }).catch(
    (error: unknown) => error,
  );
  await environment.advance(1_000);
  controller.abort(new Error("no time"));
  await environment.settle();
  expect(await running).toMatchObject({ code: "CANCELLED", message: "canceled: no time" });
  expect(undone).toEqual([{ input: 1, output: 2 }]);
});

test("a child that is not registered, and a store that is not there, are told", async () => {
  const child = flow("parent").child("c", "nobody").build();
  await expect(runFlow(child)).rejects.toMatchObject({ code: "NOT_REGISTERED" });
  const asks = flow("asks")
    .then("a", (_, ctx) => typeof ctx.client)
    .build();
  await expect(runFlow(asks)).rejects.toMatchObject({
    message: "runFlow has no store, and so no client.",
  });
  const rows = orchestration("rows", async (ctx) => ctx.tx("write", () => 1));
  const writes = flow("writes").child(rows).build();
  await expect(runFlow(writes, undefined, { register: [rows] })).rejects.toMatchObject({
    message: "runFlow has no store, and so no ctx.tx.",
  });
});

test("code that is called as a child has its steps, key-values, events and next executions", async () => {
  const { environment, options } = virtual();
  const code = orchestration("code", async (ctx, n: number): Promise<string> => {
    if (n < 3) {
      await ctx.step("count", () => n, { retry: 2 });
      return ctx.continueAsNew(n + 1);
    }
    ctx.kv.set("n", n);
    await ctx.sleep("1s");
    return `${ctx.kv.get<number>("n") ?? ""} in execution ${ctx.info.executionId}`;
  });
  const parent = flow<number>("parent").child(code).build();
  const running = runFlow(parent, 0, { ...options, register: [code] });
  await environment.advance(10_000);
  expect(await running).toBe("3 in execution 4");
});

test("values are those that a store would give back", async () => {
  const dates = flow<Date>("dates")
    .then("a", (date) => ({ date, map: new Map([[1, undefined]]) }))
    .then("b", ({ date, map }) => [date.getTime(), map.size, map.has(1)])
    .build();
  expect(await runFlow(dates, new Date(5))).toEqual([5, 1, true]);
  const hidden = flow("hidden")
    .then("a", () => () => 1)
    .build();
  await expect(runFlow(hidden)).rejects.toMatchObject({
    cause: { cause: { code: "VALUE_NOT_SERIALIZABLE" } },
  });
});

test("schemas stand between callers, steps and functions", async () => {
  const number = {
    "~standard": {
      version: 1 as const,
      vendor: "test",
      validate: (value: unknown) =>
        Number.isNaN(Number(value))
          ? { issues: [{ message: "no number" }] }
          : { value: Number(value) },
      types: undefined as unknown as { input: string; output: number },
    },
  };
  const doubled = flow("doubled", { input: number })
    .then("double", (n) => `${n * 2}`)
    .then("parse", (n: number) => n + 1, { input: number })
    .build();
  expect(await runFlow(doubled, "20")).toBe(41);
  await expect(runFlow(doubled, "x")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("a loop of thousands of rounds stays quick: it compacts itself here too", async () => {
  const count = flow<number>("count")
    .loop("l", (f) => f.then("s", (n) => (n < 5_000 ? again(n + 1) : done(n))), {
      maxIterations: 9_999,
    })
    .build();
  expect(await runFlow(count, 0)).toBe(5_000);
});

test("two runs side by side, beside each other's activities, mix up nothing", async () => {
  const slow = activity("slow", async (n: number) => {
    await new Promise((resolve) => setImmediate(resolve));
    return n + 1;
  });
  const chain = flow<number>("chain")
    .loop("l", (f) => f.then(slow).then("s", (n) => (n % 50 === 0 ? done(n) : again(n))), {
      maxIterations: 99,
    })
    .build();
  const starts = [1, 101, 201, 301];
  expect(await Promise.all(starts.map((n) => runFlow(chain, n)))).toEqual([50, 150, 250, 350]);
});

test("children come from modules, too", async () => {
  const child = orchestration("child", async (_, n: number) => n + 1);
  const parent = flow<number>("parent").child("child", child).build();
  expect(await runFlow(parent, 1, { register: [{ child, unused: 1 }] })).toBe(2);
  await expect(runFlow(parent, 1, { register: [{}] })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});
