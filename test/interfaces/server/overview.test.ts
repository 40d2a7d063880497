// The overview, its samples, the timeline and the metrics for Prometheus.

import { expect, test } from "vitest";
import { orchestration, type HistoryEvent } from "../../../src/index.ts";
import { Sampler } from "../../../src/server/views/sampler.ts";
import { TroubleGroups } from "../../../src/server/views/trouble-groups.ts";
import { timelineOf } from "../../../src/server/views/timeline.ts";
import { double, echo, openPerdure, openScene, untilWaiting, worker } from "./support.ts";

function samplerOf({ client, provider }: Awaited<ReturnType<typeof openPerdure>>, samplesMax = 10) {
  return new Sampler(client, provider, { sampleMs: 1_000, samplesMax, log: () => undefined });
}

test("two samples give rates: started and ended instances in between, and their durations", async () => {
  const perdure = await openPerdure();
  const sampler = samplerOf(perdure);
  await sampler.take();
  expect(sampler.samples).toMatchObject([{ startedRate: 0, completedRate: 0, eventRate: 0 }]);
  for (let n = 0; n < 3; n++) await (await perdure.client.start(echo, n)).result();
  await (await perdure.client.start("failing")).result().catch(() => undefined);
  await perdure.client.start("unregistered");
  await sampler.take();
  const [, second] = sampler.samples;
  expect(second?.startedRate).toBeGreaterThan(0);
  expect(second?.completedRate).toBeGreaterThan(0);
  expect(second!.startedRate / second!.completedRate).toBeCloseTo(5 / 3);
  expect(second!.endedOtherwiseRate / second!.completedRate).toBeCloseTo(1 / 3);
  expect(second?.latency).toMatchObject({ count: 4 });
});

test("a deletion lowers no rate below zero", async () => {
  const perdure = await openPerdure();
  const sampler = samplerOf(perdure);
  await (await perdure.client.start(echo, 1, { id: "e" })).result();
  await sampler.take();
  await perdure.client.delete("e");
  await sampler.take();
  expect(sampler.samples[1]).toMatchObject({ startedRate: 0, completedRate: 0, eventRate: 0 });
});

test("samples are kept in a ring buffer", async () => {
  const sampler = samplerOf(await openPerdure(), 3);
  for (let n = 0; n < 7; n++) await sampler.take();
  expect(sampler.samples).toHaveLength(3);
});

test("metrics are read once per second, however many callers ask", async () => {
  const perdure = await openPerdure();
  const { provider } = perdure;
  const read = provider.readMetrics.bind(provider);
  let asked = 0;
  provider.readMetrics = () => {
    asked += 1;
    return read();
  };
  const sampler = samplerOf(perdure);
  await Promise.all(Array.from({ length: 50 }, () => sampler.metrics()));
  expect(asked).toBe(1);
});

test("blocked and failed instances are grouped by name, version and cause, with counts", async () => {
  const broken = orchestration("broken", async (_ctx, order: number) => {
    if (order === 0) throw new TypeError("amount is missing");
    throw new Error(`order o-${order}: card "${order}111" was declined`);
  });
  const foreign = orchestration("foreign", async () => {
    await new Promise<void>(() => undefined);
  });
  const { as, perdure } = await openScene({}, [broken, foreign]);
  const { client } = perdure;
  for (const order of [0, 1, 2, 3]) {
    await (await client.start(broken, order, { id: `b-${order}` })).result().catch(() => undefined);
  }
  for (const id of ["f-1", "f-2"]) {
    const handle = await client.start(foreign, undefined, { id });
    for await (const { blocked } of handle.watch()) if (blocked !== undefined) break;
  }
  const { troubles } = await as("viewer").overview();
  expect(troubles).toMatchObject({
    groups: [
      { kind: "blocked", name: "foreign", cause: "FOREIGN_AWAIT", count: 2, newestId: "f-2" },
      {
        kind: "failed",
        name: "broken",
        cause: "Error",
        message: 'order o-3: card "3111" was declined',
        count: 3,
        newestId: "b-3",
      },
      { kind: "failed", cause: "TypeError", message: "amount is missing", count: 1 },
    ],
    looked: { blocked: 2, failed: 4 },
  });
});

test("causes are read once for all simultaneous callers", async () => {
  const { client } = await openPerdure();
  const list = client.list.bind(client);
  let asked = 0;
  client.list = (...args) => {
    asked += 1;
    return list(...args);
  };
  const troubles = new TroubleGroups(client);
  await Promise.all(Array.from({ length: 50 }, () => troubles.read()));
  await troubles.read();
  expect(asked).toBe(2); // one query for blocked and one for failed instances
});

test("the overview shows counts, queues, runtimes, work without a worker, and the store's durability", async () => {
  const lonely = orchestration("lonely", async (ctx) =>
    ctx.run("unregistered", 1, { tags: ["gpu"], priority: 1 }),
  );
  const { as, perdure } = await openScene({}, [lonely]);
  const handle = await perdure.client.start(lonely, undefined, { id: "l" });
  for await (const { waitingFor } of handle.watch()) if (waitingFor.length > 0) break;
  const overview = await as("viewer").overview();
  expect(overview).toMatchObject({
    store: { name: "sqlite", durability: perdure.provider.durability },
    metrics: { instances: { running: 1 }, waitingTasks: 1 },
    queues: [
      { name: "unregistered", depth: 1, kinds: [{ tags: ["gpu"], priority: 1, waiting: 1 }] },
    ],
    queueCount: 1,
    runtimes: [{ alive: true }],
    troubles: { groups: [], looked: { blocked: 0, failed: 0 } },
    sampleMs: 10_000,
  });
  expect(overview.metrics.unclaimed).toMatchObject([{ kind: "activity", name: "unregistered" }]);
  expect(overview.queues[0]?.unclaimed).toContain("no running worker registers");
});

test("the same metrics are available for Prometheus, with escaped labels", async () => {
  const name = 'evil"} 1\nperdure_forged{a="\\';
  const lonely = orchestration("lonely", async (ctx) =>
    ctx.run("x", 1, { tags: [name.replace("\n", " ")] }),
  );
  const { call, perdure, listening, tokens } = await openScene(
    { prometheus: () => "perdure_turns_total 7\n" },
    [lonely],
  );
  const handle = await perdure.client.start(lonely);
  for await (const { waitingFor } of handle.watch()) if (waitingFor.length > 0) break;
  const response = await fetch(`${listening.url}/metrics`, {
    headers: { Authorization: `Bearer ${tokens.viewer}` },
  });
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const text = await response.text();
  expect(text).toContain('perdure_instances{status="running"} 1\n');
  expect(text).toContain('state="waiting"} 1\n');
  expect(text).toContain("perdure_turns_total 7\n");
  for (const line of text.trimEnd().split("\n")) {
    expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="(\\.|[^"\\])*",?)*\})? [\d.e+-]+)$/);
  }
  expect((await call("viewer", "GET", "/prometheus")).status).toBe(200);
});

test("the timeline has a span for everything with a duration", async () => {
  const busy = orchestration("busy", async (ctx) => {
    await ctx.run(double, 1);
    await ctx.step(
      "flaky",
      ({ attempt }) => {
        if (attempt === 1) throw new Error("once");
        return attempt;
      },
      { retry: { maxAttempts: 2, backoff: { kind: "fixed", base: 1 } } },
    );
    const timer = ctx.sleep("1h");
    timer.cancel();
    await timer.catch(() => undefined);
    await ctx.sleep(1);
    await ctx.waitFor("early");
    await ctx.call(worker, 1).catch(() => undefined);
    ctx.setStatus("waiting");
    await ctx.waitFor("never");
  });
  const { as, perdure } = await openScene({}, [busy]);
  const { client } = perdure;
  const started = await client.start(busy, undefined, { id: "b", events: [{ name: "early" }] });
  for await (const { waitingFor } of started.watch()) {
    const child = waitingFor.find((wait) => wait.kind === "child");
    if (child === undefined) continue;
    await client.get(child.id).terminate("enough");
    break;
  }
  await untilWaiting(perdure, "b");
  const { spans, marks, next } = await as("viewer").get("b").timeline();
  expect(spans.map(({ kind, name, outcome }) => [kind, name, outcome])).toEqual([
    ["activity", "double", "completed"],
    ["step", "flaky", "completed"],
    ["timer", undefined, "cancelled"],
    ["timer", undefined, "completed"],
    ["event", "early", "completed"],
    ["child", "worker", "failed"],
    ["event", "never", "open"],
  ]);
  expect(spans[1]).toMatchObject({ attempts: 2, retries: [{ message: "once" }] });
  expect(spans[5]?.message).toContain("terminated");
  for (const { from, to } of spans)
    if (to !== undefined) expect(to.getTime()).toBeGreaterThanOrEqual(from.getTime());
  expect(marks.map(({ kind }) => kind)).toContain("StatusSet");
  expect(next).toBeUndefined();
  const first = await as("viewer").get("b").timeline({ limit: 4 });
  const rest = await as("viewer")
    .get("b")
    .timeline({ after: first.next ?? 0 });
  expect([...first.spans, ...rest.spans]).toEqual(spans);
  expect([...first.marks, ...rest.marks]).toEqual(marks);
});

test("spans that are open when an execution ends are cancelled with it", () => {
  const at = 1_000;
  const events: HistoryEvent[] = [
    { kind: "TimerCreated", due: at + 5, sequence: 1, at, version: 1 },
    { kind: "OrchestrationCompleted", output: "1", sequence: 2, at: at + 1, version: 1 },
  ];
  expect(timelineOf(events).spans).toMatchObject([{ outcome: "cancelled", endedBy: 2 }]);
});
