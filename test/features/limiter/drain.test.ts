// Limiters and callers whose executions began before callers sent requests (event-loop.ts, event-entry.ts). New code
// takes them over in the middle, and new callers share the same limits.

import { expect, onTestFinished, test } from "vitest";
import { callerCalls, limiterCalls } from "../../../src/limiter/calls.ts";
import { passByEvents } from "../../../src/limiter/event-entry.ts";
import { eventLoop } from "../../../src/limiter/event-loop.ts";
import { limiter } from "../../../src/limiter/index.ts";
import { storedRule } from "../../../src/limiter/rule.ts";
import type { LimiterState } from "../../../src/limiter/state.ts";
import { orchestration, type OrchestrationContext } from "../../../src/index.ts";
import { TestEnvironment } from "../../../src/testing/index.ts";

const two = limiter("two", { concurrency: 2 });
const stored = storedRule(two.rule);
const own = limiterCalls("two");
const calls = callerCalls("two", stored);

interface Span {
  readonly in: number;
  readonly out: number;
}
interface Visit {
  readonly stay: number;
  readonly cancelAfter?: number;
}
async function stay(ctx: OrchestrationContext, ms: number): Promise<Span> {
  const from = ctx.now().getTime();
  await ctx.sleep(ms);
  return { in: from, out: ctx.now().getTime() };
}

/** What the code before requests registered. Its executions have no patch marks. */
const OLD = [
  orchestration("two", (ctx, state: LimiterState) => eventLoop(ctx, own, state)),
  orchestration("visit", (ctx, visit: Visit) =>
    passByEvents(
      ctx,
      { limiter: { name: "two", rule: stored, calls }, gate: "two", timeoutMs: Infinity },
      () => stay(ctx, visit.stay),
    ),
  ),
  ...Object.values(own),
  ...Object.values(calls),
];
const visit = orchestration("visit", async (ctx, { stay: ms, cancelAfter }: Visit) => {
  const passed = two.run(ctx, () => stay(ctx, ms));
  if (cancelAfter === undefined) return passed;
  const first = await ctx.race({ passed, tired: ctx.sleep(cancelAfter) });
  await ctx.sleep("1d"); // a caller that has ended would lose its slot in any case
  return first.value;
});
const NEW = [two, visit];

async function oldKit() {
  const kit = await TestEnvironment.create({ register: OLD });
  onTestFinished(() => kit.close());
  const start = async (id: string, input: Visit) => {
    await kit.client.start("visit", input, { id });
    await kit.settle();
  };
  const spans = async (ids: readonly string[]) =>
    Promise.all(ids.map(async (id) => (await kit.client.get(id).result()) as Span));
  return { kit, start, spans };
}

function mostConcurrent(visits: readonly Span[]): number {
  const insideAt = (time: number) => visits.filter((v) => v.in <= time && time < v.out).length;
  return Math.max(...visits.map((visit) => insideAt(visit.in)));
}

test("old and new callers of one limiter keep one limit, and all of them pass", async () => {
  const { kit, start, spans } = await oldKit();
  const old = ["o1", "o2", "o3", "o4"];
  for (const id of old) await start(id, { stay: 20_000 });
  await kit.deploy(NEW);
  const young = ["n1", "n2", "n3", "n4"];
  for (const id of young) await start(id, { stay: 20_000 });
  await kit.advance("5m");
  const visits = await spans([...old, ...young]);
  expect(mostConcurrent(visits)).toBe(2);
  const entered = (ids: readonly string[]) => visits.slice(ids === old ? 0 : 4).map((v) => v.in);
  expect(entered(young)).toEqual([...entered(young)].sort((a, b) => a - b));
  expect((await kit.client.get("two").describe()).customStatus).toMatchObject({ inUse: 0 });
});

test("a limiter that serves only events continues as new for a new caller within some seconds", async () => {
  const { kit, start } = await oldKit();
  await start("o1", { stay: 3_600_000 });
  await kit.deploy(NEW);
  await start("n1", { stay: 1 });
  const before = (await kit.client.get("two").describe()).execution;
  await kit.advance("12s");
  expect((await kit.client.get("n1").describe()).status).toBe("completed");
  const { execution, customStatus } = await kit.client.get("two").describe();
  expect(execution).toBe(before + 1);
  expect(customStatus).toMatchObject({ inUse: 1, holders: ["o1"] });
  await kit.advance("1h");
  expect((await kit.client.get("o1").describe()).status).toBe("completed");
  expect((await kit.client.get("two").describe()).status).toBe("running");
  await kit.advance("2m");
  expect((await kit.client.get("two").describe()).status).toBe("completed");
});

test("a new caller that gives up while the limiter serves only events gets no slot later", async () => {
  const { kit, start } = await oldKit();
  for (const id of ["o1", "o2"]) await start(id, { stay: 60_000 });
  await kit.deploy(NEW);
  await start("tired", { stay: 1_000, cancelAfter: 3_000 });
  await start("n1", { stay: 1_000 });
  await kit.advance("2m");
  expect((await kit.client.get("n1").describe()).status).toBe("completed");
  expect((await kit.client.get("two").describe()).customStatus).toMatchObject({ inUse: 0 });
});

test("an old caller that asks a new execution of the limiter passes once", async () => {
  const { kit, start, spans } = await oldKit();
  await start("o1", { stay: 40_000 });
  await start("o2", { stay: 40_000 });
  await start("o3", { stay: 1_000 });
  await kit.client.get("two").terminate("by mistake");
  await kit.deploy(NEW);
  await start("n1", { stay: 1_000 });
  await kit.advance("5m");
  const visits = await spans(["o1", "o2", "o3", "n1"]);
  expect(visits).toHaveLength(4);
  expect((await kit.client.get("two").describe()).customStatus).toMatchObject({ inUse: 0 });
});
