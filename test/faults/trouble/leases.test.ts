// Leases with a time limit (an option): the runtime renews them while its event loop runs, loses them when the loop
// freezes, and writes nothing with a lost lease (P8, I2).

import { describe, expect, test } from "vitest";
import {
  activity,
  Client,
  orchestration,
  type Provider,
  type RuntimeOptions,
} from "../../../src/index.ts";
import { runProgram } from "./child.ts";
import { collectLogs, fileStore, signal, startRuntime, until, virtualStore } from "./support.ts";
import { freezable, wrapProvider } from "./wrapped-provider.ts";

const LEASES: RuntimeOptions = { instanceLeaseMs: 3_000, taskLeaseMs: 3_000 };

/** Two runtimes that behave as if in separate processes; the first can be frozen. */
async function twoProcesses() {
  const { environment, provider } = await virtualStore();
  const loop = freezable(provider);
  const first = loop.provider;
  const second = wrapProvider(provider, {});
  return { environment, provider, first, second, loop };
}

test("leases are renewed while the runtime lives, and no other runtime gets them", async () => {
  const { environment, first, second } = await twoProcesses();
  let runs = 0;
  const finish = signal<string>();
  const slow = activity("slow", () => (runs++, finish.reached));
  const work = orchestration("work", async (ctx) => {
    const value = await ctx.run(slow);
    return [value, await ctx.step("after", () => "step")];
  });
  const logs = collectLogs();
  const owner = await startRuntime(first, [work, slow], { ...LEASES, log: logs.sink });
  const handle = await new Client(first).start(work, undefined, { id: "a" });
  await environment.settle();
  const other = await startRuntime(second, [work, slow], { ...LEASES, log: logs.sink });
  await environment.advance(60_000);
  expect(runs).toBe(1);
  finish.reach("done");
  await environment.advance(1_000);
  expect(await handle.result()).toEqual(["done", "step"]);
  expect([owner.stats().refusedTurns, other.stats().turns]).toEqual([0, 0]);
  expect(logs.lines).toEqual([]);
});

test.each<RuntimeOptions>([
  { instanceLeaseMs: 100, taskLeaseMs: 100 },
  { taskLeaseMs: 150 },
  { instanceLeaseMs: 250, renewBufferMs: 200 },
])("a lease shorter than a heartbeat interval is renewed all the same: %o", async (options) => {
  const { environment, first, second } = await twoProcesses();
  let runs = 0;
  const finish = signal<string>();
  const slow = activity("slow", () => (runs++, finish.reached));
  const work = orchestration("work", async (ctx) => ctx.run(slow));
  const owner = await startRuntime(first, [work, slow], options);
  const handle = await new Client(first).start(work, undefined, { id: "a" });
  await environment.settle();
  await startRuntime(second, [work, slow], options);
  await environment.advance(10_000);
  expect(runs).toBe(1);
  finish.reach("done");
  await environment.advance(1_000);
  expect(await handle.result()).toBe("done");
  expect(owner.stats().refusedTurns).toBe(0);
});

test("a commit in flight during a takeover is refused, although the instance's last event is unchanged", async () => {
  const { environment, provider } = await virtualStore();
  const first = slowLine(provider);
  const second = slowLine(provider, { exceptRenewals: true });
  const work = orchestration("work", async (ctx) => {
    await ctx.waitFor("go");
    return ctx.step("who", ({ log }) => (log.info("entered"), "done"));
  });
  const options = { instanceLeaseMs: 3_000 };
  const logs = { first: collectLogs(), second: collectLogs() };
  const owner = await startRuntime(first.provider, [work], { ...options, log: logs.first.sink });
  const handle = await new Client(first.provider).start(work, undefined, { id: "a" });
  await environment.settle();
  await startRuntime(second.provider, [work], { ...options, log: logs.second.sink });
  await environment.advance(1_000);

  // The first runtime's turn and renewals are delayed on the way to the store; the second takes over and is slow, too.
  const look = new Client(provider).get("a");
  const before = await look.history();
  first.slow();
  second.slow();
  await look.raise("go");
  await environment.advance(6_000);
  expect(await look.history()).toEqual(before);
  first.quick();
  await environment.settle();
  expect(owner.stats().refusedTurns).toBe(1);
  expect(await look.history()).toEqual(before);
  second.quick();
  await environment.advance(1_000);
  expect(await handle.result()).toBe("done");
  expect([logs.first.about("entered"), logs.second.about("entered")]).toMatchObject([[], [{}]]);
});

/** A store behind a slow connection: turns and renewals can be held up; all other calls pass. */
function slowLine(provider: Provider, { exceptRenewals = false } = {}) {
  let line: ReturnType<typeof signal<undefined>> | null = null;
  const slowed = wrapProvider(provider, {
    commit: async (items) => {
      if (items.some(({ kind }) => kind === "turn")) await line?.reached;
      return provider.commit(items);
    },
    renewInstances: async (leases, leaseMs) => {
      if (!exceptRenewals) await line?.reached;
      return provider.renewInstances(leases, leaseMs);
    },
  });
  return { provider: slowed, slow: () => (line = signal()), quick: () => line?.reach(undefined) };
}

describe("a runtime whose event loop is frozen", () => {
  test("loses its instance and its task; the other runtime finishes them; the late commit is refused", async () => {
    const { environment, first, second, loop, provider } = await twoProcesses();
    const finishes = [signal<string>(), signal<string>()];
    const seen: number[] = [];
    const slow = activity("slow", (_: undefined, { attempt }) => {
      seen.push(attempt);
      return finishes[seen.length - 1]?.reached;
    });
    const work = orchestration("work", async (ctx) => {
      const value = await ctx.run(slow);
      await ctx.waitFor("go");
      return value;
    });
    const owner = await startRuntime(first, [work, slow], LEASES);
    const handle = await new Client(first).start(work, undefined, { id: "a" });
    await environment.settle();
    await startRuntime(second, [work, slow], LEASES);
    await environment.advance(5_000);
    expect(seen).toEqual([1]);

    loop.freeze();
    await environment.advance(10_000);
    expect(seen).toEqual([1, 2]);
    finishes[1]?.reach("from the second");
    await environment.settle();
    const look = new Client(provider).get("a");
    const history = await look.history();
    expect(history.at(-2)).toMatchObject({ kind: "ActivityCompleted", attempts: 2 });

    // The first runtime resumes with a result, before it learns of the takeover.
    finishes[0]?.reach("from the first, too late");
    loop.thaw();
    await environment.advance(5_000);
    expect(await look.history()).toEqual(history);
    await look.raise("go");
    await environment.advance(1_000);
    expect(await handle.result()).toBe("from the second");
    expect(owner.stats().activities.active).toBe(0);
  });

  test("aborts its activities with LEASE_LOST when it resumes", async () => {
    const { environment, first, second, loop } = await twoProcesses();
    const reasons: unknown[] = [];
    const slow = activity("slow", (_: undefined, { attempt, signal: stop }) => {
      if (attempt > 1) return "by the second";
      stop.addEventListener("abort", () => reasons.push(stop.reason));
      return new Promise<never>(() => undefined);
    });
    const work = orchestration("work", async (ctx) => ctx.run(slow));
    const owner = await startRuntime(first, [work, slow], LEASES);
    const handle = await new Client(second).start(work, undefined, { id: "a" });
    await environment.advance(2_000);
    await startRuntime(second, [work, slow], LEASES);
    loop.freeze();
    await environment.advance(10_000);
    expect(await handle.result()).toBe("by the second");
    expect(reasons).toEqual([]);
    loop.thaw();
    await environment.advance(5_000);
    expect(reasons).toMatchObject([{ code: "LEASE_LOST" }]);
    expect(owner.stats().activities.active).toBe(0);
  });

  test("again and again, at any moment of its turns, loses nothing and repeats nothing", async () => {
    const { environment, first, second, loop, provider } = await twoProcesses();
    const add = activity("add", (n: number) => n + 1);
    const work = orchestration("work", async (ctx) => {
      let n = 0;
      for (let i = 0; i < 40; i++) {
        n = await ctx.run(add, n);
        await ctx.waitFor("go");
      }
      return n;
    });
    await startRuntime(first, [work, add], LEASES);
    await new Client(first).start(work, undefined, { id: "a" });
    await startRuntime(second, [work, add], LEASES);
    const look = new Client(provider).get("a");
    for (let i = 0; i < 40; i++) {
      await look.raise("go", i);
      // After a few iterations of the event loop: at a random point of the runtime's work.
      for (let round = 0; round < i % 7; round++) await new Promise((next) => setImmediate(next));
      loop.freeze();
      await environment.advance(i % 3 === 0 ? 4_000 : 100);
      loop.thaw();
      await environment.advance(i % 5 === 0 ? 4_000 : 10);
    }
    await environment.advance(30_000);
    expect(await look.result()).toBe(40);
    const kinds = (await look.history()).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "ActivityCompleted")).toHaveLength(40);
    expect(kinds.filter((kind) => kind === "EventReceived")).toHaveLength(40);
  });

  test("with a step open loses it to another runtime, which runs the step under the same key", async () => {
    const { environment, first, second, loop, provider } = await twoProcesses();
    const keys: string[] = [];
    const work = orchestration("work", async (ctx) =>
      ctx.step("slow", ({ idempotencyKey }) => {
        keys.push(idempotencyKey);
        return keys.length === 1 ? new Promise<never>(() => undefined) : "by the second";
      }),
    );
    await startRuntime(first, [work], LEASES);
    await new Client(first).start(work, undefined, { id: "a" });
    await environment.advance(1_000);
    await startRuntime(second, [work], LEASES);
    loop.freeze();
    await environment.advance(10_000);
    expect(await new Client(provider).get("a").result()).toBe("by the second");
    expect(keys).toEqual([keys[0], keys[0]]);
    loop.thaw();
    await environment.advance(5_000);
  });

  test("without lease times is declared dead after its stale time, drops all work and registers again", async () => {
    const { environment, first, second, loop } = await twoProcesses();
    const options: RuntimeOptions = { beatMs: 1_000, staleMs: 5_000 };
    const reasons: unknown[] = [];
    const slow = activity("slow", (_: undefined, { attempt, signal: stop }) => {
      if (attempt > 1) return "by the second";
      stop.addEventListener("abort", () => reasons.push(stop.reason));
      return new Promise<never>(() => undefined);
    });
    const work = orchestration("work", async (ctx) => ctx.run(slow));
    const quick = orchestration("quick", async () => "alive");
    const logs = collectLogs();
    await startRuntime(first, [work, slow, quick], { ...options, log: logs.sink });
    const handle = await new Client(second).start(work, undefined, { id: "a" });
    await environment.advance(2_000);
    const other = await startRuntime(second, [work, slow, quick], { ...options, log: logs.sink });
    await environment.advance(10_000);
    loop.freeze();
    await environment.advance(20_000);
    expect(await handle.result()).toBe("by the second");
    expect(logs.about("stopped sending heartbeats; took over")).toHaveLength(1);
    loop.thaw();
    await environment.advance(5_000);
    expect(reasons).toMatchObject([{ code: "LEASE_LOST" }]);
    expect(logs.about("declared dead by another runtime")).toHaveLength(1);
    // It takes work again.
    const down = other.shutdown();
    await environment.advance(100);
    await down;
    const again = await new Client(second).start(quick, undefined, { id: "b" });
    await environment.advance(3_000);
    expect(await again.result()).toBe("alive");
  });
});

test("a process stopped by SIGSTOP loses its work to another, and its late result is refused after SIGCONT", async () => {
  const { path, client, provider } = await fileStore();
  const worker = runProgram("stopped-worker", path);
  await worker.says("ready");
  const handle = await client.start("work", undefined, { id: "a" });
  const entered = await worker.says("entered");
  expect(entered["attempt"]).toBe(1);
  worker.kill("SIGSTOP");

  const attempts: number[] = [];
  const slow = activity("slow", (_: undefined, { attempt }) => {
    attempts.push(attempt);
    return "by the other";
  });
  const work = orchestration("work", async (ctx) => [await ctx.run(slow), await ctx.waitFor("go")]);
  await startRuntime(provider, [work, slow], { instanceLeaseMs: 500, taskLeaseMs: 500 });
  await until("the other runtime has taken over", () => attempts.length > 0);
  worker.kill("SIGCONT");
  expect(await worker.says("aborted")).toMatchObject({ code: "LEASE_LOST" });
  await worker.says("returned late");
  await handle.raise("go", "on");
  expect(await handle.result()).toEqual(["by the other", "on"]);
  expect(attempts).toEqual([2]);
  const completed = (await handle.history()).filter(({ kind }) => kind === "ActivityCompleted");
  expect(completed).toHaveLength(1);
});
