// What people do with BullMQ, pg-boss and Graphile Worker, as their guides show it, done with jobs. docs/coming-from.md has
// the table of terms.

import { expect, onTestFinished, test } from "vitest";
import {
  job,
  NonRetryableError,
  orchestration,
  RetryAfterError,
  type ActivityContext,
  type Registrable,
} from "../../../src/index.ts";
import { batchJob } from "../../../src/batch/index.ts";
import { schedule } from "../../../src/schedule/index.ts";
import { TestEnvironment } from "../../../src/testing/index.ts";

async function kit(...register: Registrable[]): Promise<TestEnvironment> {
  const environment = await TestEnvironment.create({ register });
  onTestFinished(() => environment.close());
  return environment;
}

function noted<I>(name: string) {
  const inputs: I[] = [];
  const note = job(name, async (input: I) => void inputs.push(input));
  return { inputs, note };
}

test("BullMQ: add a job, add many, and wait for a result", async () => {
  const paint = job("paint", async ({ color }: { color: string }) => `painted ${color}`);
  const { client } = await kit(paint);
  const handle = await client.enqueue(paint, { color: "blue" });
  expect(await handle.result()).toBe("painted blue");
  const ids = await client.enqueueMany(paint, [{ color: "red" }, { color: "green" }]);
  const results = await Promise.all(ids.map((id) => client.get(id).result()));
  expect(results).toEqual(["painted red", "painted green"]);
});

test("BullMQ: a delayed job", async () => {
  const { inputs, note } = noted<string>("mail");
  const environment = await kit(note);
  const before = environment.now.getTime();
  const handle = await environment.client.enqueue(note, "welcome", { delay: 5_000 });
  expect(inputs).toEqual([]);
  await handle.result();
  expect(inputs).toEqual(["welcome"]);
  expect(environment.now.getTime() - before).toBeGreaterThanOrEqual(5_000);
});

test("BullMQ: attempts with exponential backoff, an unrecoverable error, and a rate limit of the service", async () => {
  const at: number[] = [];
  const call = job(
    "call",
    async (kind: "busy" | "broken" | "flaky", ctx: ActivityContext) => {
      at.push(environment.now.getTime());
      if (kind === "broken") throw new NonRetryableError("unrecoverable");
      if (kind === "busy" && ctx.attempt === 1) throw new RetryAfterError("1m", "slow down");
      if (kind === "flaky" && ctx.attempt < 3) throw new Error("again");
      return ctx.attempt;
    },
    { retry: { maxAttempts: 3, backoff: { kind: "exponential", base: "1s" } } },
  );
  const environment = await kit(call);
  const { client } = environment;
  const flaky = await client.enqueue(call, "flaky");
  expect(await flaky.result()).toBe(3);
  expect(at.slice(1).map((time, index) => time - (at[index] ?? 0))).toEqual([1_000, 2_000]);
  await expect((await client.enqueue(call, "broken")).result()).rejects.toThrow("unrecoverable");
  at.length = 0;
  expect(await (await client.enqueue(call, "busy")).result()).toBe(2);
  expect((at[1] ?? 0) - (at[0] ?? 0)).toBe(60_000);
});

test("BullMQ: a limiter, global concurrency, and groups with a limit each", async () => {
  const at: number[] = [];
  let running = 0;
  let most = 0;
  const limited = job("limited", async () => void at.push(environment.now.getTime()), {
    limit: { rate: { count: 10, per: "1s" } },
  });
  const grouped = job(
    "grouped",
    async () => {
      most = Math.max(most, ++running);
      await Promise.resolve();
      running--;
    },
    { limit: { concurrency: 2, perKey: 1 }, fair: true },
  );
  const environment = await kit(limited, grouped);
  const { client } = environment;
  await client.enqueueMany(limited, Array.from({ length: 25 }));
  const tenants = ["a", "a", "b", "c", "c", "c"].map((key) => ({ input: undefined, key }));
  await client.enqueueMany(grouped, tenants);
  await environment.advance("10s");
  expect(at).toHaveLength(25);
  expect((at[10] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(1_000);
  expect((at[24] ?? 0) - (at[14] ?? 0)).toBeGreaterThanOrEqual(1_000);
  expect(await client.count({ name: "grouped", status: "completed" })).toBe(6);
  expect(most).toBeLessThanOrEqual(2);
});

test("BullMQ: a custom job id, a removed job, and a retry of failed jobs", async () => {
  let isDown = true;
  const send = job("send", async (to: string) => {
    if (isDown) throw new Error("down");
    return to;
  });
  const { client } = await kit(send);
  const handle = await client.enqueue(send, "ada", { id: "order-7" });
  await expect(client.enqueue(send, "ada", { id: "order-7" })).rejects.toMatchObject({
    code: "INSTANCE_EXISTS",
  });
  await expect(handle.result()).rejects.toThrow("down");
  isDown = false;
  expect(await client.retryFailed("send")).toMatchObject({ done: 1 });
  expect(await handle.result()).toBe("ada");
  const later = await client.enqueue(send, "bob", { delay: "1h" });
  await later.cancel();
  await expect(later.result()).rejects.toMatchObject({ code: "CANCELLED" });
});

test("BullMQ: of the jobs that are added while one is active, the last one runs after it", async () => {
  const inputs: string[] = [];
  const release = Promise.withResolvers<void>();
  const paint = job("paint", async (color: string) => {
    inputs.push(color);
    if (color === "red") await release.promise;
  });
  const { client } = await kit(paint);
  const unique = { key: "house", onConflict: "replace" } as const;
  const first = await client.enqueue(paint, "red", { unique });
  await expect.poll(() => inputs).toEqual(["red"]);
  await client.enqueue(paint, "green", { unique });
  const last = await client.enqueue(paint, "blue", { unique });
  release.resolve();
  await Promise.all([first.result(), last.result()]);
  expect(inputs).toEqual(["red", "blue"]);
});

test("BullMQ: deduplication in simple, throttle and debounce mode", async () => {
  const { inputs, note } = noted<string>("house");
  const environment = await kit(note);
  const { client } = environment;
  await client.enqueue(note, "debounced 1", { debounce: { key: "d", wait: "5s" } });
  await environment.advance("3s");
  await client.enqueue(note, "debounced 2", { debounce: { key: "d", wait: "5s" } });
  const throttle = { key: "t", per: "5s" } as const;
  await client.enqueue(note, "throttled 1", { throttle });
  await client.enqueue(note, "throttled 2", { throttle });
  await environment.advance("10s");
  expect(inputs).toEqual(["throttled 1", "debounced 2"]);
  const first = await client.enqueue(note, "simple 1", { unique: "s", delay: "1s" });
  const second = await client.enqueue(note, "simple 2", { unique: "s", delay: "1s" });
  expect(second.id).toBe(first.id);
  await second.result();
  expect(inputs.slice(2)).toEqual(["simple 1"]);
});

test("BullMQ: pause and resume a queue; priorities; progress", async () => {
  const order: string[] = [];
  const work = job("work", async (name: string, ctx: ActivityContext) => {
    ctx.progress(42);
    order.push(name);
  });
  const environment = await TestEnvironment.create({
    register: [work],
    runtime: { activityConcurrency: 1 },
  });
  onTestFinished(() => environment.close());
  const { client } = environment;
  await client.pauseQueue("work");
  await environment.advance("2s");
  await client.enqueue(work, "low", { priority: 5 });
  await client.enqueue(work, "high", { priority: 1 });
  await environment.advance("2s");
  expect(order).toEqual([]);
  await client.resumeQueue("work");
  await environment.advance("2s");
  expect(order).toEqual(["high", "low"]);
});

test("BullMQ: a flow with children; a repeated job", async () => {
  const paint = job("paint", async (part: string) => `painted ${part}`);
  const renovate = orchestration("renovate", async (ctx, parts: string[]) =>
    ctx.all(parts.map((part) => ctx.run(paint, part))),
  );
  const nightly = schedule("nightly", { every: "1d", start: renovate, input: ["floor"] });
  const environment = await kit(paint, renovate, nightly);
  const handle = await environment.client.start(renovate, ["walls", "ceiling"]);
  expect(await handle.result()).toEqual(["painted walls", "painted ceiling"]);
  await environment.advance("25h");
  expect(environment.calls(paint).map(({ input }) => input)).toContain("floor");
});

test("BullMQ, pg-boss and Graphile Worker: a job by a cron pattern", async () => {
  const { inputs, note } = noted<string>("digest");
  const send = orchestration("send", (ctx, name: string) => ctx.run(note, name));
  const daily = schedule("daily", {
    cron: "0 4 * * *",
    timezone: "Europe/Berlin",
    start: send,
    input: (time) => time.toISOString().slice(11),
  });
  const environment = await kit(note, send, daily);
  await environment.advance("2d");
  expect(inputs).toHaveLength(2);
  for (const time of inputs) expect(time).toMatch(/^0[23]:00:00/);
});

// The transaction of pg-boss and Graphile Worker is in test/features/transactions/scenarios.test.ts.
test("pg-boss: send after a time, and once per key and time slot", async () => {
  const { inputs, note } = noted<string>("email");
  const environment = await kit(note);
  const { client } = environment;
  await client.enqueue(note, "sendAfter", { at: new Date(environment.now.getTime() + 60_000) });
  await client.enqueue(note, "singletonKey", { unique: "singleton", delay: "30s" });
  await client.enqueue(note, "singletonKey again", { unique: "singleton", delay: "30s" });
  await client.enqueue(note, "sendThrottled", { throttle: { key: "slot", per: "1m" } });
  await client.enqueue(note, "sendThrottled again", { throttle: { key: "slot", per: "1m" } });
  await environment.advance("2m");
  expect(inputs).toEqual(["sendThrottled", "singletonKey", "sendAfter"]);
});

test("pg-boss: debounce to the next slot, retries with a limit, and expiration", async () => {
  const inputs: string[] = [];
  const slow = job(
    "slow",
    async (text: string, { attempt }: ActivityContext) => {
      inputs.push(`${text} ${attempt}`);
      if (attempt === 1) await environment.sleep("2m");
      if (text === "bad") throw new Error("again");
    },
    { retry: { maxAttempts: 3, backoff: { kind: "exponential", base: "1s" } }, timeout: "1m" },
  );
  const environment = await kit(slow);
  const { client } = environment;
  const throttle = { key: "slot", per: "1h", trailing: true } as const;
  const handle = await client.enqueue(slow, "first", { throttle });
  await handle.result();
  await client.enqueue(slow, "dropped", { throttle });
  await client.enqueue(slow, "next", { throttle });
  await environment.advance("2h");
  expect(inputs).toEqual(["first 1", "first 2", "next 1", "next 2"]);
  const bad = await client.enqueue(slow, "bad");
  await expect(bad.result()).rejects.toThrow("again");
  expect(inputs.slice(4)).toEqual(["bad 1", "bad 2", "bad 3"]);
});

test("pg-boss: the queue policies singleton, exclusive and stately", async () => {
  const most = { single: 0, stately: 0 };
  const running = { single: 0, stately: 0 };
  const inputs: string[] = [];
  const visit = (name: keyof typeof most) => async (input: string) => {
    inputs.push(input);
    most[name] = Math.max(most[name], ++running[name]);
    await new Promise((resolve) => void setTimeout(resolve, 5));
    running[name]--;
  };
  const single = job("single", visit("single"), { limit: { concurrency: 1 } });
  const stately = job("stately", visit("stately"));
  const { client } = await kit(single, stately);
  const ids = await client.enqueueMany(single, ["a", "b", "c"]);
  await Promise.all(ids.map((id) => client.get(id).result()));
  expect(most.single).toBe(1);
  const exclusive = { key: "k", onConflict: "fail" } as const;
  await client.enqueue(stately, "e", { unique: exclusive, delay: "1s" });
  await expect(client.enqueue(stately, "f", { unique: exclusive })).rejects.toMatchObject({
    code: "INSTANCE_EXISTS",
  });
  const unique = { key: "s", onConflict: "replace" } as const;
  const handles = [];
  for (const input of ["1", "2", "3", "4"]) {
    handles.push(await client.enqueue(stately, input, { unique }));
  }
  await Promise.all(handles.map((handle) => handle.result()));
  expect(most.stately).toBe(1);
  expect(inputs.at(-1)).toBe("4");
});

test("pg-boss: a worker with batchSize", async () => {
  const batches: string[][] = [];
  const email = batchJob("email", async (to: string[]) => void batches.push(to), {
    max: 3,
    wait: "1s",
  });
  const environment = await kit(email);
  await environment.client.enqueueMany(email, ["a", "b", "c", "d"]);
  await environment.advance("2s");
  expect(batches.map((batch) => batch.length).toSorted()).toEqual([1, 3]);
});

test("pg-boss: a dead letter queue is an orchestration that catches the failure", async () => {
  const { inputs, note: report } = noted<string>("report");
  const charge = job("charge", async () => Promise.reject(new Error("declined")), { attempts: 2 });
  const guarded = orchestration("guarded", async (ctx) => {
    await ctx.run(charge).catch((error: Error) => ctx.run(report, error.message));
  });
  const { client } = await kit(charge, report, guarded);
  await (await client.start(guarded)).result();
  expect(inputs).toEqual(["declined"]);
});

test("Graphile Worker: a task by name, a job key that replaces the job, and a serial queue", async () => {
  const running: string[] = [];
  let most = 0;
  const hello = job(
    "hello",
    async ({ name }: { name: string }) => {
      running.push(name);
      most = Math.max(most, running.length);
      await Promise.resolve();
      running.splice(running.indexOf(name), 1);
      return `Hello, ${name}`;
    },
    { limit: { perKey: 1 }, attempts: 25 },
  );
  const environment = await kit(hello);
  const { client } = environment;
  const added = await client.enqueue("hello", { name: "Bobby Tables" }, { key: "q" });
  expect(await added.result()).toBe("Hello, Bobby Tables");
  const unique = { key: "abc", onConflict: "replace" } as const;
  const old = { name: "old" };
  const first = await client.enqueue(hello, old, { key: "q", unique, delay: "1m" });
  const second = await client.enqueue(hello, { name: "new" }, { key: "q", unique, delay: "1m" });
  expect(second.id).toBe(first.id);
  expect(await second.result()).toBe("Hello, new");
  const serial = Array.from({ length: 10 }, (_, n) => ({ input: { name: `n${n}` }, key: "queue" }));
  await client.enqueueMany(hello, serial);
  await environment.advance("5s");
  expect(most).toBe(1);
});

test("Graphile Worker: the job key modes preserve_run_at and unsafe_dedupe, run at, and a removed job", async () => {
  const { inputs, note } = noted<{ count: number }>("send_email");
  const environment = await kit(note);
  const { client } = environment;
  // The time of the first call stays, and the payload of the last call counts.
  const debounce = { key: "preserve", wait: "1m", max: "1m" } as const;
  await client.enqueue(note, { count: 1 }, { debounce });
  await environment.advance("50s");
  await client.enqueue(note, { count: 2 }, { debounce });
  await environment.advance("11s");
  expect(inputs).toEqual([{ count: 2 }]);
  // Neither the time nor the payload changes.
  const at = new Date(environment.now.getTime() + 60_000);
  await client.enqueue(note, { count: 3 }, { unique: "dedupe", at });
  await client.enqueue(note, { count: 4 }, { unique: "dedupe" });
  await environment.advance("50s");
  expect(inputs).toHaveLength(1);
  await environment.advance("11s");
  expect(inputs).toEqual([{ count: 2 }, { count: 3 }]);
  const removed = await client.enqueue(note, { count: 5 }, { id: "removed", delay: "1m" });
  await client.get(removed.id).cancel();
  await environment.advance("2m");
  expect(inputs).toHaveLength(2);
});

test("Graphile Worker: tasks with a forbidden flag wait while their queue is paused; bulk jobs", async () => {
  const { inputs, note } = noted<number>("flagged");
  const environment = await kit(note);
  const { client } = environment;
  await client.pauseQueue("flagged", { reason: "the service is down" });
  await client.enqueueMany(note, [1, { input: 2, priority: 1 }, { input: 3, key: "k" }]);
  await environment.advance("2m");
  expect(inputs).toEqual([]);
  await client.resumeQueue("flagged");
  await environment.advance("2s");
  expect(inputs.toSorted()).toEqual([1, 2, 3]);
});
