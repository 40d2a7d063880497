// runFlow: the same interpreter without a store, with delays, retries and timeouts (T30).

import { expect, test } from "vitest";
import { activity, event, NonRetryableError, orchestration } from "../../../src/index.ts";
import { flow, runFlow, type RunFlowOptions, again, done } from "../../../src/flow/index.ts";
import { VirtualEnvironment } from "../../../src/testing/index.ts";
import { SHAPES } from "./shapes.ts";

/** Options for a run on virtual time, with its clock and its log. */
function virtual() {
  const environment = new VirtualEnvironment();
  const log: string[] = [];
  const options: RunFlowOptions = { environment, log: (_level, message) => void log.push(message) };
  return { environment, options, log };
}

test.each(SHAPES.map((shape) => [shape.title, shape] as const))(
  "runFlow returns the expected result for the shape: %s",
  async (_title, shape) => {
    const { environment, options } = virtual();
    const { register = [], signals: events = [] } = shape;
    const result = runFlow(shape.flow, shape.input as never, { ...options, register, events });
    const caught = result.catch((error: unknown) => error);
    await environment.advance(3_600_000);
    expect(await caught).toEqual(shape.result);
  },
);

test("a delay lasts exactly its duration", async () => {
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

test("retries use the same backoff as activities of a runtime", async () => {
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

test("a timeout ends the attempt, aborts its signal and follows the retry policy", async () => {
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

test("scheduleToClose and heartbeat timeouts apply", async () => {
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

test("heartbeat details reach the next attempt as a store would give them back", async () => {
  const { environment, options } = virtual();
  const seen: unknown[] = [];
  let late: ((details: unknown) => void) | undefined;
  const resumes = flow("resumes")
    .then(
      "a",
      (_, { attempt, heartbeat, lastHeartbeat }) => {
        seen.push(lastHeartbeat);
        if (attempt === 3) return "done";
        late?.("late");
        late = heartbeat;
        const details = { row: attempt };
        heartbeat(details);
        details.row = -1;
        expect(() => heartbeat(() => 1)).toThrow("cannot be stored");
        return new Promise<never>(() => undefined);
      },
      { timeout: "1s", attempts: 3 },
    )
    .build();
  const running = runFlow(resumes, undefined, options);
  await environment.advance(10_000);
  expect(await running).toBe("done");
  expect(seen).toEqual([undefined, { row: 1 }, { row: 2 }]);
});

test("a step of a child that times out says that it is a step", async () => {
  const { environment, options, log } = virtual();
  const hangs = orchestration("hangs", async (ctx) => {
    await ctx.step("wait", () => new Promise<never>(() => undefined), { timeout: "1s" });
  });
  const parent = flow("parent").child(hangs).build();
  const running = runFlow(parent, undefined, { ...options, register: [hangs] }).catch(() => "over");
  await environment.advance(10_000);
  expect(await running).toBe("over");
  expect(log.join()).toContain("timeout: step timed out; no attempts left");
});

test("a NonRetryableError is not retried", async () => {
  let runs = 0;
  const once = flow("once")
    .then(
      "a",
      () => {
        runs++;
        throw new NonRetryableError("never");
      },
      { attempts: 5 },
    )
    .build();
  await expect(runFlow(once)).rejects.toThrow("never");
  expect(runs).toBe(1);
});

test("runFlow works with the real clock", async () => {
  const quick = flow<number>("quick")
    .delay("d", 5)
    .then("a", (n) => n + 1)
    .build();
  expect(await runFlow(quick, 1)).toBe(2);
});

test("a wait for a signal that is not in the events option fails at once", async () => {
  const go = event<number>("go");
  const waits = flow<number>("waits")
    .fork({ a: (f) => f.waitFor(go), b: (f) => f.then("b", (n) => n) })
    .build();
  await expect(runFlow(waits, 1)).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: 'The flow waits for "go", which never comes; pass it in the events option of runFlow.',
  });
  expect(await runFlow(waits, 1, { events: [{ name: "go", data: 2 }] })).toEqual({ a: 2, b: 1 });
});

test("a cancel runs the compensations before the promise rejects", async () => {
  const { environment, options } = virtual();
  const undone: unknown[] = [];
  const slow = flow<number>("slow")
    .then("a", (n) => n + 1)
    .compensate((step) => void undone.push(step))
    .delay("d", "1h")
    .build();
  const controller = new AbortController();
  const running = runFlow(slow, 1, { ...options, signal: controller.signal }).catch(
    (error: unknown) => error,
  );
  await environment.advance(1_000);
  controller.abort(new Error("no time"));
  await environment.settle();
  expect(await running).toMatchObject({ code: "CANCELLED", message: "cancelled: no time" });
  expect(undone).toEqual([{ input: 1, output: 2 }]);
});

test("an unregistered child, ctx.client and ctx.tx raise an error", async () => {
  const child = flow("parent").child("c", "unregistered").build();
  await expect(runFlow(child)).rejects.toMatchObject({ code: "NOT_REGISTERED" });
  const asks = flow("asks")
    .then("a", (_, ctx) => typeof ctx.client)
    .build();
  await expect(runFlow(asks)).rejects.toMatchObject({
    message: "runFlow has no store, so ctx.client is not available.",
  });
  const rows = orchestration("rows", async (ctx) => ctx.tx("write", () => 1));
  const writes = flow("writes").child(rows).build();
  await expect(runFlow(writes, undefined, { register: [rows] })).rejects.toMatchObject({
    message: "runFlow has no store, so ctx.tx is not available.",
  });
});

test("an orchestration called as a child can use steps, key-values, timers and continueAsNew", async () => {
  const { environment, options } = virtual();
  const code = orchestration("code", async (ctx, n: number): Promise<string> => {
    if (n < 3) {
      await ctx.step("count", () => n, { attempts: 2 });
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

test("values pass through the codec as with a store", async () => {
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

test("schemas validate the input of the flow and of its steps", async () => {
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

test("a loop of thousands of rounds completes, because it compacts itself", async () => {
  const count = flow<number>("count")
    .loop("l", (f) => f.then("s", (n) => (n < 5_000 ? again(n + 1) : done(n))), {
      maxIterations: 9_999,
    })
    .build();
  expect(await runFlow(count, 0)).toBe(5_000);
});

test("concurrent runs do not affect each other", async () => {
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

test("the register option accepts modules with children", async () => {
  const child = orchestration("child", async (_, n: number) => n + 1);
  const parent = flow<number>("parent").child("child", child).build();
  expect(await runFlow(parent, 1, { register: [{ child, unused: 1 }] })).toBe(2);
  await expect(runFlow(parent, 1, { register: [{}] })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});
