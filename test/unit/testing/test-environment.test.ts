// The test kit from a user's view: skipping time, mocks, scripted actions, crashes and deploys.

import { describe, expect, test } from "vitest";
import {
  activity,
  ActivityError,
  event,
  NonRetryableError,
  orchestration,
  OrchestrationError,
} from "../../../src/index.ts";
import { flow } from "../../../src/flow/index.ts";
import { TestEnvironment } from "../../../src/testing/index.ts";

const charge = activity("charge", async (cents: number) => `r-${cents}`);
const remind = activity("remind", async (customer: string) => `reminded ${customer}`);
const paid = event<number>("paid");
const approval = event<{ by: string }>("approval");

const dunning = orchestration("dunning", async (ctx, customer: string) => {
  for (let reminders = 0; reminders < 3; reminders++) {
    const first = await ctx.race({ paid: ctx.waitFor(paid), late: ctx.sleep("30d") });
    if (first.key === "paid") return { cents: first.value, reminders };
    await ctx.run(remind, customer);
  }
  return { cents: 0, reminders: 3 };
});
const pay = orchestration("pay", async (ctx, cents: number) => {
  ctx.setStatus("charging");
  const receipt = await ctx.run(charge, cents, { attempts: 3 });
  ctx.kv.set("receipt", receipt);
  ctx.setStatus("waiting");
  const { by } = await ctx.waitFor(approval);
  return `${receipt} by ${by}`;
});
const register = [dunning, pay, remind, charge];

const messageOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "no error",
    (error: unknown) => (error as Error).message,
  );

describe("virtual time", () => {
  test("advances while a result is awaited, and stops when the result arrives", async () => {
    await using env = await TestEnvironment.create({ register });
    const handle = await env.start(dunning, "ada");
    expect(await handle.result()).toEqual({ cents: 0, reminders: 3 });
    expect(env.now).toEqual(new Date("2026-04-01T00:00:00Z")); // three times 30 days
    expect(env.calls(remind).map(({ at }) => at.toISOString().slice(0, 10))).toEqual([
      "2026-01-31",
      "2026-03-02",
      "2026-04-01",
    ]);
  });

  test("reaches starts that the client has delayed, although no other work wakes the runtime", async () => {
    await using env = await TestEnvironment.create({ register, autoSkip: false });
    await env.client.enqueue(charge, 1, { delay: "10s" });
    await env.client.enqueue(charge, 2, { debounce: { key: "a", wait: "5s" } });
    await env.advance("9s");
    expect(env.calls(charge).map(({ input }) => input)).toEqual([2]);
    await env.advance("1s");
    expect(env.calls(charge).map(({ input }) => input)).toEqual([2, 1]);
  });

  test("advances by advance(), and runs everything that comes due, in order", async () => {
    await using env = await TestEnvironment.create({ register, autoSkip: false });
    const handle = await env.start(dunning, "ada");
    await env.advance("48h");
    expect(env.calls(remind)).toEqual([]);
    expect(await env.waitingFor(handle)).toMatchObject([{ name: "paid" }, { kind: "timer" }]);
    await env.advance("29d");
    expect(env.calls(remind)).toMatchObject([{ input: "ada", at: new Date("2026-01-31") }]);
    await handle.raise(paid, 5);
    await env.settle();
    expect(await handle.result()).toEqual({ cents: 5, reminders: 1 });
  });

  test("an event scripted with raiseAt arrives at its time", async () => {
    await using env = await TestEnvironment.create({ register });
    const handle = await env.start(pay, 500);
    env.raiseAt(handle, approval, { by: "ada" }, "2h");
    expect(await handle.result()).toBe("r-500 by ada");
    expect(env.now).toEqual(new Date("2026-01-01T02:00:00Z"));
  });

  test("a scripted event is validated by its schema, and an invalid value fails the test", async () => {
    const validate = (value: unknown) =>
      typeof value === "number" ? { value: value * 100 } : { issues: [{ message: "no number" }] };
    const priced = event("priced", { "~standard": { version: 1, vendor: "test", validate } });
    const main = orchestration("main", async (ctx) => ctx.waitFor(priced));
    await using env = await TestEnvironment.create({ register: [main] });
    const handle = await env.start(main);
    env.raiseAt(handle, priced, "free", "1h");
    env.raiseAt(handle, priced, 5, "2h");
    await expect(handle.result()).rejects.toThrow("no number");
    expect(await handle.result()).toBe(500);
  });

  test("a scripted action is awaited, and its error fails result()", async () => {
    await using env = await TestEnvironment.create({ register });
    const handle = await env.start(pay, 500);
    env.at("1h", async (client) => {
      await client.get(handle.id).raise(approval, { by: "bo" });
      throw new Error("the script is wrong");
    });
    await expect(handle.result()).rejects.toThrow("the script is wrong");
    expect(await handle.result()).toBe("r-500 by bo");
  });

  test("does not advance while an activity does real I/O", async () => {
    const real = activity("real", () => new Promise<string>((end) => setTimeout(end, 40, "done")));
    const main = orchestration("main", async (ctx) => {
      const first = await ctx.race({ real: ctx.run(real), late: ctx.sleep("1s") });
      const step = await ctx.step("also", () => new Promise((end) => setTimeout(end, 20, 7)));
      return [first.key, step];
    });
    await using env = await TestEnvironment.create({ register: [main, real] });
    const handle = await env.start(main);
    expect(await handle.result()).toEqual(["real", 7]);
    expect(env.now).toEqual(new Date("2026-01-01"));
  });

  test("advances once for two results awaited together", async () => {
    await using env = await TestEnvironment.create({ register });
    const [a, b] = [await env.start(dunning, "a"), await env.start(dunning, "b")];
    const results = await Promise.all([a.result(), b.result()]);
    expect(results.map(({ reminders }) => reminders)).toEqual([3, 3]);
    expect(env.now).toEqual(new Date("2026-04-01"));
  });

  test("advances at most to the timeout of result()", async () => {
    await using env = await TestEnvironment.create({ register });
    const handle = await env.start(dunning, "ada");
    await expect(handle.result({ timeout: "1d" })).rejects.toMatchObject({ code: "TIMEOUT" });
    expect(env.now).toEqual(new Date("2026-01-02"));
  });
});

describe("result() fails at once if it can never settle", () => {
  test("names an event that nothing raises", async () => {
    await using env = await TestEnvironment.create({ register });
    const handle = await env.start(pay, 500);
    await expect(handle.result()).rejects.toThrow(
      'Instance "pay-1" of pay 1.0.0 would wait forever: it waits for event "approval": nothing scripted will raise it. ' +
        "Script it with kit.at(…), kit.raiseAt(…) or kit.askAt(…), send it before you await the result, or pass a timeout to result().",
    );
    await expect(handle.result()).rejects.toMatchObject({ code: "TIMEOUT" });
  });

  test("names the wait of a child", async () => {
    const parent = orchestration("parent", async (ctx) => ctx.call(pay, 1, { id: "kid" }));
    await using env = await TestEnvironment.create({ register: [...register, parent] });
    const handle = await env.start(parent);
    await expect(handle.result()).rejects.toThrow(
      'it waits for child "kid", and there it waits for event "approval"',
    );
  });

  test("names an unregistered activity, and an activity that does not end", async () => {
    await using env = await TestEnvironment.create({ register: [pay] });
    const handle = await env.start(pay, 500);
    await expect(handle.result()).rejects.toThrow('it waits for activity "charge": ');
    await using other = await TestEnvironment.create({ register });
    other.hangOnce(charge);
    const hung = await other.start(pay, 500);
    await expect(hung.result()).rejects.toThrow("whose function does not end and has no timeout");
  });

  test("names a pause and a block", async () => {
    await using env = await TestEnvironment.create({ register });
    const paused = await env.start(dunning, "ada");
    await paused.pause("holidays");
    await expect(paused.result()).rejects.toThrow("it is paused (holidays)");
    const handle = await env.start(pay, 1);
    await env.settle();
    await env.deploy([orchestration("pay", async (ctx) => ctx.sleep("1s")), charge]);
    await handle.raise(approval, { by: "x" });
    const message = await messageOf(handle.result());
    expect(message).toMatch(/^Instance "pay-2" of pay 1\.0\.0 is blocked by NONDETERMINISM: /);
    expect(message).toContain("nondeterministic: event 2 of the history");
    expect(message).not.toMatch(/\.\.|kit\.|timeout|wait forever/);
    const late = await messageOf(handle.result({ timeout: "1d" }));
    expect(late).toMatch(/^Instance "pay-2" did not end within 1d: it is blocked by NONDETERM/);
    expect(late).not.toContain("..");
  });

  test("names a blocked child, without advice to script events", async () => {
    const parent = orchestration("parent", async (ctx) => ctx.call(pay, 1, { id: "kid" }));
    await using env = await TestEnvironment.create({ register: [...register, parent] });
    const handle = await env.start(parent);
    await env.settle();
    await env.deploy([parent, orchestration("pay", async (ctx) => ctx.sleep("1s")), charge]);
    await env.client.get("kid").raise(approval, { by: "x" });
    const message = await messageOf(handle.result());
    expect(message).toContain('it waits for child "kid", and there it is blocked by NONDETERM');
    expect(message).not.toMatch(/\.\.|kit\./);
  });
});

describe("mocks", () => {
  test("must be functions or non-empty arrays; a plain value or an error is refused", async () => {
    await using env = await TestEnvironment.create({ register });
    for (const outcome of ["receipt", new Error("declined"), 7, null, []]) {
      expect(() => env.mock(charge, outcome as never)).toThrow(
        expect.objectContaining({
          code: "INVALID_ARGUMENT",
          message: expect.stringContaining("must be a function or a non-empty array of outcomes"),
        }),
      );
    }
  });

  test("a function replaces the activity, and its calls are recorded", async () => {
    await using env = await TestEnvironment.create({ register });
    env.mock(charge, (cents) => `fake-${cents}`);
    const handle = await env.start(pay, 7);
    await handle.raise(approval, { by: "ada" });
    expect(await handle.result()).toBe("fake-7 by ada");
    expect(env.calls(charge)).toMatchObject([
      { input: 7, attempt: 1, instanceId: "pay-1", outcome: { kind: "value", value: "fake-7" } },
    ]);
    expect(await env.status(handle)).toBe("waiting");
    expect(await env.keyValues(handle)).toEqual({ receipt: "fake-7" });
  });

  test("an array gives one outcome per call; the last outcome repeats", async () => {
    await using env = await TestEnvironment.create({ register });
    env.mock(charge, [new Error("declined"), "second", () => "later"]);
    const receipts: string[] = [];
    for (const cents of [1, 2, 3]) {
      const handle = await env.start(pay, cents);
      await handle.raise(approval, { by: "x" });
      receipts.push(await handle.result());
    }
    expect(receipts).toEqual(["second by x", "later by x", "later by x"]);
    expect(env.calls(charge).map(({ attempt }) => attempt)).toEqual([1, 2, 1, 1]);
  });

  test("a retryable failure is retried, a non-retryable failure fails the orchestration", async () => {
    await using env = await TestEnvironment.create({ register });
    env.failTimes(charge, 2);
    const handle = await env.start(pay, 7);
    await handle.raise(approval, { by: "ada" });
    expect(await handle.result()).toBe("r-7 by ada");
    expect(env.calls(charge)).toHaveLength(3);
    env.failOnce(charge, new NonRetryableError("stolen"));
    const error = await (await env.start(pay, 8)).result().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OrchestrationError);
    expect(error).toMatchObject({ cause: { name: ActivityError.name, message: "stolen" } });
  });

  test("a hanging activity is ended by its timeout", async () => {
    const slow = activity("slow", () => "value", { timeout: "5m", attempts: 2 });
    const main = orchestration("main", async (ctx) => ctx.run(slow));
    await using env = await TestEnvironment.create({ register: [main, slow] });
    env.hangOnce(slow);
    expect(await (await env.start(main)).result()).toBe("value");
    expect(env.now.getTime()).toBeGreaterThanOrEqual(Date.UTC(2026, 0, 1, 0, 5));
  });

  test("an activity can sleep on the virtual clock", async () => {
    await using env = await TestEnvironment.create({ register });
    env.mock(charge, async () => {
      await env.sleep("3h");
      return "slow";
    });
    const handle = await env.start(pay, 7);
    await handle.raise(approval, { by: "ada" });
    expect(await handle.result()).toBe("slow by ada");
    expect(env.now).toEqual(new Date("2026-01-01T03:00:00Z"));
  });

  test("an activity that is not registered cannot be mocked", async () => {
    await using env = await TestEnvironment.create({ register: [pay] });
    expect(() => env.mock(charge, () => "x")).toThrow('Activity "charge" is not registered here');
  });

  test("activities of a flow are mocked like any other activity", async () => {
    const order = flow<number>("order").then(charge).delay("cool", "1h").build();
    await using env = await TestEnvironment.create({ register: [order] });
    env.mock(charge, () => "mocked");
    const handle = await env.start(order, 5);
    expect(await handle.result()).toBe("mocked");
    expect(env.now).toEqual(new Date("2026-01-01T01:00:00Z"));
  });
});

describe("processes", () => {
  test("a restart, a crash and a deploy lose nothing", async () => {
    await using env = await TestEnvironment.create({ register });
    const handle = await env.start(pay, 500);
    await env.restartRuntime();
    await env.crash();
    await env.deploy(register);
    await handle.raise(approval, { by: "ada" });
    expect(await handle.result()).toBe("r-500 by ada");
    expect(env.calls(charge)).toHaveLength(1);
    expect((await env.history(handle)).map(({ kind }) => kind)).toContain("EventReceived");
  });

  test("an activity whose process dies runs again with the same idempotency key", async () => {
    await using env = await TestEnvironment.create({ register });
    env.hangOnce(charge);
    const handle = await env.start(pay, 500);
    await env.settle();
    await env.crash();
    await handle.raise(approval, { by: "ada" });
    expect(await handle.result()).toBe("r-500 by ada");
    const keys = env.calls(charge).map(({ idempotencyKey }) => idempotencyKey);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  test("the log is recorded", async () => {
    const main = orchestration("main", async (ctx) => ctx.log.info("here"));
    await using env = await TestEnvironment.create({ register: [main] });
    await (await env.start(main)).result();
    expect(env.logs).toMatchObject([{ level: "info", message: "here" }]);
  });
});
