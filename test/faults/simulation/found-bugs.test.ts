// Bugs that the simulation found, each as a test without the simulation. The corpus holds the scenarios themselves.

import { expect, test } from "vitest";
import {
  activity,
  orchestration,
  Perdure,
  PerdureError,
  type Provider,
} from "../../../src/index.ts";
import type { CommitItem } from "../../../src/core/provider/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import { freezable, wrapProvider } from "../trouble/wrapped-provider.ts";

const QUIET = { log: () => undefined, beatMs: 1_000, pollIntervalMs: 1_000 } as const;

async function openStore(): Promise<{ environment: VirtualEnvironment; store: Provider }> {
  const environment = new VirtualEnvironment();
  return { environment, store: await SqliteProvider.open(":memory:", { environment }) };
}

test("a step outcome that arrives while its execution ends does not reach the next execution", async () => {
  const { environment, store } = await openStore();
  const gate = Promise.withResolvers<string>();
  const provider = wrapProvider(store, {
    async commit(items) {
      const results = await store.commit(items);
      if (!items.some(continues)) return results;
      gate.resolve("from the ended execution"); // the step ends while the commit's reply is in flight
      await pass(environment, 10);
      return results;
    },
  });
  const rounds = orchestration("rounds", async (ctx, round: number): Promise<unknown> => {
    if (round > 0) return ctx.step("later", () => "from this execution");
    void ctx.step("slow", () => gate.promise);
    await ctx.sleep(1_000);
    return ctx.continueAsNew(1);
  });
  const perdure = await Perdure.open(provider, { register: [rounds], runtime: QUIET });
  const handle = await perdure.client.start(rounds, 0);
  await environment.advance(5_000);
  expect(await handle.result({ timeout: 0 })).toBe("from this execution");
  const kinds = (await handle.history()).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "StepCompleted")).toHaveLength(1);
  await perdure.close();
  await store.close();
});

test("a runtime that stops while a heartbeat is in flight does not register again", async () => {
  const { environment, store } = await openStore();
  const gate = Promise.withResolvers<void>();
  const provider = wrapProvider(store, {
    async beat(id) {
      await gate.promise;
      return store.beat(id);
    },
  });
  const perdure = await Perdure.open(provider, { register: [], runtime: QUIET });
  await environment.advance(1_500);
  await perdure.close();
  gate.resolve();
  await environment.settle();
  expect(await store.listRuntimes()).toEqual([]);
  await store.close();
});

test("a damaged history found by a shadow replay blocks its instance, and the process survives", async () => {
  const { environment, store } = await openStore();
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  const provider = wrapProvider(store, {
    readHistory: async (address) =>
      (await store.readHistory(address)).map((row) => ({ ...row, data: row.data.slice(0, 9) })),
  });
  const waiting = orchestration("waiting", async (ctx) => ctx.waitFor("never"));
  const runtime = { ...QUIET, shadowReplay: "always" } as const;
  const perdure = await Perdure.open(provider, { register: [waiting], runtime });
  const handle = await perdure.client.start(waiting);
  await environment.settle();
  expect((await handle.describe()).blocked).toMatchObject({ code: "HISTORY_CORRUPT" });
  expect(unhandled).toEqual([]);
  process.off("unhandledRejection", note);
  await perdure.close();
  await store.close();
});

test("a step attempt waits for its own backoff, not for the previous attempt's", async () => {
  const { environment, store } = await openStore();
  const times: number[] = [];
  let isFirst = true;
  const provider = wrapProvider(store, {
    async commit(items) {
      const results = await store.commit(items);
      const holds = isFirst && items.some((item) => says(item, "StepAttemptFailed"));
      if (!holds) return results;
      isFirst = false;
      // Longer than the backoff: the next attempt starts at once, and the wake-up of the backoff stays queued.
      await pass(environment, 2_500);
      return results;
    },
  });
  const steps = orchestration("steps", async (ctx) =>
    ctx.step(
      "stubborn",
      ({ attempt }) => {
        times.push(environment.now());
        if (attempt < 3) throw new Error("not yet");
        return attempt;
      },
      { retry: { maxAttempts: 3, backoff: { kind: "fixed", base: 2_000 } } },
    ),
  );
  const perdure = await Perdure.open(provider, { register: [steps], runtime: QUIET });
  const handle = await perdure.client.start(steps);
  await environment.advance(20_000);
  expect(await handle.result({ timeout: 0 })).toBe(3);
  const [, second = 0, third = 0] = times;
  expect(third - second).toBeGreaterThanOrEqual(2_000);
  await perdure.close();
  await store.close();
});

test("an activity outcome survives when a lease reply overtakes the reply of the previous commit", async () => {
  const work = activity("work", async (ms: number) => ms);
  const { environment, store } = await openStore();
  let held = 0;
  const provider = wrapProvider(store, {
    async commit(items) {
      const results = await store.commit(items);
      // The reply to a turn that releases its lease is in flight while the next lease has already arrived.
      if (items.some((item) => item.kind === "turn" && item.release) && held++ < 3) {
        await pass(environment, 3_000);
      }
      return results;
    },
  });
  const slow = activity("slow", async (ms: number) => {
    await pass(environment, ms);
    return ms;
  });
  const all = orchestration("all", async (ctx) =>
    ctx.all([ctx.run(slow, 500), ctx.run(work, 0), ctx.sleep(5_000)]),
  );
  const runtime = { ...QUIET, stickyCacheMax: 0 };
  const perdure = await Perdure.open(provider, { register: [all, work, slow], runtime });
  const handle = await perdure.client.start(all);
  await environment.advance(60_000);
  expect(await handle.result({ timeout: 0 })).toEqual([500, 0, undefined]);
  await perdure.close();
  await store.close();
});

test("a process with a fast copy of the store's clock does not spin until a timer is due", async () => {
  const { environment, store } = await openStore();
  let asked = 0;
  const provider = wrapProvider(store, {
    now: () => store.now() + 20,
    leaseInstances(request) {
      if (++asked > 500) throw new Error("it spins"); // without this limit it would spin forever, because virtual time does not advance
      return store.leaseInstances(request);
    },
  });
  const sleeper = orchestration("sleeper", async (ctx) => void (await ctx.sleep(1_000)));
  const runtime = { ...QUIET, stickyCacheMax: 0 };
  const perdure = await Perdure.open(provider, { register: [sleeper], runtime });
  const handle = await perdure.client.start(sleeper);
  await environment.advance(500);
  await perdure.client.start(sleeper); // the lease request returns when the first timer is due
  await environment.advance(2_000);
  expect(await handle.result({ timeout: 0 })).toBeUndefined();
  expect(asked).toBeLessThan(60);
  await perdure.close();
  await store.close();
});

test("an activity outcome reaches its instance although the worker holds an outdated copy of it", async () => {
  const { environment, store } = await openStore();
  const state = { isCut: false };
  const unlessCut = <T>(call: () => Promise<T>): Promise<T> =>
    state.isCut ? Promise.reject(new PerdureError("STORE_UNAVAILABLE", "cut off")) : call();
  // The runtime still takes tasks and commits, but gets no messages of its instances.
  const provider = wrapProvider(store, {
    leaseInstances: (request) => unlessCut(() => store.leaseInstances(request)),
    takeMessages: (keys, max) => unlessCut(() => store.takeMessages(keys, max)),
    renewInstances: (leases, ms) => unlessCut(() => store.renewInstances(leases, ms)),
  });
  const work = activity("work", async () => "done");
  const late = orchestration("late", async (ctx) => {
    await ctx.sleep(5_000);
    return ctx.run(work);
  });
  const runtime = { ...QUIET, instanceLeaseMs: 1_000, stickyIdleMs: 600_000 };
  const first = await Perdure.open(provider, { register: [late, work], runtime });
  const handle = await first.client.start(late);
  await environment.settle();
  state.isCut = true;
  const second = await Perdure.open(wrapProvider(store, {}), { register: [late], runtime });
  await environment.advance(20_000);
  expect(await handle.result({ timeout: 0 })).toBe("done");
  await first.close({ graceMs: 0 });
  await second.close();
  await store.close();
});

test("a late heartbeat reply about a replaced registration releases nothing", async () => {
  const { environment, store } = await openStore();
  const gate = Promise.withResolvers<void>();
  let beats = 0;
  const provider = wrapProvider(store, {
    async beat(id) {
      const isFirst = ++beats === 1;
      const isThere = await store.beat(id);
      if (isFirst) await gate.promise; // the reply is false, and arrives late
      return isThere;
    },
  });
  const slow = activity("slow", async () => {
    await pass(environment, 10_000);
    return "done";
  });
  const one = orchestration("one", async (ctx) => ctx.run(slow));
  const perdure = await Perdure.open(provider, { register: [one, slow], runtime: QUIET });
  await store.expireRuntime({ id: perdure.runtime.id, staleMs: null });
  await environment.advance(3_500); // another heartbeat found no row either, and the runtime registered again
  const handle = await perdure.client.start(one);
  await environment.advance(1_000);
  gate.resolve();
  await environment.advance(30_000);
  expect(await handle.result({ timeout: 0 })).toBe("done");
  await perdure.close();
  await store.close();
});

test("a step attempt runs although the store's clock was set back after its message was taken", async () => {
  const { environment, store } = await openStore();
  const { provider, freeze, thaw } = freezable(store);
  let runs = 0;
  const steps = orchestration("steps", async (ctx) =>
    ctx.step(
      "stubborn",
      ({ attempt }) => {
        if (++runs === 1) throw new Error("not yet");
        if (runs === 2) freeze(); // the process freezes during the attempt
        return runs === 2 ? new Promise<never>(() => undefined) : attempt;
      },
      { retry: { maxAttempts: 3, backoff: { kind: "fixed", base: 5_000 } } },
    ),
  );
  const first = await Perdure.open(provider, { register: [steps], runtime: QUIET });
  const handle = await first.client.start(steps);
  await environment.advance(6_000);
  expect(runs).toBe(2);
  environment.jumpWallClock(-60_000);
  await store.expireRuntime({ id: first.runtime.id, staleMs: null });
  const second = await Perdure.open(wrapProvider(store, {}), { register: [steps], runtime: QUIET });
  await environment.advance(30_000);
  expect(runs).toBe(2); // by the store's clock the attempt is not due yet
  await environment.advance(60_000);
  expect(runs).toBe(3);
  const again = second.client.get(handle.id);
  expect(await again.result({ timeout: 0 })).toBe(2);
  thaw();
  await first.close({ graceMs: 0 });
  await second.close();
  await store.close();
});

test("a runtime that registers again while it stops leaves no row in the store", async () => {
  const { environment, store } = await openStore();
  const gate = Promise.withResolvers<void>();
  let registrations = 0;
  let isGone = false;
  const provider = wrapProvider(store, {
    async registerRuntime(registration) {
      if (++registrations > 1) await gate.promise;
      return store.registerRuntime(registration);
    },
    // The process exits when its shutdown has resolved: it sends no later request.
    removeRuntime: (id) => (isGone ? Promise.resolve() : store.removeRuntime(id)),
  });
  const perdure = await Perdure.open(provider, { register: [], runtime: QUIET });
  await store.expireRuntime({ id: perdure.runtime.id, staleMs: null });
  await environment.advance(1_500); // a heartbeat finds no row
  expect(registrations).toBe(2);
  const closed = perdure.close().then(() => (isGone = true));
  await environment.advance(100);
  gate.resolve();
  await closed;
  await environment.settle();
  expect(await store.listRuntimes()).toEqual([]);
  await store.close();
});

test("a request that fails after the shutdown is neither logged nor retried", async () => {
  const { environment, store } = await openStore();
  const gate = Promise.withResolvers<void>();
  const lines: string[] = [];
  let asked = 0;
  const provider = wrapProvider(store, {
    async leaseInstances() {
      asked++;
      await gate.promise;
      throw new PerdureError("STORE_UNAVAILABLE", "the connection broke");
    },
  });
  const runtime = { ...QUIET, log: (_: unknown, message: string) => void lines.push(message) };
  const perdure = await Perdure.open(provider, { register: [], runtime });
  await environment.settle();
  await perdure.close({ graceMs: 0 });
  gate.resolve();
  await environment.settle();
  expect(environment.nextTimerAt()).toBeNull();
  expect([asked, lines]).toEqual([1, []]);
  await store.close();
});

function continues(item: CommitItem): boolean {
  return item.kind === "turn" && item.change.kind === "continued";
}

function says(item: CommitItem, kind: string): boolean {
  return item.kind === "turn" && item.row?.data.includes(`"${kind}"`) === true;
}

async function pass(environment: VirtualEnvironment, ms: number): Promise<void> {
  await new Promise<void>((resolve) => void environment.setTimer(ms, resolve));
}
