// Traces: one trace covers a start, its executions, children, activities and steps, across processes.

import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { expect, test } from "vitest";
import { activity, orchestration, Perdure, type RuntimeOptions } from "../../../src/index.ts";
import { temporaryFolder } from "../../faults/trouble/support.ts";
import { collecting } from "./support.ts";

const quiet: RuntimeOptions = { log: () => undefined };

async function opened(register: Parameters<typeof Perdure.open>[1]) {
  return Perdure.open("sqlite::memory:", register);
}

test("a start, its execution, activities, steps and children form one trace", async () => {
  const { telemetry, spans } = collecting();
  const double = activity("double", (value: number) => value * 2);
  const child = orchestration("child", async (ctx) => ctx.run(double, 4));
  const main = orchestration("main", async (ctx) => {
    const a = await ctx.run(double, 1);
    const b = await ctx.step("add", () => a + 1);
    return b + (await ctx.call(child, undefined, { id: "c" }));
  });
  await using perdure = await opened({
    register: [double, child, main],
    runtime: { ...quiet, telemetry },
  });
  expect(await (await perdure.client.start(main, undefined, { id: "m" })).result()).toBe(11);
  const [start, ...others] = spans();
  const producer = spans().find(({ kind }) => kind === SpanKind.PRODUCER);
  expect(producer).toMatchObject({
    name: "start main",
    attributes: { "perdure.orchestration": "main", "perdure.instance": "m" },
  });
  const traces = new Set([start, ...others].map((span) => span?.spanContext().traceId));
  expect(traces.size).toBe(1);
  const named = spans().map(({ name }) => name);
  expect(named.toSorted()).toEqual([
    "activity double",
    "activity double",
    "orchestration child",
    "orchestration main",
    "start main",
    "step add",
  ]);
  const parents = spans().filter((span) => span !== producer);
  for (const span of parents) {
    expect(span.parentSpanContext?.spanId).toBe(producer?.spanContext().spanId);
  }
});

test("the start span is a child of the caller's span, and spans in an activity are children of the activity's span", async () => {
  const { telemetry, tracer, spans } = collecting();
  const call = activity("call", async () => {
    tracer.startSpan("inner").end();
    await Promise.resolve();
    tracer.startSpan("after an await").end();
  });
  const main = orchestration("main", async (ctx) => ctx.run(call));
  await using perdure = await opened({
    register: [call, main],
    runtime: { ...quiet, telemetry },
  });
  const outer = tracer.startSpan("request");
  const handle = await context.with(trace.setSpan(context.active(), outer), () =>
    perdure.client.start(main, undefined),
  );
  await handle.result();
  outer.end();
  const find = (name: string) => spans().find((span) => span.name === name);
  expect(find("start main")?.parentSpanContext?.spanId).toBe(outer.spanContext().spanId);
  for (const name of ["inner", "after an await"]) {
    const parent = find(name)?.parentSpanContext?.spanId;
    expect(parent).toBe(find("activity call")?.spanContext().spanId);
  }
});

test("failed spans have the status error, and every attempt and every execution has a separate span", async () => {
  const { telemetry, spans } = collecting();
  const flaky = activity("flaky", (_: null, { attempt }) => {
    if (attempt === 1) throw new Error("not yet");
  });
  const again = orchestration("again", async (ctx, round: number): Promise<void> => {
    if (round === 1) return ctx.continueAsNew(2);
    await ctx.run(flaky, null, { retry: { maxAttempts: 2, backoff: { kind: "none" } } });
    throw new Error("the end");
  });
  await using perdure = await opened({
    register: [flaky, again],
    runtime: { ...quiet, telemetry },
  });
  const handle = await perdure.client.start(again, 1);
  await expect(handle.result()).rejects.toThrow("the end");
  const attempts = spans().filter(({ name }) => name === "activity flaky");
  expect(
    attempts.map(({ attributes, status }) => [attributes["perdure.attempt"], status.code]),
  ).toEqual([
    [1, SpanStatusCode.ERROR],
    [2, SpanStatusCode.UNSET],
  ]);
  const executions = spans().filter(({ name }) => name === "orchestration again");
  expect(
    executions.map(({ attributes, status }) => [attributes["perdure.outcome"], status.code]),
  ).toEqual([
    ["continuedAsNew", SpanStatusCode.UNSET],
    ["failed", SpanStatusCode.ERROR],
  ]);
});

test("cold replays and shadow replays report nothing twice", async () => {
  for (const runtime of [{ stickyCacheMax: 0 }, { shadowReplay: "always" }] as const) {
    const { telemetry, spans, metrics } = collecting();
    const one = activity("one", () => 1);
    const main = orchestration("main", async (ctx) => {
      for (let i = 0; i < 5; i++) await ctx.run(one);
      await ctx.step("s", () => 2);
    });
    await using perdure = await opened({
      register: [one, main],
      runtime: { ...quiet, ...runtime, telemetry },
    });
    await (await perdure.client.start(main)).result();
    expect(spans()).toHaveLength(1 + 5 + 1 + 1);
    const found = await metrics();
    const started =
      "perdure.orchestration.starts{orchestration=main,startedBy=client,version=1.0.0}";
    expect(found[started]).toBe(1);
  }
});

test("an observer that throws does not affect the instance", async () => {
  const thrower = (): never => {
    throw new Error("observer");
  };
  const names = ["start", "attempt", "attemptOver", "turn", "operation", "observe"];
  const telemetry = Object.fromEntries(names.map((name) => [name, thrower])) as never;
  const one = activity("one", () => 1);
  const main = orchestration(
    "main",
    async (ctx) => (await ctx.run(one)) + (await ctx.step("s", () => 1)),
  );
  await using perdure = await opened({ register: [one, main], runtime: { ...quiet, telemetry } });
  expect(await (await perdure.client.start(main)).result()).toBe(2);
});

test("one trace spans two processes", async () => {
  const { telemetry, spans } = collecting();
  const path = join(temporaryFolder(), "store.db");
  const local = orchestration("local", async (ctx) => ctx.run("remote", "hello", { tags: "far" }));
  await using perdure = await Perdure.open(`sqlite:${path}`, {
    register: [local],
    runtime: { ...quiet, telemetry },
  });
  const worker = fork(join(import.meta.dirname, "remote-worker.ts"), [path], { stdio: "inherit" });
  try {
    const handle = await perdure.client.start(local, undefined);
    expect(await handle.result({ timeout: "20s" })).toBe("hello from afar");
    const reply = once(worker, "message");
    worker.send("spans");
    const [remote] = (await reply) as [{ name: string; traceId: string; parent: string }[]];
    const producer = spans().find(({ name }) => name === "start local");
    expect(remote).toEqual([
      {
        name: "activity remote",
        traceId: producer?.spanContext().traceId,
        parent: producer?.spanContext().spanId,
      },
    ]);
  } finally {
    worker.kill();
    await once(worker, "exit");
  }
});
