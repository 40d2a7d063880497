// A store that loses its last commits while workers run, as after an asynchronous failover or a restored backup:
// all instances that remain in the store complete without a restart of a worker.

import { expect, onTestFinished, test } from "vitest";
import {
  activity,
  Client,
  event,
  orchestration,
  Runtime,
  type Handle,
  type Provider,
  type RuntimeOptions,
} from "../../src/index.ts";
import { stream } from "../../src/stream/index.ts";
import { StoreEnvironment } from "../support/store-environment.ts";
import { newPlace, type Place } from "../support/test-store.ts";

/** Longer than the interval at which a worker compares its leases with the store. */
const LATER_MS = 400_000;
/** Rare polls and heartbeats, so that minutes of virtual time cost few calls. */
const RARE_POLLS: RuntimeOptions = { pollIntervalMs: 15_000, beatMs: 15_000 };
const go = event("go");

interface Stage {
  readonly environment: StoreEnvironment;
  readonly place: Place;
  readonly provider: Provider;
  readonly client: Client;
  readonly runtime: Runtime;
  readonly logs: string[];
}

async function stage(
  register: ConstructorParameters<typeof Runtime>[1]["register"],
  options: RuntimeOptions = {},
): Promise<Stage> {
  const place = newPlace("file");
  onTestFinished(() => place.remove());
  const environment = new StoreEnvironment();
  const provider = await place.open(environment);
  onTestFinished(() => provider.close());
  const logs: string[] = [];
  const runtime = new Runtime(provider, {
    ...RARE_POLLS,
    log: (_, message) => void logs.push(message),
    ...options,
    register,
  });
  onTestFinished(() => runtime.shutdown({ graceMs: 0 }));
  await runtime.start();
  return { environment, place, provider, client: new Client(provider), runtime, logs };
}

async function backedUp({ environment, place }: Stage): Promise<Place> {
  await environment.settle();
  const backup = await place.backUp();
  onTestFinished(() => backup.remove());
  return backup;
}

async function goBack({ environment, place }: Stage, backup: Place): Promise<void> {
  await environment.settle();
  await place.goBackTo(backup);
  await environment.advance(LATER_MS);
}

async function ended({ environment }: Stage, handle: Handle<unknown>): Promise<unknown> {
  await environment.settle();
  const { status, output } = await handle.describe();
  return status === "completed" ? output : status;
}

/** An activity whose runs end when the test ends them. */
function gate() {
  const runs: { readonly key: string; readonly end: (value: string) => void; lost: boolean }[] = [];
  const work = activity("work", (_: string, { idempotencyKey: key, signal }) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const run = { key, end: resolve, lost: false };
    runs.push(run);
    signal.addEventListener("abort", () => {
      run.lost = true;
      reject(new Error("aborted"));
    });
    return promise;
  });
  return { work, runs };
}

test("a task whose outcome was lost runs again with the same idempotency key", async () => {
  const { work, runs } = gate();
  const main = orchestration("main", (ctx) => ctx.run(work, "a"));
  const its = await stage([main, work]);
  const handle = await its.client.start(main, undefined, { id: "i" });
  const backup = await backedUp(its);
  runs[0]?.end("done");
  expect(await ended(its, handle)).toBe("done");

  await goBack(its, backup);
  expect(runs).toHaveLength(2);
  expect(runs[1]?.key).toBe(runs[0]?.key);
  runs[1]?.end("done again");
  expect(await ended(its, handle)).toBe("done again");
  expect(its.runtime.stats().leasesReleased).toBeGreaterThan(0);
  expect(its.logs.join()).toContain("does not hold");
});

test("metrics show lost leases until the next comparison", async () => {
  const { work, runs } = gate();
  const main = orchestration("main", (ctx) => ctx.run(work, "a"));
  const its = await stage([main, work]);
  const handle = await its.client.start(main, undefined, { id: "i" });
  const backup = await backedUp(its);
  runs[0]?.end("done");
  expect(await ended(its, handle)).toBe("done");

  const shown: number[] = [];
  const { provider } = its;
  const record = provider.recordLeaseCheck.bind(provider);
  provider.recordLeaseCheck = async (check) => {
    await record(check);
    shown.push((await its.client.metrics()).strandedLeases);
  };
  await goBack(its, backup);
  expect(Math.max(...shown)).toBeGreaterThan(0);
  await its.environment.advance(LATER_MS);
  expect(shown.at(-1)).toBe(0);
  const [found] = await provider.listRuntimes();
  expect(found).toMatchObject({ strandedLeases: 0, leasesCheckedAt: expect.any(Number) as number });
});

test("an instance that is ahead of the store in memory is rebuilt from its history", async () => {
  const { work, runs } = gate();
  const main = orchestration("main", async (ctx) => {
    const first = await ctx.run(work, "first");
    return `${first} ${await ctx.run(work, "second")}`;
  });
  const its = await stage([main, work]);
  const handle = await its.client.start(main, undefined, { id: "i" });
  const backup = await backedUp(its);
  runs[0]?.end("1");
  await its.environment.settle();
  expect(runs).toHaveLength(2); // the second activity runs

  await goBack(its, backup);
  expect(runs[1]?.lost).toBe(true); // the store has no such task
  expect(runs).toHaveLength(3);
  expect(runs[2]?.key).toBe(runs[0]?.key);
  runs[2]?.end("one");
  await its.environment.settle();
  runs[3]?.end("two");
  expect(await ended(its, handle)).toBe("one two");
});

test("an inline step whose outcome was lost runs again", async () => {
  const ends: ((value: string) => void)[] = [];
  const main = orchestration("main", (ctx) =>
    ctx.step("step", () => new Promise<string>((resolve) => void ends.push(resolve))),
  );
  const its = await stage([main]);
  const handle = await its.client.start(main, undefined, { id: "i" });
  const backup = await backedUp(its);
  ends[0]?.("done");
  expect(await ended(its, handle)).toBe("done");

  await goBack(its, backup);
  expect(ends).toHaveLength(2);
  ends[1]?.("done again");
  expect(await ended(its, handle)).toBe("done again");
});

test("an instance whose step outcome was lost runs the step again, without waiting for a message", async () => {
  const ends: ((value: string) => void)[] = [];
  const main = orchestration("main", async (ctx) => {
    const done = await ctx.step(
      "step",
      () => new Promise<string>((resolve) => void ends.push(resolve)),
    );
    await ctx.waitFor(go);
    return done;
  });
  const its = await stage([main], { stickyIdleMs: 3_600_000 });
  const handle = await its.client.start(main, undefined, { id: "i" });
  const backup = await backedUp(its);
  ends[0]?.("once");
  await its.environment.settle(); // in memory, the instance waits for the event now

  await goBack(its, backup);
  expect(ends).toHaveLength(2);
  ends[1]?.("again");
  await its.environment.settle();
  await handle.raise(go);
  expect(await ended(its, handle)).toBe("again");
});

test("an ended instance in memory continues from the last event that the store still has", async () => {
  const main = orchestration("main", async (ctx) => {
    await ctx.waitFor(go);
    await ctx.waitFor(go);
    return "over";
  });
  const its = await stage([main], { stickyIdleMs: 3_600_000 });
  const handle = await its.client.start(main, undefined, { id: "i" });
  await handle.raise(go);
  const backup = await backedUp(its);
  await handle.raise(go);
  expect(await ended(its, handle)).toBe("over");

  await goBack(its, backup); // the second event is lost, and must be raised again
  expect(await ended(its, handle)).toBe("running");
  await handle.raise(go);
  expect(await ended(its, handle)).toBe("over");
});

test("a shadow replay that reads a history after its last events were lost does not block the instance", async () => {
  const { work, runs } = gate();
  const main = orchestration("main", async (ctx, round: number): Promise<unknown> => {
    await ctx.waitFor(go);
    if (round === 1) return ctx.continueAsNew(2);
    return ctx.run(work, "a");
  });
  const its = await stage([main, work], { shadowReplay: "always", stickyIdleMs: 3_600_000 });
  const handle = await its.client.start(main, 1, { id: "i" });
  const backup = await backedUp(its);
  const late = Promise.withResolvers<void>();
  const { provider } = its;
  const readHistory = provider.readHistory.bind(provider);
  provider.readHistory = async (request) => {
    if (request.execution === 2) await late.promise;
    return readHistory(request);
  };
  await handle.raise(go); // execution 2 begins, and its shadow replay waits for the store
  await its.environment.settle();
  await its.place.goBackTo(backup);
  late.resolve();
  await its.environment.settle();
  expect((await handle.describe()).blocked).toBeUndefined();

  // The worker compares its memory with the store at once, not only at the next regular check.
  await its.environment.advance(45_000);
  expect(its.logs.join()).toContain("memory does not match the store");
  await handle.raise(go); // lost with the execution
  await handle.raise(go);
  await its.environment.settle();
  runs.at(-1)?.end("done");
  expect(await ended(its, handle)).toBe("done");
});

test("an instance whose start was lost is dropped, and its id can be started again", async () => {
  const { work, runs } = gate();
  const main = orchestration("main", (ctx) => ctx.run(work, "a"));
  const its = await stage([main, work]);
  const backup = await backedUp(its);
  await its.client.start(main, undefined, { id: "lost" });
  await its.environment.settle();
  expect(runs).toHaveLength(1);

  await goBack(its, backup);
  expect(runs[0]?.lost).toBe(true);
  // The store reuses the key of the lost instance. Work of the lost instance must not affect the new one.
  const other = await its.client.start(main, undefined, { id: "other" });
  const handle = await its.client.start(main, undefined, { id: "lost" });
  await its.environment.settle();
  expect(runs).toHaveLength(3);
  for (const run of runs) run.end("done");
  expect(await ended(its, other)).toBe("done");
  expect(await ended(its, handle)).toBe("done");
});

test("a key that is reused while the lost instance is still in memory does not mix the two instances", async () => {
  const { work, runs } = gate();
  const main = orchestration("main", (ctx) => ctx.run(work, "a"));
  const its = await stage([main, work]);
  const backup = await backedUp(its);
  await its.client.start(main, undefined, { id: "lost" });
  await its.environment.settle();
  await its.place.goBackTo(backup);
  const other = await its.client.start(main, undefined, { id: "other" });
  await its.environment.settle();
  runs[0]?.end("of the lost instance");
  await its.environment.settle();
  expect(runs).toHaveLength(2);
  runs[1]?.end("of the new instance");
  await its.environment.advance(LATER_MS);
  expect(await ended(its, other)).toBe("of the new instance");
  expect(await its.provider.readLeases(its.runtime.id)).toEqual({ instances: [], tasks: [] });
});

test("a worker whose registration was lost registers again and completes the remaining work", async () => {
  const { work, runs } = gate();
  const main = orchestration("main", (ctx) => ctx.run(work, "a"));
  const place = newPlace("file");
  onTestFinished(() => place.remove());
  const environment = new StoreEnvironment();
  const provider = await place.open(environment);
  onTestFinished(() => provider.close());
  const client = new Client(provider);
  const handle = await client.start(main, undefined, { id: "i" });
  const backup = await place.backUp();
  onTestFinished(() => backup.remove());
  const runtime = new Runtime(provider, {
    ...RARE_POLLS,
    log: () => undefined,
    register: [main, work],
  });
  onTestFinished(() => runtime.shutdown({ graceMs: 0 }));
  await runtime.start();
  await environment.settle();
  runs[0]?.end("done");
  await environment.settle();
  await place.goBackTo(backup);
  await environment.advance(LATER_MS);
  runs[1]?.end("done again");
  await environment.settle();
  expect((await handle.describe()).output).toBe("done again");
  expect((await provider.listRuntimes()).map(({ id }) => id)).toEqual([runtime.id]);
});

test.each([
  ["with a turn", {}, false],
  ["through the inbox", { stickyCacheMax: 0, stickyIdleMs: 0 }, false],
  ["with the end of a job", {}, true],
] as const)(
  "an attempt whose values were lost runs again, although its outcome came %s",
  async (_, options, isJob) => {
    const words = stream<string>("words");
    const runs: { readonly add: () => Promise<void>; readonly end: () => void }[] = [];
    const tell = activity("tell", async (_input: null, { stream: open }) => {
      const out = open(words);
      const add = async (): Promise<void> => {
        await out.write(String(runs.length));
        await out.flush();
      };
      const { promise, resolve } = Promise.withResolvers<void>();
      runs.push({ add, end: resolve });
      await promise;
    });
    const main = orchestration("main", (ctx) => ctx.run(tell, null));
    const its = await stage([main, tell], options);
    const { client, environment, place } = its;
    const handle = isJob
      ? await client.enqueue(tell, null, { id: "i" })
      : await client.start(main, undefined, { id: "i" });
    await environment.settle();
    await Promise.all([runs[0]?.add(), environment.advance(100)]);
    const backup = await backedUp(its);
    await Promise.all([runs[0]?.add(), environment.advance(100)]);
    const { next } = (await handle.streams())[0] ?? {};
    expect(next).toBe(2);
    await place.goBackTo(backup);
    runs[0]?.end();
    await environment.settle();
    expect((await handle.describe()).status).toBe("running");
    await environment.advance(30_000);
    expect(runs).toHaveLength(2);
    for (let i = 0; i < 2; i++) await Promise.all([runs[1]?.add(), environment.advance(100)]);
    runs[1]?.end();
    expect(await ended(its, handle)).toBe(undefined);
    const settled: string[] = [];
    for await (const entry of handle.stream(words, { settled: true }))
      if (entry.kind === "item") settled.push(entry.value);
    expect(settled).toEqual(["2", "2"]);
  },
);
