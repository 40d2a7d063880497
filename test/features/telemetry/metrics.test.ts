// Metrics: the values of counters, histograms and gauges.

import { expect, test } from "vitest";
import { activity, orchestration, Perdure } from "../../../src/index.ts";
import type { Telemetry } from "../../../src/telemetry/index.ts";
import { collecting } from "./support.ts";

test("starts, completions, attempts and commit groups are counted once each, without instance ids as labels", async () => {
  const { telemetry, metrics } = collecting();
  const flaky = activity("flaky", (fails: number, { attempt }) => {
    if (attempt <= fails) throw new Error("not yet");
    return attempt;
  });
  const slow = activity("slow", async (_: null, { signal }) => {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
  const child = orchestration("child", async (ctx) => ctx.run(flaky, 0));
  const main = orchestration("main", async (ctx, round: number): Promise<string> => {
    const retry = { maxAttempts: 3, backoff: { kind: "none" } } as const;
    await ctx.run(flaky, 1, { retry });
    await ctx.call(child, undefined);
    await ctx.step("note", () => round);
    if (round === 1) return ctx.continueAsNew(2);
    await ctx.run(slow, null, { timeout: "20ms", tags: [] }).catch(() => undefined);
    const hangs = (): Promise<never> => new Promise(() => undefined);
    await ctx.step("hangs", hangs, { timeout: "20ms" }).catch(() => undefined);
    throw new Error("over");
  });
  await using perdure = await Perdure.open("sqlite::memory:", {
    register: [flaky, slow, child, main],
    runtime: { telemetry, log: () => undefined },
  });
  const handle = await perdure.client.start(main, 1, { id: "m" });
  await expect(handle.result()).rejects.toThrow("over");
  const found = await metrics();
  const of = (prefix: string): Record<string, number> =>
    Object.fromEntries(
      Object.entries(found).filter(([name]) => name.startsWith(`perdure.${prefix}`)),
    );
  expect(of("orchestration.starts")).toEqual({
    "perdure.orchestration.starts{orchestration=main,startedBy=client,version=1.0.0}": 1,
    "perdure.orchestration.starts{orchestration=main,startedBy=continueAsNew,version=1.0.0}": 1,
    "perdure.orchestration.starts{orchestration=child,startedBy=parent,version=1.0.0}": 2,
  });
  expect(of("orchestration.completions")).toEqual({
    "perdure.orchestration.completions{orchestration=main,status=continuedAsNew,version=1.0.0}": 1,
    "perdure.orchestration.completions{orchestration=main,status=failed,version=1.0.0}": 1,
    "perdure.orchestration.completions{orchestration=child,status=completed,version=1.0.0}": 2,
  });
  expect(of("orchestration.failures")).toEqual({
    "perdure.orchestration.failures{category=application,orchestration=main,version=1.0.0}": 1,
  });
  expect(of("orchestration.children")).toEqual({
    "perdure.orchestration.children{child=child,orchestration=main}": 2,
  });
  expect(of("activity.executions")).toEqual({
    "perdure.activity.executions{activity=flaky,outcome=failed,retry=false,tag=default}": 2,
    "perdure.activity.executions{activity=flaky,outcome=completed,retry=true,tag=default}": 2,
    "perdure.activity.executions{activity=flaky,outcome=completed,retry=false,tag=default}": 2,
    "perdure.activity.executions{activity=slow,outcome=timedOut,retry=false,tag=default}": 1,
  });
  expect(of("queue.outcomes")).toEqual({
    "perdure.queue.outcomes{outcome=retried,queue=flaky}": 2,
    "perdure.queue.outcomes{outcome=completed,queue=flaky}": 4,
    "perdure.queue.outcomes{outcome=failed,queue=slow}": 1,
  });
  expect(of("step.executions")).toEqual({
    "perdure.step.executions{outcome=completed,step=note}": 2,
    "perdure.step.executions{outcome=timedOut,step=hangs}": 1,
  });
  const groups = found["perdure.commit.group{}"] ?? 0;
  expect(groups).toBeGreaterThan(5);
  expect(found["perdure.store.operation.duration{operation=commit,status=ok}"]).toBe(groups);
  expect(found["perdure.store{what=instances.failed}"]).toBe(1);
  expect(found["perdure.store{what=instances.completed}"]).toBe(2);
  expect(Object.keys(found).some((name) => name.includes("=m,"))).toBe(false);
});

test("gauges are read only at a collection and not after their runtime is closed", async () => {
  const { telemetry, metrics } = collecting();
  let reads = 0;
  const counted: Telemetry = {
    ...telemetry,
    observe: (source) =>
      telemetry.observe({
        ...source,
        runtime: () => {
          reads++;
          return source.runtime();
        },
      }),
  };
  const perdure = await Perdure.open("sqlite::memory:", { runtime: { telemetry: counted } });
  const { id } = perdure.runtime;
  expect(reads).toBe(0);
  expect(await metrics()).toHaveProperty([`perdure.runtime{runtime=${id},what=cachedInstances}`]);
  expect(reads).toBe(1);
  await perdure.close();
  await metrics();
  expect(reads).toBe(1);
});

test("a queue has one series per gauge", async () => {
  const { telemetry, metrics } = collecting();
  const calls = orchestration("calls", (ctx) =>
    ctx.all([1, 2].map((priority) => ctx.run("absent", null, { priority }))),
  );
  await using perdure = await Perdure.open("sqlite::memory:", {
    register: [calls],
    runtime: { telemetry, log: () => undefined },
  });
  await perdure.client.start(calls);
  const ofQueues = async (): Promise<readonly (readonly [string, number])[]> =>
    Object.entries(await metrics()).filter(([name]) => name.startsWith("perdure.queue."));
  await expect.poll(ofQueues, { timeout: 10_000 }).toEqual([
    ["perdure.queue.depth{queue=absent}", 2],
    ["perdure.queue.running{queue=absent}", 0],
    ["perdure.queue.oldest_age{queue=absent}", expect.any(Number)],
  ]);
});

test("an invalid telemetry object is refused", async () => {
  const opened = Perdure.open("sqlite::memory:", { runtime: { telemetry: {} as never } });
  await expect(opened).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});
