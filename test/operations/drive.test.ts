// A drive works off what is due and returns: its result, its limits, and what it leaves in the store.

import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  activity,
  event,
  orchestration,
  Perdure,
  type DriveResult,
  type OrchestrationContext,
  type Provider,
  type Registrable,
  type RuntimeOptions,
} from "../../src/index.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { schedule } from "../../src/schedule/index.ts";
import { FaultInjectingProvider } from "../../src/testing/faults/fault-injecting-provider.ts";
import type { FaultPlan } from "../../src/testing/faults/fault-plan.ts";
import { ownSchema } from "../stores/postgres/support.ts";
import { postgres } from "../support/postgres.ts";
import { freshStore, onlyOn } from "../support/test-store.ts";

const QUIET: RuntimeOptions = { log: () => undefined };
const HOUR_MS = 3_600_000;

async function driver(
  store: Provider,
  register: readonly Registrable[],
  runtime: RuntimeOptions = {},
): Promise<Perdure> {
  const options = { register, runtime: { ...QUIET, ...runtime }, autoStart: false };
  const perdure = await Perdure.open(store, options);
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  return perdure;
}

/** A drive must leave neither a registration nor a lease. */
async function expectNoLease(store: Provider, ids: readonly string[]): Promise<void> {
  expect(await store.listRuntimes()).toEqual([]);
  for (const id of ids) {
    const record = await store.readInstance(id);
    expect(record?.owner ?? null).toBeNull();
    for (const task of record === null ? [] : await store.readTasks(record)) {
      expect(task.owner).toBeNull();
    }
  }
}

/** The time of the only message in the inbox of the instance. */
async function dueAt(store: Provider, id: string): Promise<Date> {
  const record = await store.readInstance(id);
  const [message, ...others] = await store.readInbox(record?.key ?? -1);
  expect(others).toEqual([]);
  return new Date(message?.visibleAt ?? NaN);
}

const charge = activity("charge", async (amount: number) => amount * 2);
const order = orchestration("order", async (ctx, amount: number) => {
  const charged = await ctx.run(charge, amount);
  await ctx.sleep("1h");
  return charged;
});

describe("a drive", () => {
  test("works off what is due, releases it, and returns the exact time of the next timer", async () => {
    const store = await freshStore();
    const perdure = await driver(store, [charge, order]);
    for (const id of ["a", "b"]) await perdure.client.start(order, 21, { id });

    const { turns, attempts, idle, nextAt } = await perdure.drive();
    expect({ turns, attempts, idle }).toEqual({ turns: 4, attempts: 2, idle: true });
    const [a, b] = [await dueAt(store, "a"), await dueAt(store, "b")];
    expect(nextAt).toEqual(a < b ? a : b);
    await expectNoLease(store, ["a", "b"]);
    expect(perdure.runtime.stats().turns).toBe(4);
  });

  test("finds nothing in a store without due work, as often as it is called", async () => {
    const store = await freshStore();
    const perdure = await driver(store, [charge, order]);
    const nothing = { turns: 0, attempts: 0, idle: true, nextAt: null };
    expect(await perdure.drive({ maxMs: 1_000 })).toEqual(nothing);
    await perdure.client.start(order, 21, { id: "a", delay: "1h" });
    const startsAt = await dueAt(store, "a");
    expect(await perdure.drive()).toEqual({ ...nothing, nextAt: startsAt });
    expect(await perdure.drive()).toEqual({ ...nothing, nextAt: startsAt });
    await expectNoLease(store, ["a"]);
  });

  test("waits for a timer that comes due soon, if its time suffices", async () => {
    const store = await freshStore();
    const naps = orchestration("naps", async (ctx, ms: number) => {
      await ctx.sleep(ms);
      return "rested";
    });
    const perdure = await driver(store, [naps]);
    const short = await perdure.client.start(naps, 120);
    const first = await perdure.drive();
    expect(first).toMatchObject({ idle: true, nextAt: null });
    expect(await short.result()).toBe("rested");

    await perdure.client.start(naps, 900, { id: "too long" });
    const second = await perdure.drive({ maxMs: 300 });
    expect(second).toMatchObject({ idle: true, nextAt: await dueAt(store, "too long") });
  });

  test("runs children, retries and what an activity starts until nothing is due", async () => {
    const store = await freshStore();
    let failures = 2;
    const fails = async (): Promise<string> => {
      if (failures-- > 0) throw new Error("not yet");
      return "done";
    };
    const flaky = activity("flaky", fails, { retry: { maxAttempts: 5, backoff: { base: "5ms" } } });
    const child = orchestration("child", (ctx) => ctx.run(flaky));
    const parent = orchestration("parent", (ctx) => ctx.call(child));
    const perdure = await driver(store, [flaky, child, parent]);
    const handle = await perdure.client.start(parent);
    expect(await perdure.drive()).toMatchObject({ attempts: 3, idle: true, nextAt: null });
    expect(await handle.result()).toBe("done");
  });

  test("gives running activities the grace period at the end of its time, and hands them back without an attempt", async () => {
    const store = await freshStore();
    let hangs = true;
    const seen: number[] = [];
    const slow = activity("slow", async (_: undefined, { attempt, signal }) => {
      seen.push(attempt);
      if (!hangs) return "done";
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      throw signal.reason as Error;
    });
    const work = orchestration("work", (ctx) => ctx.run(slow));
    const logged: string[] = [];
    const log = (_: string, message: string): void => void logged.push(message);
    const perdure = await driver(store, [slow, work], { cancelGraceMs: 20, log });
    const handle = await perdure.client.start(work, undefined, { id: "a" });

    const before = Date.now();
    let cut: DriveResult;
    do
      cut = await perdure.drive({ maxMs: 200 }); // on a busy machine, this may not suffice to begin
    while (cut.attempts === 0);
    expect(cut).toMatchObject({ attempts: 1, idle: false });
    expect(logged.join()).toContain("1 running activities did, and handed them back: slow");
    expect(cut.nextAt?.getTime()).toBeGreaterThanOrEqual(before);
    expect(cut.nextAt?.getTime()).toBeLessThanOrEqual(Date.now() + 1_000);
    await expectNoLease(store, ["a"]);

    hangs = false;
    expect(await perdure.drive()).toMatchObject({ attempts: 1, idle: true, nextAt: null });
    expect(await handle.result()).toBe("done");
    expect(seen).toEqual([1, 1]);
  });

  test("counts the work that a live worker holds as the work of that worker", async () => {
    const store = await freshStore();
    const release = Promise.withResolvers<void>();
    const held = activity("held", () => release.promise);
    const work = orchestration("work", (ctx) => ctx.run(held));
    const worker = await Perdure.open(store, { register: [held, work], runtime: QUIET });
    onTestFinished(() => worker.close({ graceMs: 0 }));
    const handle = await worker.client.start(work);
    await expect.poll(() => worker.runtime.stats().activities.active).toBe(1);
    const perdure = await driver(store, [held, work]);
    const nothing = { turns: 0, attempts: 0, idle: true, nextAt: null };
    expect(await perdure.drive()).toEqual(nothing);
    release.resolve();
    await handle.result();
  });

  test("takes over from a worker that stopped sending heartbeats, if its time suffices", async () => {
    const store = await freshStore();
    const quick = orchestration("quick", async () => "done");
    const perdure = await driver(store, [quick], { beatMs: 20, pollIntervalMs: 50 });
    const handle = await perdure.client.start(quick);
    const registered = JSON.stringify({ staleMs: 150 });
    const worker = { id: "worker", nodeId: "node", process: null, hostname: "host", registered };
    await store.registerRuntime(worker);
    const targets = ["quick", "quick@1.0.0"];
    const request = { owner: "worker", token: 1, limit: 1, targets, messagesMax: 1 };
    const { instances } = await store.leaseInstances({ ...request, allowSuspect: false });
    expect(instances).toHaveLength(1);
    // The worker is alive, and its lease has no end.
    expect(await perdure.drive()).toMatchObject({ turns: 0, idle: true, nextAt: null });
    const [{ beatAt } = { beatAt: 0 }] = await store.listRuntimes();
    await expect.poll(() => store.now()).toBeGreaterThan(beatAt + 150);
    // For all that a drive knows, the store was not available, so it waits for a heartbeat first.
    expect(await perdure.drive({ maxMs: 20 })).toMatchObject({ idle: false, turns: 0 });
    expect(await perdure.drive()).toMatchObject({ idle: true, turns: 1, nextAt: null });
    expect(await handle.result()).toBe("done");
    await expectNoLease(store, []);
  });

  test("does not try a blocked instance again and again", async () => {
    const store = await freshStore();
    const wrong = orchestration("wrong", async (ctx) => {
      await ctx.waitFor(event("never"));
      void ctx; // the history below does not match this code
    });
    const changed = orchestration("wrong", (ctx) => ctx.run(charge, 1));
    const first = await driver(store, [wrong]);
    const handle = await first.client.start(wrong);
    await first.drive();
    await handle.raise(event("other"));
    const second = await driver(store, [changed, charge]);
    await handle.raise(event("never"));
    expect(await second.drive()).toMatchObject({ idle: true, nextAt: null });
    expect(await handle.describe()).toMatchObject({ blocked: { code: "NONDETERMINISM" } });
    expect(await second.drive()).toEqual({ turns: 0, attempts: 0, idle: true, nextAt: null });
  });

  test("leaves a step that waits for its next attempt to the drive at that time", async () => {
    const store = await freshStore();
    const steps = orchestration("steps", (ctx) =>
      ctx.step("try", () => Promise.reject(new Error("not yet")), {
        retry: { maxAttempts: 3, backoff: { base: "1h", max: "2h" } },
      }),
    );
    const perdure = await driver(store, [steps]);
    await perdure.client.start(steps, undefined, { id: "a" });
    const result = await perdure.drive();
    expect(result).toMatchObject({ attempts: 1, idle: true, nextAt: await dueAt(store, "a") });
    await expectNoLease(store, ["a"]);
    expect(await perdure.drive()).toEqual({ ...result, turns: 0, attempts: 0 });
  });

  test("applies schedules, and is due at the next run of a schedule", async () => {
    const store = await freshStore();
    const report = orchestration("report", async () => "sent");
    const hourly = schedule("hourly", { every: "1h", start: report });
    const perdure = await driver(store, [report, hourly]);
    const { idle, nextAt } = await perdure.drive();
    expect(idle).toBe(true);
    expect(nextAt).toEqual(await dueAt(store, "hourly"));
    expect(nextAt?.getTime()).toBeLessThanOrEqual(Date.now() + HOUR_MS);
  });

  test("sweeps retention, also if nothing is due", async () => {
    const store = await freshStore();
    const quick = orchestration("quick", async () => "done");
    const runtime = { retention: { completed: 1 } };
    const first = await driver(store, [quick]);
    await first.client.start(quick, undefined, { id: "a" });
    await first.drive();
    await expect
      .poll(() => store.now())
      .toBeGreaterThan(((await store.readInstance("a"))?.completedAt ?? 0) + 1);
    const second = await driver(store, [quick], runtime);
    expect(await second.drive()).toMatchObject({ turns: 0, idle: true, nextAt: null });
    expect(await store.readInstance("a")).toBeNull();
    await expectNoLease(store, []);
  });

  test("prunes executions before it returns", async () => {
    const store = await freshStore();
    const body = async (ctx: OrchestrationContext, n: number): Promise<string> =>
      n === 0 ? "over" : ctx.continueAsNew(n - 1);
    const loop = orchestration("loop", body, { keepExecutions: 1 });
    const perdure = await driver(store, [loop]);
    await perdure.client.start(loop, 3, { id: "a" });
    await perdure.drive();
    const record = await store.readInstance("a");
    expect(record?.execution).toBe(4);
    expect(await store.readExecutions(record?.key ?? -1)).toHaveLength(1);
  });

  test("runs once at a time, and not on a runtime that was started or shut down", async () => {
    const store = await freshStore();
    const perdure = await driver(store, [charge, order]);
    await perdure.client.start(order, 1);
    const running = perdure.drive();
    await expect(perdure.drive()).rejects.toMatchObject({ code: "DRIVE_RUNNING" });
    await running;
    await expect(perdure.runtime.start()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(perdure.drive({ maxMs: 0 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    const misspelt = { maxMS: 5 } as object;
    await expect(perdure.drive(misspelt)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await perdure.close();
    await expect(perdure.drive()).rejects.toMatchObject({ code: "SHUTTING_DOWN" });

    const started = await Perdure.open(store, { runtime: QUIET });
    onTestFinished(() => started.close());
    await expect(started.drive()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("ends early when its Perdure is closed", async () => {
    const store = await freshStore();
    const begun = Promise.withResolvers<void>();
    const stuck = activity("stuck", () => {
      begun.resolve();
      return new Promise<void>(() => undefined);
    });
    const work = orchestration("work", (ctx) => ctx.run(stuck));
    const perdure = await driver(store, [stuck, work]);
    await perdure.client.start(work, undefined, { id: "a" });
    const running = perdure.drive();
    await begun.promise;
    await perdure.close({ graceMs: 0 });
    expect(await running).toMatchObject({ attempts: 1, idle: false });
    await expectNoLease(store, ["a"]);
  });
});

describe("under faults, a drive", () => {
  async function faulty(plan: FaultPlan): Promise<{ store: Provider; perdure: Perdure }> {
    const store = await freshStore();
    const perdure = await driver(new FaultInjectingProvider(store, plan).provider, [charge, order]);
    return { store, perdure };
  }

  test.each(["nextDue", "registerRuntime", "declareQueues"])(
    "rejects with the error of the store if %s fails at the begin, and the next drive does the work",
    async (failing) => {
      let isDown = true;
      const { store, perdure } = await faulty({
        call: ({ method }) =>
          method === failing && isDown ? { kind: "fail", when: "after" } : undefined,
      });
      await perdure.client.start(order, 21, { id: "a" });
      await expect(perdure.drive()).rejects.toMatchObject({ code: "STORE_UNAVAILABLE" });
      await expectNoLease(store, ["a"]);
      isDown = false;
      expect(await perdure.drive()).toMatchObject({ attempts: 1, idle: true });
    },
  );

  test("continues when calls of the store fail, before or after they take effect", async () => {
    const failed = new Map<string, number>();
    const { store, perdure } = await faulty({
      call: ({ method }) => {
        const count = (failed.get(method) ?? 0) + 1;
        failed.set(method, count);
        const isRetried = ["commit", "leaseInstances", "leaseTasks", "listRuntimes"].includes(
          method,
        );
        if (!isRetried || count > 2) return undefined;
        return { kind: "fail", when: count === 1 ? "after" : "before" };
      },
    });
    for (const id of ["a", "b"]) await perdure.client.start(order, 21, { id });
    expect(await perdure.drive()).toMatchObject({ idle: true, attempts: 2 });
    for (const id of ["a", "b"]) await dueAt(store, id);
    await expectNoLease(store, ["a", "b"]);
  });

  test("is repaired by the next drive if it could not remove its registration", async () => {
    let isDown = false;
    const { store, perdure } = await faulty({
      call: ({ method }) =>
        method === "removeRuntime" && isDown ? { kind: "fail", when: "before" } : undefined,
    });
    await perdure.client.start(order, 21, { id: "a" });
    isDown = true;
    await perdure.drive();
    expect(await store.listRuntimes()).toHaveLength(1);
    isDown = false;
    await perdure.drive();
    await expectNoLease(store, ["a"]);
  });

  test("that dies leaves leases that end by themselves, and a later drive takes over and cleans up", async () => {
    const store = await freshStore();
    const leases = { instanceLeaseMs: 150, taskLeaseMs: 150, staleMs: 50, beatMs: 20 };
    let dies = true;
    const faults = new FaultInjectingProvider(store);
    const seen: number[] = [];
    const risky = activity("risky", async (_: undefined, { attempt }) => {
      seen.push(attempt);
      if (dies) faults.crash();
      return "done";
    });
    const work = orchestration("work", (ctx) => ctx.run(risky));
    const dead = await driver(faults.provider, [risky, work], leases);
    const perdure = await driver(store, [risky, work], leases);
    const handle = await perdure.client.start(work, undefined, { id: "a" });
    void dead.drive().catch(() => undefined);
    await faults.crashed;
    onTestFinished(() => faults.bury());
    dies = false;

    // The process may still be alive, so nothing is due before the end of its leases. That time is `nextAt`.
    const first = await perdure.drive({ maxMs: 1 });
    expect(first).toMatchObject({ turns: 0, attempts: 0 });
    expect(first.nextAt).not.toBeNull();
    for (let next = first; next.nextAt !== null;) next = await perdure.drive();
    expect(await handle.result()).toBe("done");
    expect(seen).toEqual([1, 2]);
    await expect.poll(async () => (await perdure.drive(), await store.listRuntimes())).toEqual([]);
  });
});

const HEADER_BYTES = 5;

/** Calls `onMessage` with the type of each message of PostgreSQL's protocol that the client sends. */
function watchMessages(client: pg.PoolClient, onMessage: (type: string) => void): void {
  const { stream } = (client as unknown as { connection: { stream: NodeJS.WritableStream } })
    .connection;
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  let rest = Buffer.alloc(0);
  stream.write = (...args: unknown[]) => {
    rest = Buffer.concat([rest, Buffer.from(args[0] as Buffer)]);
    while (rest.length >= HEADER_BYTES) {
      const length = 1 + rest.readInt32BE(1);
      if (rest.length < length) break;
      onMessage(rest.toString("latin1", 0, 1));
      rest = rest.subarray(length);
    }
    return write(...args);
  };
}

onlyOn("postgres", "it counts messages of the protocol", () => {
  test("a drive that finds nothing sends four statements in one round trip", async () => {
    const pool = new pg.Pool({ connectionString: (await postgres()).url, max: 2 });
    onTestFinished(() => pool.end());
    const sent: string[] = [];
    pool.on("connect", (client) => watchMessages(client, (type) => sent.push(type)));
    const store = await PostgresProvider.open(pool, { schema: ownSchema(), notifications: false });
    onTestFinished(() => store.close());
    const order = orchestration("order", (ctx) => ctx.sleep("1h"));
    const register = [order, activity("charge", async () => 1)];
    const perdure = await Perdure.open(store, { register, autoStart: false });
    onTestFinished(() => perdure.close());
    await perdure.client.start(order);
    const { nextAt } = await perdure.drive();

    sent.length = 0;
    expect(await perdure.drive()).toEqual({ turns: 0, attempts: 0, idle: true, nextAt });
    const count = (type: string): number => sent.filter((each) => each === type).length;
    // Execute, Query and Sync. The first statement sets the store's clock.
    expect({ statements: count("E") + count("Q"), roundTrips: count("S") }).toEqual({
      statements: 4,
      roundTrips: 1,
    });
  });
});
