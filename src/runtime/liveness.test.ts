// Who counts as alive, to the millisecond, on a virtual clock (LV1 to LV3).

import { expect, onTestFinished, test } from "vitest";
import type { Provider } from "../core/provider/provider.ts";
import type { Heart, RuntimeRecord } from "../core/provider/runtimes.ts";
import { SqliteProvider } from "../sqlite/index.ts";
import { VirtualEnvironment } from "../testing/virtual-environment.ts";
import { Liveness, staleMsOf, type LivenessOptions } from "./liveness.ts";
import { ownIdentity } from "./process-identity.ts";

const BEAT = 1_000;
const STALE = 10_000;

/** A store, and runtimes on it that beat only when they are told to. */
async function world() {
  const environment = new VirtualEnvironment();
  const store = await SqliteProvider.open(":memory:", { environment });
  onTestFinished(() => store.close());
  const withoutHeart: Provider = new Proxy(store, {
    get: (target, key) => {
      if (key === "startHeart") return undefined;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const events: string[] = [];
  const logs: [string, string, unknown][] = [];
  const runtime = (id: string, more: Partial<LivenessOptions> = {}) =>
    new Liveness({
      provider: withoutHeart,
      environment,
      registration: { id, nodeId: "n", hostname: "h", process: null },
      registered: { activities: ["a"] },
      beatMs: BEAT,
      staleMs: STALE,
      stallMs: 60_000,
      log: (level, message, fields) => void logs.push([level, message, fields]),
      onFreed: () => void events.push(`${id} freed`),
      onLost: () => void events.push(`${id} lost`),
      ...more,
    });
  const records = () => store.listRuntimes();
  const ids = async () => (await records()).map(({ id }) => id);
  /** Beats of one runtime for so long, one in a beat. */
  const beatFor = async (living: Liveness, ms: number) => {
    for (let passed = 0; passed < ms; passed += BEAT) {
      await environment.advance(Math.min(BEAT, ms - passed));
      await living.beat();
    }
  };
  return {
    environment,
    store,
    provider: withoutHeart,
    runtime,
    records,
    ids,
    beatFor,
    events,
    logs,
  };
}

function beating(heart: Partial<Heart>): Heart {
  const nothing = () => undefined;
  return {
    turned: nothing,
    entering: nothing,
    calling: nothing,
    called: nothing,
    lost: () => false,
    isSilent: () => false,
    steadySince: () => 0,
    stop: async () => undefined,
    ...heart,
  };
}

function withHeart(provider: Provider, heart: Heart): Provider {
  return new Proxy(provider, {
    get: (target, key) => (key === "startHeart" ? () => heart : Reflect.get(target, key, target)),
  });
}

test("a runtime tells how long it may be silent: five beats, and no less than is usual", async () => {
  const { runtime, records, provider } = await world();
  const heart = withHeart(provider, beating({}));
  const told: [Partial<LivenessOptions>, number][] = [
    [{ staleMs: undefined }, 30_000],
    [{ staleMs: undefined, beatMs: 6_001 }, 30_005],
    [{ staleMs: undefined, provider: heart }, 5_000],
    [{ staleMs: undefined, provider: heart, beatMs: 1_001 }, 5_005],
    [{ staleMs: 1_234 }, 1_234],
  ];
  for (const [options, staleMs] of told) {
    await runtime("r", options).start();
    const [record] = await records();
    expect(JSON.parse(record?.registered ?? "")).toEqual({ activities: ["a"], staleMs });
    expect(record && staleMsOf(record)).toBe(staleMs);
  }
});

test("a word about silence that cannot be read counts as none", () => {
  const record = (registered: string) => ({ registered }) as RuntimeRecord;
  for (const registered of ["", "{", "null", "7", '"staleMs"', "{}", '{"staleMs":"1"}', "[]"]) {
    expect([registered, staleMsOf(record(registered))]).toEqual([registered, 30_000]);
  }
  expect(staleMsOf(record('{"staleMs":1}'))).toBe(1);
});

test("LV1: whoever was silent for its stale time is replaced, not a millisecond sooner", async () => {
  const { environment, runtime, records, ids, beatFor, events, logs } = await world();
  const living = runtime("living");
  await living.start();
  await runtime("silent").start();
  await beatFor(living, STALE);
  await living.reap(await records());
  expect(await ids()).toEqual(["living", "silent"]);
  await environment.advance(1);
  await living.reap(await records());
  expect(await ids()).toEqual(["living"]);
  expect(events).toEqual(["living freed"]);
  expect(logs).toEqual([
    ["debug", "runtime silent stopped beating; took over", { instances: 0, tasks: 0 }],
  ]);
});

test("LV1: whoever is not steady itself for a whole stale time judges nobody", async () => {
  const { environment, runtime, records, ids, beatFor } = await world();
  await runtime("silent").start();
  await environment.advance(STALE + 1);
  const young = runtime("young");
  await young.start();
  await young.reap(await records());
  await beatFor(young, STALE - 1);
  await young.reap(await records());
  expect(await ids()).toEqual(["silent", "young"]);
  await environment.advance(1);
  await young.reap(await records());
  expect(await ids()).toEqual(["young"]);
});

test("LV1: a gap of more than two and a half beats begins the steady time anew", async () => {
  for (const [gap, left] of [
    [2.5 * BEAT, ["living"]],
    [2.5 * BEAT + 1, ["living", "silent"]],
  ] as const) {
    const { environment, runtime, records, ids, beatFor } = await world();
    const living = runtime("living");
    await living.start();
    await runtime("silent").start();
    await beatFor(living, STALE);
    await environment.advance(gap);
    await living.beat();
    await living.reap(await records());
    expect([gap, await ids()]).toEqual([gap, left]);
    await beatFor(living, STALE);
    await living.reap(await records());
    expect(await ids()).toEqual(["living"]);
  }
});

test("LV1: a beat that fails begins the steady time anew, and is told to the caller", async () => {
  const { environment, runtime, records, ids, beatFor, provider } = await world();
  let fails = false;
  const flaky: Provider = new Proxy(provider, {
    get: (target, key) =>
      key === "beat" && fails
        ? () => Promise.reject(new Error("away"))
        : Reflect.get(target, key, target),
  });
  const living = runtime("living", { provider: flaky });
  await living.start();
  await runtime("silent").start();
  await beatFor(living, STALE);
  fails = true;
  await environment.advance(1);
  await expect(living.beat()).rejects.toThrow("away");
  fails = false;
  await living.beat();
  await living.reap(await records());
  expect(await ids()).toEqual(["living", "silent"]);
  await beatFor(living, STALE);
  await living.reap(await records());
  expect(await ids()).toEqual(["living"]);
});

test("LV1: a death that is certain is acted on at once", async () => {
  const { runtime, records, ids, logs } = await world();
  const own = ownIdentity();
  if (own === null) return; // a host that does not tell
  const gone = { ...own, startTime: "another" };
  const registration = { nodeId: "n", hostname: "h" };
  await runtime("gone", { registration: { ...registration, id: "gone", process: gone } }).start();
  await runtime("here", { registration: { ...registration, id: "here", process: own } }).start();
  const living = runtime("living", {
    registration: { ...registration, id: "living", process: own },
  });
  await living.start();
  await living.reap(await records());
  expect(await ids()).toEqual(["here", "living"]);
  expect(logs).toEqual([["debug", "runtime gone is gone; took over", { instances: 0, tasks: 0 }]]);
});

test("LV1: a heartbeat after the look saves a runtime whose process looks gone", async () => {
  const { environment, runtime, records, ids, events } = await world();
  const own = ownIdentity();
  if (own === null) return; // a host that does not tell
  const registration = { nodeId: "n", hostname: "h" };
  const hidden = runtime("hidden", {
    registration: { ...registration, id: "hidden", process: { ...own, startTime: "another" } },
  });
  const living = runtime("living", {
    registration: { ...registration, id: "living", process: own },
  });
  await hidden.start();
  await living.start();
  const seen = await records();
  await environment.advance(1);
  await hidden.beat();
  await living.reap(seen);
  expect(await ids()).toEqual(["hidden", "living"]);
  expect(events).toEqual([]);
});

test("LV1: a runtime that heartbeats after it was declared gone is left to its heartbeats", async () => {
  const { environment, runtime, records, ids, beatFor, events } = await world();
  const own = ownIdentity();
  if (own === null) return; // a host that does not tell
  const registration = { nodeId: "n", hostname: "h" };
  const hidden = runtime("hidden", {
    registration: { ...registration, id: "hidden", process: { ...own, startTime: "another" } },
  });
  const living = runtime("living", {
    registration: { ...registration, id: "living", process: own },
  });
  await living.start();
  await hidden.start();
  await living.reap(await records());
  await hidden.beat(); // it learns that it was declared gone, and registers again
  for (let i = 0; i < 20; i++) {
    await environment.advance(BEAT);
    await Promise.all([living.beat(), hidden.beat()]);
    await living.reap(await records());
  }
  expect((await ids()).toSorted()).toEqual(["hidden", "living"]);
  expect(events).toEqual(["living freed", "hidden lost"]);
  await beatFor(living, STALE + BEAT);
  await living.reap(await records());
  expect(await ids()).toEqual(["living"]);
});

test("V2: a beat that came between the look and the act saves the runtime", async () => {
  const { environment, runtime, records, ids, beatFor, events } = await world();
  const living = runtime("living");
  const late = runtime("late");
  await living.start();
  await late.start();
  await beatFor(living, STALE);
  await environment.advance(1);
  const seen = await records();
  await late.beat();
  await living.reap(seen);
  expect(await ids()).toEqual(["late", "living"]);
  expect(events).toEqual([]);
});

test("LV2: a runtime that was declared dead gives everything up once, and registers anew", async () => {
  const { environment, store, runtime, ids, events, logs } = await world();
  const living = runtime("living");
  await living.start();
  await environment.advance(BEAT);
  await living.beat();
  expect(events).toEqual([]);
  await store.expireRuntime({ id: "living", staleMs: null });
  await Promise.all([living.beat(), living.beat()]);
  expect(events).toEqual(["living lost"]);
  expect(await ids()).toEqual(["living"]);
  await living.beat();
  expect(events).toEqual(["living lost"]);
  expect(logs).toEqual([
    [
      "error",
      "declared dead by another runtime: everything here was given up",
      { runtime: "living" },
    ],
  ]);
});

test("LV2: a heart that says it is lost is believed only if the store says so too", async () => {
  const { store, runtime, ids, events, provider } = await world();
  let isLost = true;
  let turns = 0;
  const heart = beating({ lost: () => isLost, turned: () => void turns++ });
  const living = runtime("living", { provider: withHeart(provider, heart) });
  expect(living.heart).toBeNull();
  await living.start();
  expect(living.heart).toBe(heart);
  await living.beat();
  expect(events).toEqual([]);
  expect(turns).toBe(1);
  await store.removeRuntime("living");
  isLost = false;
  await living.beat();
  expect(events).toEqual([]);
  isLost = true;
  await living.beat();
  expect(events).toEqual(["living lost"]);
  expect(await ids()).toEqual(["living"]);
});

test("LV1: with a heart, its own steady time counts", async () => {
  const { environment, runtime, records, ids, provider } = await world();
  let since = 0;
  const heart = beating({ steadySince: () => since });
  const living = runtime("living", { provider: withHeart(provider, heart) });
  await living.start();
  await runtime("silent").start();
  await environment.advance(STALE + 1);
  since = environment.monotonic();
  await living.reap(await records());
  expect(await ids()).toEqual(["living", "silent"]);
  await environment.advance(STALE);
  await living.reap(await records());
  expect(await ids()).toEqual(["living"]);
});

test("LV3: whoever has stopped is not registered any more, whatever was on its way", async () => {
  const { store, runtime, ids, events, provider } = await world();
  let stops = 0;
  const heart = beating({ stop: async () => void stops++ });
  const living = runtime("living", { provider: withHeart(provider, heart) });
  await living.start();
  await living.stop();
  expect([stops, living.heart]).toEqual([1, null]);
  await store.removeRuntime("living");
  await living.beat();
  expect(await ids()).toEqual([]);
  expect(events).toEqual([]);

  const leaving = runtime("leaving");
  await leaving.start();
  await store.removeRuntime("leaving");
  const beat = leaving.beat();
  await leaving.stop();
  await beat;
  await store.removeRuntime("leaving");
  expect(await ids()).toEqual([]);
});
