// Shutting down during work: the shutdown ends as soon as the work does, hands back the rest, and counts no attempt
// (semantics 13, 17e).

import { describe, expect, test } from "vitest";
import {
  activity,
  Client,
  orchestration,
  Perdure,
  type Provider,
  type Runtime,
} from "../../../src/index.ts";
import { collectLogs, signal, startRuntime, virtualStore, virtualWorld } from "./support.ts";
import { wrapProvider } from "./wrapped-provider.ts";

/** An activity that signals its start, and ends when the test lets it. */
function gated() {
  const entered = signal();
  const finish = signal<string>();
  const seen: { attempt: number; reason: unknown }[] = [];
  const slow = activity("slow", async (_: undefined, { attempt, signal: stop }) => {
    const run: { attempt: number; reason: unknown } = { attempt, reason: null };
    seen.push(run);
    stop.addEventListener("abort", () => (run.reason = stop.reason));
    entered.reach();
    return finish.reached;
  });
  const work = orchestration("work", async (ctx) => ctx.run(slow));
  return { entered, finish, seen, slow, work };
}

describe("a shutdown with a grace period", () => {
  test("resolves as soon as the activities have ended, and their results are kept", async () => {
    const { entered, finish, slow, work, seen } = gated();
    const { client, environment, runtime, provider } = await virtualWorld([work, slow]);
    const handle = await client.start(work, undefined, { id: "a" });
    await entered.reached;
    const down = whenDown(runtime, { graceMs: 3_600_000 });
    await environment.advance(5_000);
    expect(down.is).toBe(false);
    finish.reach("kept");
    await environment.advance(50);
    expect(down.is).toBe(true);
    expect(seen).toEqual([{ attempt: 1, reason: null }]);

    await startRuntime(provider, [work, slow]);
    expect(await handle.result()).toBe("kept");
    expect(seen).toHaveLength(1);
  });

  test("with nothing to do resolves at once", async () => {
    const { runtime, environment } = await virtualWorld([]);
    const down = whenDown(runtime, {});
    await environment.advance(10);
    expect(down.is).toBe(true);
    await runtime.stopped;
    await runtime.shutdown(); // a second shutdown does nothing
  });

  test("that runs out aborts the remaining work and hands it back, without counting an attempt", async () => {
    const { entered, finish, slow, work, seen } = gated();
    const { client, environment, runtime, provider } = await virtualWorld([work, slow]);
    const handle = await client.start(work, undefined, { id: "a" });
    await entered.reached;
    const down = whenDown(runtime, { graceMs: 2_000 });
    await environment.advance(1_900);
    expect([down.is, seen[0]?.reason]).toEqual([false, null]);
    await environment.advance(500);
    expect(down.is).toBe(true);
    expect(seen[0]?.reason).toMatchObject({ code: "SHUTTING_DOWN" });
    expect(await tasksOf(provider, "a")).toMatchObject([
      { owner: null, attempt: 0, suspect: false },
    ]);

    await startRuntime(provider, [work, slow]);
    await environment.settle();
    expect(seen.map(({ attempt }) => attempt)).toEqual([1, 1]);
    finish.reach("by the second");
    expect(await handle.result()).toBe("by the second");
  });

  test("of 0 hands everything back at once", async () => {
    const { entered, slow, work, seen } = gated();
    const { client, environment, runtime, provider } = await virtualWorld([work, slow]);
    await client.start(work, undefined, { id: "a" });
    await entered.reached;
    const before = environment.now();
    const down = whenDown(runtime, { graceMs: 0 });
    await environment.advance(10);
    expect(down.is).toBe(true);
    expect(environment.now() - before).toBeLessThanOrEqual(10);
    expect(seen[0]?.reason).toMatchObject({ code: "SHUTTING_DOWN" });
    expect(await tasksOf(provider, "a")).toMatchObject([
      { owner: null, attempt: 0, suspect: false },
    ]);
    expect(await provider.listRuntimes()).toEqual([]);
  });
});

describe("a reply that arrives after the shutdown starts", () => {
  test("no activity, if a lease request leased its task", async () => {
    const { finish, slow, work, seen } = gated();
    const { client, environment, provider } = await virtualWorld([work]);
    const { store, asked, answer } = holding(provider, (gate) => ({
      leaseTasks: async (request) => gate(await provider.leaseTasks(request), ({ tasks }) => tasks),
    }));
    const runtime = await startRuntime(store, [slow]);
    const handle = await client.start(work, undefined, { id: "a" });
    await shutDownBeforeReply({ environment, asked, runtime, answer });
    expect(seen).toEqual([]);
    expect(await tasksOf(provider, "a")).toMatchObject([{ owner: null, attempt: 0 }]);

    await startRuntime(provider, [slow]);
    finish.reach("by the second");
    expect(await handle.result()).toBe("by the second");
    expect(seen).toHaveLength(1);
  });

  test("no activity, if a commit handed over its task", async () => {
    const { finish, slow, work, seen } = gated();
    const { client, environment, provider } = await virtualStore();
    const { store, asked, answer } = holding(provider, (gate) => ({
      commit: async (items) =>
        gate(await provider.commit(items), () =>
          items.flatMap((item) => (item.kind === "turn" ? item.tasks : [])),
        ),
    }));
    const runtime = await startRuntime(store, [work, slow]);
    const handle = await client.start(work, undefined, { id: "a" });
    await shutDownBeforeReply({ environment, asked, runtime, answer });
    expect(seen).toEqual([]);

    await startRuntime(provider, [work, slow]);
    finish.reach("by the second");
    expect(await handle.result()).toBe("by the second");
    expect(seen).toHaveLength(1);
  });

  test("no turn, if a lease request leased its instance", async () => {
    let begun = 0;
    const count = orchestration("count", async () => ++begun);
    const { client, environment, provider } = await virtualStore();
    const { store, asked, answer } = holding(provider, (gate) => ({
      leaseInstances: async (request) =>
        gate(await provider.leaseInstances(request), ({ instances }) => instances),
    }));
    const runtime = await startRuntime(store, [count]);
    const handle = await client.start(count, undefined, { id: "a" });
    await shutDownBeforeReply({ environment, asked, runtime, answer });
    expect(begun).toBe(0);

    await startRuntime(provider, [count]);
    expect(await handle.result()).toBe(1);
  });
});

describe("another runtime", () => {
  test("continues all work that was handed back, from where it stopped", async () => {
    const { provider, environment } = await virtualStore();
    const add = activity("add", (n: number) => n + 1);
    const count = orchestration("count", async (ctx) => {
      let n = 0;
      for (let i = 0; i < 50; i++) {
        n = await ctx.run(add, n);
        if (i % 10 === 0) await ctx.sleep("1s");
      }
      return n;
    });
    const client = new Client(provider);
    const handles = await Promise.all(
      Array.from({ length: 20 }, (_, i) => client.start(count, undefined, { id: `c${i}` })),
    );
    const results = Promise.all(handles.map((handle) => handle.result()));
    // A deploy every half second, each without a grace period.
    for (let i = 0; i < 12; i++) {
      const runtime = await startRuntime(provider, [count, add]);
      await environment.advance(500);
      const down = whenDown(runtime, { graceMs: 0 });
      await environment.advance(10);
      expect(down.is).toBe(true);
    }
    await startRuntime(provider, [count, add]);
    await environment.advance(60_000);
    expect(await results).toEqual(handles.map(() => 50));
    for (const handle of handles) {
      const events = await handle.history();
      expect(events.filter(({ kind }) => kind === "ActivityScheduled")).toHaveLength(50);
      expect(events.filter(({ kind }) => kind === "ActivityCompleted")).toHaveLength(50);
    }
  });

  test("takes over while the first still waits for its activities", async () => {
    const { entered, finish, slow, work } = gated();
    const other = orchestration("other", async (ctx) => ctx.waitFor("go"));
    const { client, environment, runtime, provider } = await virtualWorld([work, slow, other]);
    const slowOne = await client.start(work, undefined, { id: "slow" });
    const waiting = await client.start(other, undefined, { id: "waiting" });
    await entered.reached;
    const down = whenDown(runtime, { graceMs: 60_000 });
    await environment.advance(10);
    await startRuntime(provider, [work, slow, other]);
    await waiting.raise("go", "gone");
    expect(await waiting.result()).toBe("gone");
    expect(down.is).toBe(false);
    finish.reach("done");
    await environment.advance(50);
    expect(down.is).toBe(true);
    expect(await slowOne.result()).toBe("done");
  });

  test("runs a step again that was open at the shutdown, under the same key, after its signal was aborted", async () => {
    const keys: string[] = [];
    const reasons: unknown[] = [];
    const entered = signal();
    const finish = signal<string>();
    const work = orchestration("work", async (ctx) =>
      ctx.step("slow", async ({ idempotencyKey, signal: stop }) => {
        keys.push(idempotencyKey);
        stop.addEventListener("abort", () => reasons.push(stop.reason));
        entered.reach();
        return keys.length === 1 ? new Promise<string>(() => undefined) : finish.reached;
      }),
    );
    const { client, environment, runtime, provider } = await virtualWorld([work]);
    const handle = await client.start(work, undefined, { id: "a" });
    await entered.reached;
    const down = whenDown(runtime, { graceMs: 1_000 });
    await environment.advance(1_500);
    expect(down.is).toBe(true);
    expect(reasons).toHaveLength(1);
    await startRuntime(provider, [work]);
    await environment.settle();
    expect(keys).toHaveLength(2);
    expect(keys[1]).toBe(keys[0]);
    finish.reach("done");
    expect(await handle.result()).toBe("done");
    const kinds = (await handle.history()).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "StepScheduled")).toHaveLength(1);
    expect(kinds.filter((kind) => kind === "StepAttemptFailed")).toHaveLength(0);
  });

  test("continues a chain of steps: the shutdown waits for the step in flight, not for the chain", async () => {
    let entered = 0;
    const first = signal();
    const finish = signal();
    const chain = orchestration("chain", async (ctx) => {
      for (let i = 0; i < 100; i++) {
        await ctx.step("link", async () => {
          entered++;
          first.reach();
          if (entered === 1) await finish.reached;
        });
      }
      return "done";
    });
    const { client, environment, runtime, provider } = await virtualWorld([chain]);
    const handle = await client.start(chain, undefined, { id: "a" });
    await first.reached;
    const down = whenDown(runtime, { graceMs: 3_600_000 });
    finish.reach();
    await environment.advance(50);
    expect(down.is).toBe(true);
    expect(entered).toBe(1);
    await startRuntime(provider, [chain]);
    expect(await handle.result()).toBe("done");
    expect(entered).toBe(100);
  });
});

describe("after a shutdown", () => {
  test("a late result of an abandoned handler changes nothing", async () => {
    const { entered, finish, slow, work, seen } = gated();
    const { client, environment, runtime, provider } = await virtualWorld([work, slow]);
    const handle = await client.start(work, undefined, { id: "a" });
    await entered.reached;
    const down = whenDown(runtime, { graceMs: 0 });
    await environment.advance(10);
    expect(down.is).toBe(true);
    finish.reach("late");
    await environment.advance(5_000);
    expect((await handle.describe()).status).toBe("running");
    expect((await handle.history()).map(({ kind }) => kind)).toEqual([
      "OrchestrationStarted",
      "ActivityScheduled",
    ]);
    await startRuntime(provider, [work, slow]);
    expect(await handle.result()).toBe("late");
    expect(seen).toHaveLength(2);
  });

  test("a client still works: its starts wait for the next runtime", async () => {
    const quick = orchestration("quick", async (_, n: number) => n);
    const { client, runtime, provider } = await virtualWorld([quick]);
    await runtime.shutdown();
    const handle = await client.start(quick, 7, { id: "a" });
    expect((await handle.describe()).status).toBe("pending");
    await startRuntime(provider, [quick]);
    expect(await handle.result()).toBe(7);
  });

  test("calls to a Perdure that opened its store itself are refused with a code", async () => {
    const perdure = await Perdure.open("sqlite::memory:", { runtime: { log: () => undefined } });
    const handle = await perdure.client.start("anything", 1, { id: "a" });
    await perdure.close();
    for (const call of [
      () => perdure.client.start("anything", 1, { id: "b" }),
      () => handle.raise("e"),
      () => handle.describe(),
      () => handle.result(),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: expect.stringMatching(/^(SHUTTING_DOWN|STORE_UNAVAILABLE)$/),
      });
    }
    await perdure.close(); // a second close does nothing
  });

  test("that came before the start, a start is refused and nothing is logged", async () => {
    const logs = collectLogs();
    const perdure = await Perdure.open("sqlite::memory:", {
      autoStart: false,
      runtime: { log: logs.sink },
    });
    await perdure.close();
    await expect(perdure.runtime.start()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(logs.lines).toEqual([]);
  });
});

/** Begins the shutdown; `is` becomes true when it has resolved. */
function whenDown(runtime: Runtime, options: { readonly graceMs?: number }): { is: boolean } {
  const down = { is: false };
  void runtime.shutdown(options).then(() => (down.is = true));
  return down;
}

/** A store that holds back its first non-empty reply until `answer` is reached. */
function holding(provider: Provider, methods: (gate: Gate) => Partial<Provider>) {
  const asked = signal();
  const answer = signal();
  let isFirst = true;
  const gate: Gate = async (result, handed) => {
    if (!isFirst || handed(result).length === 0) return result;
    isFirst = false;
    asked.reach();
    await answer.reached;
    return result;
  };
  return { store: wrapProvider(provider, methods(gate)), asked, answer };
}
type Gate = <T>(result: T, handed: (result: T) => readonly unknown[]) => Promise<T>;

/** Shuts the runtime down while a reply is in flight, then lets the reply arrive. */
async function shutDownBeforeReply(scene: {
  readonly environment: Awaited<ReturnType<typeof virtualStore>>["environment"];
  readonly asked: { readonly reached: Promise<void> };
  readonly runtime: Runtime;
  readonly answer: { readonly reach: () => void };
}): Promise<void> {
  const { environment, asked, runtime, answer } = scene;
  await asked.reached;
  const down = whenDown(runtime, { graceMs: 0 });
  await environment.advance(10);
  expect(down.is).toBe(true);
  answer.reach();
  await environment.settle();
}

async function tasksOf(provider: Awaited<ReturnType<typeof virtualStore>>["provider"], id: string) {
  const record = await provider.readInstance(id);
  if (record === null) throw new Error(`Instance ${id} does not exist.`);
  return provider.readTasks({ key: record.key, execution: record.execution });
}
