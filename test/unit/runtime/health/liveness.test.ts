// Which runtimes count as alive, to the millisecond, on a virtual clock (liveness.1 to liveness.3).

import { hostname } from "node:os";
import { expect, onTestFinished, test } from "vitest";
import type { Provider } from "../../../../src/core/provider/provider.ts";
import type {
  LivenessThread,
  ProcessIdentity,
  RuntimeRecord,
} from "../../../../src/core/provider/runtimes.ts";
import { SqliteProvider } from "../../../../src/sqlite/index.ts";
import { VirtualEnvironment } from "../../../../src/testing/virtual-environment.ts";
import {
  Liveness,
  staleMsOf,
  type LivenessContext,
} from "../../../../src/runtime/health/liveness.ts";
import { ownIdentity } from "../../../../src/runtime/health/process-identity.ts";

const BEAT = 1_000;
const STALE = 10_000;

interface Settings {
  readonly provider?: Provider;
  readonly process?: ProcessIdentity;
  readonly beatMs?: number;
  /** Null: the option is absent. */
  readonly staleMs?: number | null;
  readonly isDrive?: boolean;
  readonly options?: Partial<LivenessContext["options"]>;
}

/** A store with runtimes that send a heartbeat only when the test calls `beat`. */
async function setup() {
  const environment = new VirtualEnvironment();
  const store = await SqliteProvider.open(":memory:", { environment });
  onTestFinished(() => store.close());
  const withoutThread: Provider = new Proxy(store, {
    get: (target, key) => {
      if (key === "startLivenessThread") return undefined;
      const value: unknown = Reflect.get(target, key, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  const events: string[] = [];
  const logs: [string, string, unknown][] = [];
  const runtime = (id: string, settings: Settings = {}): Liveness => {
    const { provider = withoutThread, process, beatMs = BEAT, staleMs = STALE } = settings;
    const context: LivenessContext = {
      id,
      isDrive: settings.isDrive === true,
      provider,
      environment,
      registered: { activities: ["a"] },
      registry: { flows: [] },
      options: {
        ...{ beatMs, stallMs: 60_000, ...settings.options },
        ...(staleMs === null ? {} : { staleMs }),
      },
      log: (level, message, fields) => void logs.push([level, message, fields]),
      intake: { wake: () => void events.push(`${id} freed`) },
      upkeep: { dropAllLeases: () => void events.push(`${id} lost`) },
    };
    return new Liveness(context, process ?? null);
  };
  const records = () => store.listRuntimes();
  const ids = async () => (await records()).map(({ id }) => id);
  /** Sends heartbeats of one runtime for `ms`, one per `BEAT`. */
  const beatFor = async (living: Liveness, ms: number) => {
    for (let passed = 0; passed < ms; passed += BEAT) {
      await environment.advance(Math.min(BEAT, ms - passed));
      await living.beat();
    }
  };
  return {
    environment,
    store,
    provider: withoutThread,
    runtime,
    records,
    ids,
    beatFor,
    events,
    logs,
  };
}

function fakeThread(thread: Partial<LivenessThread>): LivenessThread {
  const nothing = () => undefined;
  return {
    turned: nothing,
    entering: nothing,
    lost: () => false,
    isSilent: () => false,
    steadySince: () => 0,
    stop: async () => undefined,
    ...thread,
  };
}

function withThread(provider: Provider, thread: LivenessThread): Provider {
  return new Proxy(provider, {
    get: (target, key) =>
      key === "startLivenessThread" ? () => thread : Reflect.get(target, key, target),
  });
}

test("a runtime publishes its stale time: by default five heartbeats, and at least the usual minimum", async () => {
  const { runtime, records, provider } = await setup();
  const threaded = withThread(provider, fakeThread({}));
  const expectations: [Settings, number][] = [
    [{ staleMs: null }, 30_000],
    [{ staleMs: null, beatMs: 6_001 }, 30_005],
    [{ staleMs: null, provider: threaded }, 5_000],
    [{ staleMs: null, provider: threaded, beatMs: 1_001 }, 5_005],
    [{ staleMs: 1_234 }, 1_234],
  ];
  for (const [options, staleMs] of expectations) {
    await runtime("r", options).start();
    const [record] = await records();
    expect(JSON.parse(record?.registered ?? "")).toEqual({ activities: ["a"], flows: [], staleMs });
    expect(record && staleMsOf(record)).toBe(staleMs);
  }
});

test("a runtime publishes its node: the given one, or the host and the process", async () => {
  const { runtime, records } = await setup();
  await runtime("r").start();
  await runtime("s", { options: { workerNodeId: "node-1" } }).start();
  const [own, named] = await records();
  expect(own?.nodeId).toBe(`${hostname()}:${String(process.pid)}`);
  expect(named?.nodeId).toBe("node-1");
});

test("a liveness thread is started for the runtime, with its heartbeat and stall times", async () => {
  const { runtime, provider } = await setup();
  const started: unknown[] = [];
  const starting: Provider = new Proxy(provider, {
    get: (target, key) =>
      key === "startLivenessThread"
        ? (options: unknown) => (started.push(options), fakeThread({}))
        : Reflect.get(target, key, target),
  });
  await runtime("r", { provider: starting }).start();
  expect(started).toEqual([{ runtimeId: "r", beatMs: BEAT, stallMs: 60_000 }]);
  const drive = runtime("d", { provider: starting, isDrive: true });
  await drive.start();
  expect([started.length, drive.thread]).toEqual([1, null]);
});

test("liveness.5: a drive says that it is one, and is stale only after its leases have expired", async () => {
  const { runtime, records } = await setup();
  const leases = { instanceLeaseMs: 40_000, taskLeaseMs: 50_000 };
  const expectations: [Settings, number][] = [
    [{ isDrive: true }, STALE],
    [{ isDrive: true, options: leases }, 50_000],
    [{ isDrive: true, options: { ...leases, taskLeaseMs: 5 } }, 40_000],
    [{ isDrive: true, options: leases, staleMs: 60_000 }, 60_000],
  ];
  for (const [settings, staleMs] of expectations) {
    await runtime("r", settings).start();
    const [record] = await records();
    const registered = { activities: ["a"], flows: [], staleMs, isDrive: true };
    expect(JSON.parse(record?.registered ?? "")).toEqual(registered);
  }
});

test("liveness.5: a silent drive is taken over at once; a drive waits only for the other's stale time", async () => {
  const { environment, runtime, records, ids } = await setup();
  await runtime("drive", { isDrive: true }).start();
  await runtime("worker").start();
  await environment.advance(STALE + 1);
  const young = runtime("young");
  await young.start();
  await young.reap(await records());
  expect(await ids()).toEqual(["worker", "young"]); // its own heartbeats are too young for a worker
});

test("LV1: a runtime seems dead if it is silent or gone, but never to itself", async () => {
  const { environment, runtime, records } = await setup();
  const own = ownIdentity();
  const living = runtime("living", own === null ? {} : { process: own });
  await living.start();
  await runtime("silent").start();
  const seemsDead = async () => {
    const all = await records();
    const now = environment.now();
    return all.filter((other) => living.seemsDead(other, now)).map(({ id }) => id);
  };
  await environment.advance(STALE);
  expect(await seemsDead()).toEqual([]);
  await environment.advance(1);
  expect(await seemsDead()).toEqual(["silent"]);
  if (own === null) return;
  await runtime("gone", { process: { ...own, startTime: "another" } }).start();
  expect((await seemsDead()).toSorted()).toEqual(["gone", "silent"]);
});

test("a takeover that freed work is a warning with what was freed", async () => {
  const { environment, runtime, records, beatFor, logs, provider } = await setup();
  const freed = { instances: 0, tasks: 0 };
  const freeing: Provider = new Proxy(provider, {
    get: (target, key) =>
      key === "expireRuntime"
        ? async () => ({ expired: true, ...freed })
        : Reflect.get(target, key, target),
  });
  const living = runtime("living", { provider: freeing });
  await living.start();
  await runtime("silent").start();
  await beatFor(living, STALE);
  await environment.advance(1);
  for (const found of [{ instances: 2 }, { instances: 0, tasks: 3 }, { tasks: 0 }]) {
    Object.assign(freed, found);
    await living.reap(await records());
  }
  const message = "runtime silent stopped sending heartbeats; took over";
  expect(logs).toEqual([
    ["warn", message, { instances: 2, tasks: 0 }],
    ["warn", message, { instances: 0, tasks: 3 }],
    ["debug", message, { instances: 0, tasks: 0 }],
  ]);
});

test("an unreadable staleMs in a runtime record counts as the default", () => {
  const record = (registered: string) => ({ registered }) as RuntimeRecord;
  for (const registered of ["", "{", "null", "7", '"staleMs"', "{}", '{"staleMs":"1"}', "[]"]) {
    expect([registered, staleMsOf(record(registered))]).toEqual([registered, 30_000]);
  }
  expect(staleMsOf(record('{"staleMs":1}'))).toBe(1);
});

test("LV1: a runtime without heartbeats for more than its stale time is taken over, not a millisecond sooner", async () => {
  const { environment, runtime, records, ids, beatFor, events, logs } = await setup();
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
    ["debug", "runtime silent stopped sending heartbeats; took over", { instances: 0, tasks: 0 }],
  ]);
});

test("LV1: a runtime declares no other runtime dead before its own heartbeats have succeeded for a stale time", async () => {
  const { environment, runtime, records, ids, beatFor } = await setup();
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

test("LV1: a gap of more than two and a half heartbeats restarts the steady time", async () => {
  for (const [gap, left] of [
    [2.5 * BEAT, ["living"]],
    [2.5 * BEAT + 1, ["living", "silent"]],
  ] as const) {
    const { environment, runtime, records, ids, beatFor } = await setup();
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

test("LV1: a failed heartbeat restarts the steady time, and beat() rejects", async () => {
  const { environment, runtime, records, ids, beatFor, provider } = await setup();
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

test("LV1: a runtime whose process is certainly gone is taken over at once", async () => {
  const { runtime, records, ids, logs } = await setup();
  const own = ownIdentity();
  if (own === null) return; // this host does not provide process identities
  const gone = { ...own, startTime: "another" };
  await runtime("gone", { process: gone }).start();
  await runtime("here", { process: own }).start();
  const living = runtime("living", { process: own });
  await living.start();
  await living.reap(await records());
  expect(await ids()).toEqual(["here", "living"]);
  expect(logs).toEqual([["debug", "runtime gone is gone; took over", { instances: 0, tasks: 0 }]]);
});

test("LV1: a heartbeat after the read of the records prevents the takeover of a runtime whose process looks gone", async () => {
  const { environment, runtime, records, ids, events } = await setup();
  const own = ownIdentity();
  if (own === null) return; // this host does not provide process identities
  const hidden = runtime("hidden", { process: { ...own, startTime: "another" } });
  const living = runtime("living", { process: own });
  await hidden.start();
  await living.start();
  const seen = await records();
  await environment.advance(1);
  await hidden.beat();
  await living.reap(seen);
  expect(await ids()).toEqual(["hidden", "living"]);
  expect(events).toEqual([]);
});

test("LV1: after a wrong takeover, only missing heartbeats count for a runtime that registered again", async () => {
  const { environment, runtime, records, ids, beatFor, events } = await setup();
  const own = ownIdentity();
  if (own === null) return; // this host does not provide process identities
  const hidden = runtime("hidden", { process: { ...own, startTime: "another" } });
  const living = runtime("living", { process: own });
  await living.start();
  await hidden.start();
  await living.reap(await records());
  await hidden.beat(); // the runtime detects the takeover and registers again
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

test("V2: a heartbeat between the read of the records and the takeover prevents the takeover", async () => {
  const { environment, runtime, records, ids, beatFor, events } = await setup();
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

test("LV2: a runtime that was declared dead drops all leases once and registers again", async () => {
  const { environment, store, runtime, ids, events, logs } = await setup();
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
      "declared dead by another runtime: dropped all leases, registering again",
      { runtime: "living" },
    ],
  ]);
});

test("LV2: a liveness thread that reports a loss counts only if the store confirms it", async () => {
  const { store, runtime, ids, events, provider } = await setup();
  let isLost = true;
  let turns = 0;
  const thread = fakeThread({ lost: () => isLost, turned: () => void turns++ });
  const living = runtime("living", { provider: withThread(provider, thread) });
  expect(living.thread).toBeNull();
  await living.start();
  expect(living.thread).toBe(thread);
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

test("LV1: with a liveness thread, the steady time of the thread counts", async () => {
  const { environment, runtime, records, ids, provider } = await setup();
  let since = 0;
  const thread = fakeThread({ steadySince: () => since });
  const living = runtime("living", { provider: withThread(provider, thread) });
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

test("LV3: a stopped runtime stays deregistered, even with a heartbeat in flight", async () => {
  const { store, runtime, ids, events, provider } = await setup();
  let stops = 0;
  const thread = fakeThread({ stop: async () => void stops++ });
  const living = runtime("living", { provider: withThread(provider, thread) });
  await living.start();
  await living.stop();
  expect([stops, living.thread]).toEqual([1, null]);
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
