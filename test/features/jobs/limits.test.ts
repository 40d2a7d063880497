// Limits, fair order and pauses of queues with real runtimes on one store. The rules of the store are in the conformance
// suite; the limits under kills, and at their full sizes, are in test/faults/limits.

import { expect, onTestFinished, test } from "vitest";
import {
  activity,
  defaultCodec,
  job,
  orchestration,
  Perdure,
  type Environment,
  type OpenOptions,
  type RuntimeOptions,
} from "../../../src/index.ts";
import { newPlace } from "../../support/test-store.ts";
import { startRuntime, virtualStore } from "../../faults/trouble/support.ts";
import { wrapProvider } from "../../faults/trouble/wrapped-provider.ts";

/** The clock of a process that stood still for some time, which only its monotonic clock shows. */
function wrapEnvironment(environment: Environment, stoodStillMs: () => number): Environment {
  return {
    now: () => environment.now(),
    monotonic: () => environment.monotonic() + stoodStillMs(),
    setTimer: (delayMs, fn) => environment.setTimer(delayMs, fn),
    immediate: (fn) => environment.immediate(fn),
    random: () => environment.random(),
    randomHex: (bytes) => environment.randomHex(bytes),
  };
}

/** Runtimes that share a store, as processes would. The last `idle` of them are not started: they only call. */
async function processes(
  count: number,
  register: NonNullable<OpenOptions["register"]>,
  { idle = 0, ...runtime }: RuntimeOptions & { readonly idle?: number } = {},
): Promise<readonly Perdure[]> {
  const place = newPlace("file");
  const opened: Perdure[] = [];
  onTestFinished(async () => {
    for (const perdure of opened) await perdure.close({ graceMs: 0 });
    await place.remove();
  });
  for (let left = count; left > 0; left--) {
    const autoStart = left > idle;
    opened.push(await Perdure.open(await place.open(), { register, runtime, autoStart }));
  }
  return opened;
}

/** Counts how many attempts run at a time, in total and by key. */
class Meter {
  most = 0;
  readonly mostOf = new Map<string, number>();
  readonly started: string[] = [];
  readonly times: number[] = [];
  readonly #inside: string[] = [];

  readonly visit = async (key: string): Promise<void> => {
    this.times.push(performance.now());
    this.started.push(key);
    this.#inside.push(key);
    this.most = Math.max(this.most, this.#inside.length);
    const ofKey = this.#inside.filter((each) => each === key).length;
    this.mostOf.set(key, Math.max(this.mostOf.get(key) ?? 0, ofKey));
    await new Promise((resolve) => setTimeout(resolve, 2));
    this.#inside.splice(this.#inside.indexOf(key), 1);
  };
}

function inputs(count: number, ...keys: string[]) {
  return Array.from({ length: count }, (_, index) => {
    const key = keys[index % keys.length] ?? "";
    return { input: key, key };
  });
}

async function done(perdure: Perdure | undefined, name: string, count: number): Promise<void> {
  await expect
    .poll(() => perdure?.client.count({ name, status: ["completed"] }), { interval: 20 })
    .toBe(count);
}

test("concurrency holds over all processes, for jobs and for calls of orchestrations", async () => {
  const meter = new Meter();
  const work = activity("work", meter.visit, { limit: { concurrency: 3 } });
  const caller = orchestration("caller", (ctx) =>
    ctx.all(Array.from({ length: 10 }, () => ctx.run(work, "call"))),
  );
  const [first, second] = await processes(2, [work, caller]);
  await second?.client.start(caller, undefined, { id: "caller" });
  await first?.client.enqueueMany(work, inputs(30, "job"));
  await done(first, "work", 30);
  await second?.client.get("caller").result();
  expect(meter.started).toHaveLength(40);
  expect(meter.most).toBe(3);
});

test("a limit per key holds for each key, and a full key does not delay others", async () => {
  const meter = new Meter();
  const work = job("work", meter.visit, { limit: { perKey: 2 } });
  const [first] = await processes(2, [work]);
  await first?.client.enqueueMany(work, [...inputs(30, "a"), ...inputs(10, "b", "c")]);
  await done(first, "work", 40);
  expect(Object.fromEntries(meter.mostOf)).toEqual({ a: 2, b: 2, c: 2 });
  const lastOfOthers = meter.started.findLastIndex((key) => key !== "a");
  expect(lastOfOthers).toBeLessThan(30);
});

test("a rate is not exceeded in any window", async () => {
  const meter = new Meter();
  const [count, perMs] = [20, 150];
  const work = job("work", meter.visit, { limit: { rate: { count, per: perMs } } });
  const [first] = await processes(2, [work]);
  await first?.client.enqueueMany(work, inputs(70, "a"));
  await done(first, "work", 70);
  const times = meter.times.toSorted((a, b) => a - b);
  for (const [index, time] of times.entries()) {
    const later = times[index + count];
    if (later !== undefined) expect(later - time).toBeGreaterThanOrEqual(perMs);
  }
});

/** A rate on a virtual clock, with a worker whose lease requests take three seconds, and further workers. */
async function slowWorker(others: number) {
  const { environment, provider, client } = await virtualStore();
  const times: number[] = [];
  const rate = { count: 2, per: "1s" } as const;
  const work = job("work", async (_: string) => void times.push(environment.now()), {
    limit: { rate },
  });
  await client.enqueueMany(work, inputs(12, "a"));
  const slow = wrapProvider(provider, {
    async leaseTasks(request) {
      const leased = await provider.leaseTasks(request);
      await new Promise<void>((resolve) => void environment.setTimer(3_000, resolve));
      return leased;
    },
  });
  await startRuntime(slow, [work]);
  for (let left = others; left > 0; left--) await startRuntime(provider, [work]);
  await environment.advance(120_000);
  return times;
}

test("a worker with slow round trips does not exceed a rate together with others", async () => {
  const times = await slowWorker(1);
  expect(times).toHaveLength(12);
  const gaps = times.slice(2).map((time, index) => time - (times[index] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
});

test("a worker with slow round trips makes progress under a rate", async () => {
  expect(await slowWorker(0)).toHaveLength(12);
});

test("a task that is entered late after all counts from its entry", async () => {
  const { environment, provider, client } = await virtualStore();
  const rate = { count: 1, per: "1s" } as const;
  const times: number[] = [];
  let lateMs = 700;
  const work = job("work", async (_: string) => void times.push(environment.now()), {
    limit: { rate },
  });
  await client.enqueueMany(work, inputs(2, "a"));
  // The process stands still between the decision and the code, while it decodes the first input.
  const slow = wrapProvider(provider, {
    environment: wrapEnvironment(environment, () => 700 - lateMs),
  });
  const decode = (text: string): unknown => {
    if (text === '"a"') lateMs = 0;
    return defaultCodec.decode(text);
  };
  await startRuntime(slow, [work], { codec: { ...defaultCodec, decode } });
  await expect.poll(() => times.length).toBe(1);
  await environment.advance(1_699);
  expect(times).toHaveLength(1);
  await environment.advance(500);
  expect(times).toHaveLength(2);
});

test("two workers use a rate almost completely, and never exceed it", async () => {
  const { environment, provider, client } = await virtualStore();
  const times: number[] = [];
  const rate = { count: 100, per: "1s" } as const;
  const work = job("work", async (_: string) => void times.push(environment.now()), {
    limit: { rate },
  });
  await client.enqueueMany(work, inputs(1_000, "a"));
  await startRuntime(provider, [work]);
  await startRuntime(provider, [work]);
  await environment.advance(20_000);
  expect(times).toHaveLength(1_000);
  const gaps = times.slice(100).map((time, index) => time - (times[index] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1_000);
  const tookMs = (times.at(-1) ?? 0) - (times[0] ?? 0);
  expect(tookMs).toBeLessThanOrEqual(9_000 / 0.98); // the first hundred begin at once
});

test("in fair order a key with few jobs does not wait for a key with many", async () => {
  const meter = new Meter();
  const work = job("work", meter.visit, { fair: { weight: (key) => (key === "c" ? 3 : 1) } });
  const [perdure] = await processes(1, [work], { activityConcurrency: 2 });
  await perdure?.client.pauseQueue("work");
  await perdure?.client.enqueueMany(work, inputs(150, "a"));
  await perdure?.client.enqueueMany(work, [...inputs(10, "b"), ...inputs(30, "c")]);
  await perdure?.client.resumeQueue("work");
  await done(perdure, "work", 190);
  expect(meter.started.lastIndexOf("b")).toBeLessThan(60);
  const shares = meter.started.slice(0, 50);
  expect(shares.filter((key) => key === "c").length).toBeGreaterThan(25);
});

test("a paused queue begins nothing, and its neighbours go on", async () => {
  const meter = new Meter();
  const work = job("work", meter.visit);
  const other = job("other", meter.visit);
  // A worker may begin calls of its own process until its next poll, so the jobs come from a process without a worker.
  const options = { pollIntervalMs: 50, idle: 1 };
  const [first, , second] = await processes(3, [work, other], options);
  await first?.client.pauseQueue("work", { reason: "maintenance", by: "ada" });
  await expect
    .poll(async () => (await second?.client.queue("work"))?.paused)
    .toMatchObject({ reason: "maintenance", by: "ada" });
  await second?.client.enqueueMany(work, inputs(5, "paused"));
  await second?.client.enqueueMany(other, inputs(5, "other"));
  await done(first, "other", 5);
  expect(meter.started).not.toContain("paused");
  expect(await first?.client.queue("work")).toMatchObject({ depth: 5, running: 0 });
  await first?.client.resumeQueue("work");
  await done(first, "work", 5);
});

test("a runtime that declares other limits warns and names both", async () => {
  const lines: string[] = [];
  const place = newPlace("file");
  const open = async (concurrency: number): Promise<Perdure> => {
    const work = job("work", async () => undefined, { limit: { concurrency } });
    const log = (_level: string, message: string): void => void lines.push(message);
    return Perdure.open(await place.open(), { register: [work], runtime: { log } });
  };
  const opened = [await open(2)];
  onTestFinished(async () => {
    for (const perdure of opened) await perdure.close({ graceMs: 0 });
    await place.remove();
  });
  opened.push(await open(2));
  expect(lines).toEqual([]);
  opened.push(await open(5));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('"concurrency":2');
  expect(lines[0]).toContain('"concurrency":5');
  expect(await opened[0]?.client.queue("work")).toMatchObject({ limit: { concurrency: 5 } });
});
