// A store that fails, before or after it executed a call: nothing is lost, nothing is repeated, no instance fails
// because of it (P2, P3, P6, I14).

import { describe, expect, onTestFinished, test } from "vitest";
import {
  activity,
  Client,
  type Handle,
  orchestration,
  Perdure,
  PerdureError,
  Runtime,
  type RuntimeOptions,
} from "../../../src/index.ts";
import { Committer } from "../../../src/core/commit/committer.ts";
import { areOpen, collectLogs, refusalOf, startRuntime, virtualStore } from "./support.ts";
import { faultyProvider, wrapProvider, type FaultPlan } from "./wrapped-provider.ts";

/** Counts the actual runs by idempotency key, which is unique per call. */
function countingWorld() {
  const runs = new Map<string, number>();
  const count = (key: string): void => void runs.set(key, (runs.get(key) ?? 0) + 1);
  const add = activity("add", ([a, b]: [number, number], { idempotencyKey }) => {
    count(idempotencyKey);
    return a + b;
  });
  const flaky = activity(
    "flaky",
    (n: number, { attempt }) => {
      if (attempt < 3) throw new Error("not yet");
      return n;
    },
    { retry: { maxAttempts: 5, backoff: { kind: "fixed", base: "100ms" } } },
  );
  const child = orchestration("child", async (ctx, n: number) => ctx.run(add, [n, 1]));
  /** Every feature in one instance: activities, steps, timers, events, children, a second execution. */
  const life = orchestration("life", async (ctx, n: number): Promise<number> => {
    const first = await ctx.run(add, [n, 1]);
    const second = await ctx.step("double", () => first * 2);
    await ctx.sleep("2s");
    const third = await ctx.waitFor("more");
    const fourth = await ctx.call(child, second);
    const fifth = await ctx.run(flaky, fourth);
    const parallel = await ctx.all([ctx.run(add, [1, 1]), ctx.run(add, [2, 2]), ctx.sleep("1s")]);
    const sum = fifth + (third as number) + parallel[0] + parallel[1];
    if (n === 0) return ctx.continueAsNew(sum);
    return sum;
  });
  return { runs, life, register: [life, child, add, flaky] };
}

const once =
  (method: string, how: "before" | "after", ...calls: number[]): FaultPlan =>
  (name, call) =>
    name === method && calls.includes(call) ? how : null;

const every =
  (nth: number, how: "before" | "after", methods: readonly string[]): FaultPlan =>
  (name, call) =>
    methods.includes(name) && call % nth === 0 ? how : null;

const ALL = [
  "commit",
  "settle",
  "leaseInstances",
  "takeMessages",
  "leaseTasks",
  "lostTasks",
  "readInstance",
  "readHistory",
  "readTasks",
  "beat",
  "listRuntimes",
  "renewInstances",
  "renewTasks",
];
const READS = ["leaseInstances", "takeMessages", "readInstance", "readHistory", "readTasks"];

describe("an instance that uses every feature gets the right result, with every activity run once, when", () => {
  test.each<[string, FaultPlan, RuntimeOptions]>([
    ["nothing fails", () => null, {}],
    ["the first commit fails", once("commit", "before", 1), {}],
    ["the first commit's reply is lost", once("commit", "after", 1), {}],
    ["every second commit fails", every(2, "before", ["commit"]), {}],
    ["every second commit's reply is lost", every(2, "after", ["commit"]), {}],
    ["every commit's reply is lost", every(1, "after", ["commit"]), {}],
    [
      "commits fail before and after execution in turn, and settling fails too",
      (name, call) => {
        if (name === "settle") return call % 2 === 0 ? "before" : null;
        if (name !== "commit") return null;
        return call % 3 === 0 ? "before" : call % 3 === 1 ? "after" : null;
      },
      {},
    ],
    ["every second lease of instances fails", every(2, "before", ["leaseInstances"]), {}],
    ["every third reply with leased instances is lost", every(3, "after", ["leaseInstances"]), {}],
    [
      "every third reply with leased instances is lost and nothing is cached",
      every(3, "after", ["leaseInstances"]),
      { stickyCacheMax: 0 },
    ],
    ["every second lease of tasks fails", every(2, "before", ["leaseTasks"]), {}],
    ["every second reply with leased tasks is lost", every(2, "after", ["leaseTasks"]), {}],
    ["every second request for messages fails", every(2, "before", ["takeMessages"]), {}],
    ["every second read fails", every(2, "before", READS), { stickyCacheMax: 0 }],
    ["every third call of every kind fails", every(3, "before", ALL), {}],
    [
      "every third call fails and nothing is cached",
      every(3, "before", ALL),
      { stickyCacheMax: 0 },
    ],
    [
      "every second commit's reply is lost and leases have a time limit",
      every(2, "after", ["commit"]),
      { instanceLeaseMs: 5_000, taskLeaseMs: 5_000 },
    ],
  ])("%s", async (_, plan, options) => {
    const { environment, provider } = await virtualStore();
    const faulty = faultyProvider(provider, plan, unavailable);
    const { life, register, runs } = countingWorld();
    const logs = collectLogs();
    const runtime = await startRuntime(faulty.provider, register, { log: logs.sink, ...options });
    const client = new Client(faulty.provider);

    const ids = ["a", "b", "c"];
    const started = Promise.all(ids.map((id) => client.start(life, 0, { id })));
    await environment.advance(20_000);
    const handles = await started;
    const raised = Promise.all(
      handles.flatMap((handle) => [handle.raise("more", 10), handle.raise("more", 100)]),
    );
    await environment.advance(60_000);
    await raised;
    const results = Promise.all(handles.map((handle) => handle.result()));
    await environment.advance(120_000);
    // 0 → 1 → 2, then 3 + 10 + 2 + 4 = 19; 19 → 20 → 40, then 41 + 100 + 2 + 4 = 147.
    expect(await results).toEqual([147, 147, 147]);

    expect([...runs.values()].every((times) => times === 1)).toBe(true);
    expect(runs.size).toBe(3 * 2 * 4);
    for (const { id } of handles) {
      expect(await eventsOf(new Client(provider).get(id))).toEqual(EVENTS_OF_A_LIFE);
    }
    const { orchestrationsFailed, orchestrationsTerminated, blocked } = runtime.stats();
    expect([orchestrationsFailed, orchestrationsTerminated, blocked]).toEqual([0, 0, 0]);
    expect(logs.lines.filter(({ level }) => level === "error")).toEqual([]);
  });
});

describe("while the store is unavailable", () => {
  test("calls wait, the log reports it a few times, and everything continues when the store is back", async () => {
    const { environment, provider } = await virtualStore();
    let away = false;
    const faulty = faultyProvider(provider, () => (away ? "before" : null), unavailable);
    const { life, register, runs } = countingWorld();
    const logs = collectLogs();
    const runtime = await startRuntime(faulty.provider, register, { log: logs.sink });
    const client = new Client(faulty.provider);
    const early = await client.start(life, 1, { id: "early" });
    await environment.settle();
    away = true;
    const late = client.start(life, 1, { id: "late" });
    const raised = early.raise("more", 10);
    await environment.advance(300_000);
    expect(await areOpen(late, raised)).toBe(true);
    expect(await new Client(provider).get("late").exists()).toBe(false);
    const lines = logs.about("store unavailable, retrying: the database is away");
    // At once, then after 5, 10, 20, 40, 80 and 160 s.
    expect(lines).toHaveLength(6);
    // Backoff: no storm of retries, but the retries never stop.
    const tries = faulty.failures("commit") + faulty.failures("settle");
    expect(tries).toBeGreaterThan(90);
    expect(tries).toBeLessThan(250);

    away = false;
    await environment.advance(10_000);
    await (await late).raise("more", 100);
    const results = Promise.all([early.result(), (await late).result()]);
    await environment.advance(30_000);
    // 1 → 2 → 4, then 5 + 10 + 6, and 5 + 100 + 6.
    expect(await results).toEqual([21, 111]);
    expect([...runs.values()].every((times) => times === 1)).toBe(true);
    expect(runtime.stats().orchestrationsFailed).toBe(0);
    expect(logs.about("store recovered after")).toHaveLength(1);
  });

  test("an activity that ends meanwhile does not run again", async () => {
    const { environment, provider } = await virtualStore();
    let away = false;
    let runs = 0;
    const faulty = faultyProvider(provider, () => (away ? "before" : null), unavailable);
    const finish = Promise.withResolvers<string>();
    const entered = Promise.withResolvers<void>();
    const slow = activity("slow", () => (runs++, entered.resolve(), finish.promise));
    const work = orchestration("work", async (ctx) => ctx.run(slow));
    await startRuntime(faulty.provider, [work, slow]);
    const handle = await new Client(faulty.provider).start(work, undefined, { id: "a" });
    await entered.promise;
    away = true;
    finish.resolve("kept");
    await environment.advance(120_000);
    away = false;
    const result = handle.result();
    await environment.advance(10_000);
    expect(await result).toBe("kept");
    expect(runs).toBe(1);
  });

  test("no takeover happens when it comes back: live workers keep their leases", async () => {
    const { environment, provider } = await virtualStore();
    let away = false;
    const plan: FaultPlan = () => (away ? "before" : null);
    const one = faultyProvider(provider, plan, unavailable).provider;
    const two = faultyProvider(provider, plan, unavailable).provider;
    let runs = 0;
    const finish = Promise.withResolvers<string>();
    const slow = activity("slow", () => (runs++, finish.promise));
    const work = orchestration("work", async (ctx) => ctx.run(slow));
    const logs = collectLogs();
    await startRuntime(one, [work, slow], { log: logs.sink });
    await startRuntime(two, [work, slow], { log: logs.sink });
    const handle = await new Client(one).start(work, undefined, { id: "a" });
    await environment.advance(40_000);
    away = true;
    await environment.advance(120_000); // far longer than the stale time
    away = false;
    await environment.advance(120_000);
    expect(logs.about("took over")).toEqual([]);
    expect(logs.about("declared dead")).toEqual([]);
    finish.resolve("mine");
    expect(await handle.result()).toBe("mine");
    expect(runs).toBe(1);
  });

  test("a shutdown ends within its grace period although nothing can be handed back", async () => {
    const { environment, provider } = await virtualStore();
    let away = false;
    const faulty = faultyProvider(provider, () => (away ? "before" : null), unavailable);
    const entered = Promise.withResolvers<void>();
    const slow = activity("slow", () => (entered.resolve(), new Promise<never>(() => undefined)));
    const work = orchestration("work", async (ctx) => ctx.run(slow));
    const runtime = new Runtime(faulty.provider, { register: [work, slow], log: () => undefined });
    await runtime.start();
    await new Client(faulty.provider).start(work, undefined, { id: "a" });
    await entered.promise;
    away = true;
    let isDown = false;
    void runtime.shutdown({ graceMs: 2_000 }).then(() => (isDown = true));
    await environment.advance(10_000);
    expect(isDown).toBe(true);
  });
});

describe("a permanent error", () => {
  test("of the store as a whole fails no instance: the runtime retries and logs it", async () => {
    const { environment, provider } = await virtualStore();
    let broken = true;
    const invalid = () => new PerdureError("STORE_INVALID", "the disk image is malformed");
    const faulty = faultyProvider(
      provider,
      (name) => (broken && name !== "beat" ? "before" : null),
      invalid,
    );
    const { life, register } = countingWorld();
    const logs = collectLogs();
    const runtime = new Runtime(faulty.provider, { register, log: logs.sink });
    onTestFinished(() => runtime.shutdown({ graceMs: 0 }));
    await runtime.start();
    const started = new Client(faulty.provider).start(life, 1, { id: "a" });
    await environment.advance(30_000);
    expect(logs.about("the disk image is malformed").length).toBeGreaterThan(0);
    broken = false;
    await environment.advance(10_000);
    const handle = await started;
    await handle.raise("more", 10);
    const result = handle.result();
    await environment.advance(30_000);
    expect(await result).toBe(21);
  });

  test("of a single turn blocks its instance with the store's message, and its neighbours continue", async () => {
    const { environment, provider } = await virtualStore();
    // A provider's answer to an item that it can never write.
    const picky = wrapProvider(provider, {
      commit: async (items) => {
        const isBad = (item: (typeof items)[number]) =>
          item.kind === "turn" && (item.row?.data ?? "").includes("too big for this store");
        const error = new PerdureError(
          "STORE_INVALID",
          "SQLite rejected the call: string or blob too big.",
        );
        const rest = [...(await provider.commit(items.filter((item) => !isBad(item))))];
        return items.map((item) => {
          if (isBad(item)) return { kind: "error", error } as const;
          const result = rest.shift();
          if (result === undefined) throw new Error("a result is missing");
          return result;
        });
      },
    });
    const add = activity("add", (n: number) => n + 1);
    const big = orchestration("big", async (ctx) => {
      await ctx.run(add, 1);
      return "too big for this store";
    });
    const small = orchestration("small", async (ctx) => ctx.run(add, 1));
    const logs = collectLogs();
    await startRuntime(picky, [big, small, add], { log: logs.sink });
    const client = new Client(picky);
    const culprit = await client.start(big, undefined, { id: "big" });
    await environment.advance(5_000);
    const neighbours = Promise.all(
      Array.from({ length: 5 }, async () => (await client.start(small)).result()),
    );
    await environment.advance(5_000);
    expect(await neighbours).toEqual([2, 2, 2, 2, 2]);
    expect(await culprit.describe()).toMatchObject({
      status: "running",
      blocked: { message: expect.stringContaining("string or blob too big") },
    });
  });
});

test("a call that waits when Perdure is closed on a failing store is rejected, and does not wait forever", async () => {
  const { environment, provider } = await virtualStore();
  let away = false;
  const faulty = faultyProvider(provider, () => (away ? "before" : null), unavailable);
  const perdure = await Perdure.open(wrapProvider(faulty.provider, {}), {
    runtime: { log: () => undefined },
  });
  away = true;
  const calls = Array.from({ length: 3 }, (_, n) =>
    refusalOf(perdure.client.start("anything", n, { id: `${n}` })),
  );
  await environment.advance(20_000);
  expect(await areOpen(...calls)).toBe(true);
  const closed = perdure.close({ graceMs: 100 });
  Committer.of(perdure.provider).close();
  await environment.advance(20_000);
  await closed;
  expect((await Promise.all(calls)).map(({ code }) => code)).toEqual(
    calls.map(() => "SHUTTING_DOWN"),
  );
});

/** Counts the events of both executions by kind. */
async function eventsOf(handle: Handle): Promise<Record<string, number>> {
  const [first, second] = [
    await handle.history({ execution: 1 }),
    await handle.history({ execution: 2 }),
  ];
  const count: Record<string, number> = {};
  for (const { kind } of [...first, ...second]) count[kind] = (count[kind] ?? 0) + 1;
  return count;
}

const EVENTS_OF_A_LIFE = {
  OrchestrationStarted: 2,
  OrchestrationContinuedAsNew: 1,
  OrchestrationCompleted: 1,
  ActivityScheduled: 8,
  ActivityCompleted: 8,
  StepScheduled: 2,
  StepCompleted: 2,
  TimerCreated: 4,
  TimerFired: 4,
  ChildScheduled: 2,
  ChildCompleted: 2,
  EventSubscribed: 2,
  EventReceived: 3, // both executions receive the second message: unread in the first, read in the second
};

function unavailable(): PerdureError {
  return new PerdureError("STORE_UNAVAILABLE", "the database is away");
}
