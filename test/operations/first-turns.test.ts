// First turns: if this process runs the orchestration, it runs the first turn before it writes the start, and one
// commit writes both (commit.5). Nothing else may change for the caller.

import { expect, test } from "vitest";
import {
  activity,
  Client,
  event,
  isPerdureError,
  job,
  orchestration,
  type EnqueueOptions,
} from "../../src/index.ts";
import type { CommitItem } from "../../src/core/provider/index.ts";
import { Stage } from "./first-turn-stage.ts";

const go = event<string>("go");

/** Orchestrations that record when their code runs, and an activity that records its runs. */
function programs() {
  const ran: string[] = [];
  const worked: number[] = [];
  const work = activity("work", (value: number) => {
    worked.push(value);
    return value * 2;
  });
  const working = orchestration("working", (ctx, value: number) => {
    ran.push(ctx.info.instanceId);
    ctx.log.info(`begins with ${value}`);
    return ctx.run(work, value);
  });
  const waiting = orchestration("waiting", (ctx) => {
    ran.push(ctx.info.instanceId);
    return ctx.waitFor(go);
  });
  return { ran, worked, work, working, waiting, register: [work, working, waiting] };
}

/** Whether code of the instance had run when its start was committed. */
function earlyRuns(stage: Stage, ran: readonly string[]): Map<string, boolean> {
  const early = new Map<string, boolean>();
  stage.onCommit = (items) => {
    for (const item of items) if (item.kind === "start") early.set(item.id, ran.includes(item.id));
  };
  return early;
}

/** The commits that write something of this instance. */
function commitsOf({ commits }: Stage, id: string, key: number): (readonly CommitItem[])[] {
  const concerns = (item: CommitItem): boolean => {
    if ("id" in item) return item.id === id;
    return "task" in item ? item.task.key === key : "key" in item && item.key === key;
  };
  return commits.filter((items) => items.some(concerns));
}

test("an instance with one activity takes two commits", async () => {
  const { working, register } = programs();
  const stage = await Stage.open(register);
  await stage.hasRun(stage.client.start(working, 1));
  const handle = await stage.client.start(working, 2, { id: "second" });
  expect(await handle.result()).toBe(4);
  await stage.environment.settle();
  const { key } = await recordOf(stage, "second");
  const kinds = commitsOf(stage, "second", key).map((items) => items.map(({ kind }) => kind));
  expect(kinds).toEqual([["start"], ["turn"]]);
});

test("a job takes two commits, with a key too", async () => {
  const double = job("double", (value: number) => value * 2);
  const stage = await Stage.open([double]);
  const keys: readonly EnqueueOptions[] = [
    {},
    { unique: "a" },
    { throttle: { key: "a", per: "1m" } },
  ];
  for (const key of keys) {
    stage.commits.length = 0;
    expect(await (await stage.client.enqueue(double, 2, key)).result()).toBe(4);
    await stage.environment.settle();
    expect(stage.commits.map((items) => items.map(({ kind }) => kind))).toEqual([
      ["unique" in key || "throttle" in key ? "enqueue" : "start"],
      ["turn"],
    ]);
  }
});

test("the first instance of a name does not run before its start is written (first-turns.1)", async () => {
  const { working, waiting, ran, register } = programs();
  const stage = await Stage.open(register);
  const early = earlyRuns(stage, ran);
  await stage.hasRun(stage.client.start(working, 1, { id: "first" }));
  await stage.hasRun(stage.client.start(working, 2, { id: "second" }));
  await stage.hasRun(stage.client.start(waiting, undefined, { id: "other name" }));
  expect(Object.fromEntries(early)).toEqual({ first: false, second: true, "other name": false });
});

test.for(["useExisting", "restart", "terminateExisting"] as const)(
  "a start with onConflict %s does not run code early (first-turns.2)",
  async (onConflict) => {
    const { waiting, ran, register } = programs();
    const stage = await Stage.open(register);
    const first = await stage.client.start(waiting, undefined, { id: "a" });
    await stage.environment.settle();
    if (onConflict === "restart") await first.terminate("over");
    ran.length = 0;
    const early = earlyRuns(stage, ran);
    const handle = await stage.client.start(waiting, undefined, { id: "a", onConflict });
    expect(early.get("a")).toBe(false);
    await stage.environment.settle();
    expect(ran).toEqual(onConflict === "useExisting" ? [] : ["a"]);
    await handle.raise(go, "on");
    expect(await handle.result()).toBe("on");
  },
);

test("a refused start leaves no log line, runs no activity and gives its slot back", async () => {
  const { working, waiting, ran, worked, register } = programs();
  const stage = await Stage.open(register, { activityConcurrency: 1 });
  await stage.hasRun(stage.client.start(working, 1));
  await stage.client.start(waiting, undefined, { id: "taken" });
  for (const value of [100, 200, 300]) {
    await expect(stage.client.start(working, value, { id: "taken" })).rejects.toMatchObject({
      code: "INSTANCE_EXISTS",
    });
  }
  await stage.environment.settle();
  expect(ran.filter((id) => id === "taken")).toHaveLength(4); // the code did run: three runs were discarded
  expect(stage.logs.filter((line) => line.startsWith("begins"))).toEqual(["begins with 1"]);
  expect(worked).toEqual([1]);

  const handle = await stage.client.start(working, 2);
  await stage.environment.settle();
  expect(await handle.result({ timeout: 0 })).toBe(4);
  expect(stage.runtime.stats().activities).toMatchObject({ started: 2, completed: 2, active: 0 });
});

test("a first turn that throws fails its instance, and the result has the cause", async () => {
  const throwing = orchestration("throwing", async (_, reason: string): Promise<string> => {
    if (reason !== "") throw new Error(reason);
    return "fine";
  });
  const stage = await Stage.open([throwing]);
  await stage.hasRun(stage.client.start(throwing, ""));
  const handle = await stage.client.start(throwing, "no stock", { id: "a" });
  expect(stage.startsOf("a")[0]?.firstTurn?.change).toMatchObject({ status: "failed" });
  const error: unknown = await handle.result().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: "OrchestrationError", instanceId: "a" });
  expect(error).toHaveProperty("cause.message", expect.stringContaining("no stock"));
  expect(await handle.describe()).toMatchObject({ status: "failed" });
});

test("the result of an instance that ends in its first turn needs one read and no timer", async () => {
  const adding = orchestration("adding", async (_, value: number) => value + 1);
  const stage = await Stage.open([adding]);
  await stage.hasRun(stage.client.start(adding, 1));
  const handle = await stage.client.start(adding, 2, { id: "a" });
  expect(stage.startsOf("a")[0]?.firstTurn?.change).toMatchObject({ status: "completed" });
  stage.reads = 0;
  expect(await handle.result()).toBe(3); // virtual time stands still, so no timer can end this wait
  expect(stage.reads).toBe(1);
  await stage.environment.settle();
  expect(stage.runtime.stats().cachedInstances).toBe(0);
});

test("a first turn can start and cancel children and write key-values, a status and attributes", async () => {
  const { working, waiting, register } = programs();
  const parent = orchestration("parent", async (ctx) => {
    ctx.setStatus({ at: "children" });
    ctx.kv.set("color", "red");
    ctx.setAttributes({ region: "north" });
    const cancelled = ctx.call(waiting, undefined, { id: `${ctx.info.instanceId}/cancelled` });
    cancelled.cancel("not needed");
    await cancelled.catch(() => undefined);
    return [await ctx.call(working, 5), await ctx.waitFor(go)];
  });
  const stage = await Stage.open([...register, parent]);
  await stage.hasRun(stage.client.start(parent, undefined, { id: "first" }));
  const handle = await stage.client.start(parent, undefined, { id: "a" });
  const turn = stage.startsOf("a")[0]?.firstTurn;
  expect(turn?.starts.map(({ name }) => name)).toEqual(["working"]);
  expect(await handle.describe()).toMatchObject({ customStatus: { at: "children" } });
  expect(await handle.kv.get("color")).toBe("red");
  expect((await stage.client.list({ attributes: { region: "north" } })).items).toHaveLength(2);
  await handle.raise(go, "on");
  await stage.environment.settle();
  expect(await handle.result({ timeout: 0 })).toEqual([10, "on"]);
  const child = await stage.store.readInstance("a/cancelled");
  expect(child === null || child.status === "cancelled").toBe(true);
});

// PostgreSQL leaves such a first turn to the runtime, which runs it after the start.
test("a first turn can start a detached instance and raise an event", async () => {
  const { working, register } = programs();
  const sender = orchestration("sender", async (ctx) => {
    const { instanceId } = ctx.info;
    const started = ctx.startDetached(working, 7, { id: `${instanceId}/detached` });
    const raised = ctx
      .raise("nobody", go, "x")
      .catch((error: unknown) => isPerdureError(error) && error.code);
    return [await started, await raised];
  });
  const stage = await Stage.open([...register, sender]);
  await stage.hasRun(stage.client.start(sender, undefined, { id: "first" }));
  const handle = await stage.client.start(sender, undefined, { id: "a" });
  const items = stage.startsOf("a")[0]?.firstTurn?.dispatched?.map(({ item }) => item.id);
  expect(items).toEqual(["a/detached", "nobody"]);
  await stage.environment.settle();
  expect(await handle.result({ timeout: 0 })).toEqual(["started", "INSTANCE_NOT_FOUND"]);
  expect(await stage.client.get("a/detached").result({ timeout: 0 })).toBe(14);
});

test("a first turn can continue as new", async () => {
  const rounds = orchestration("rounds", async (ctx, round: number): Promise<number> => {
    return round === 3 ? round : ctx.continueAsNew(round + 1);
  });
  const stage = await Stage.open([rounds]);
  await stage.hasRun(stage.client.start(rounds, 1));
  const handle = await stage.client.start(rounds, 1, { id: "a" });
  expect(stage.startsOf("a")[0]?.firstTurn?.change).toMatchObject({ kind: "continued" });
  expect(await handle.result()).toBe(3);
  expect(await handle.describe()).toMatchObject({ execution: 3, status: "completed" });
});

test("steps of a first turn run after its commit, and once", async () => {
  const runs: string[] = [];
  const stepping = orchestration("stepping", (ctx) =>
    ctx.step("count", () => runs.push(ctx.info.instanceId)),
  );
  const stage = await Stage.open([stepping]);
  await stage.hasRun(stage.client.start(stepping, undefined, { id: "first" }));
  stage.onCommit = (items) => {
    if (items.some(({ kind }) => kind === "start")) expect(runs).toEqual(["first"]);
  };
  const handle = await stage.client.start(stepping, undefined, { id: "a" });
  expect(stage.startsOf("a")[0]?.firstTurn).toBeDefined();
  expect(await handle.result()).toBe(2);
});

test("an event that was raised before the start reaches an instance whose first turn ran early", async () => {
  const { waiting, register } = programs();
  const stage = await Stage.open(register);
  await stage.hasRun(stage.client.start(waiting));
  await stage.client.raise("a", "go", "early", { ifMissing: "keep" });
  const handle = await stage.client.start(waiting, undefined, { id: "a" });
  expect(stage.startsOf("a")[0]?.firstTurn).toBeDefined();
  await stage.environment.settle();
  expect(await handle.result({ timeout: 0 })).toBe("early");
});

test("events and a cancel that follow a start at once do not overtake it (queue.3)", async () => {
  const { waiting, register } = programs();
  const stage = await Stage.open(register);
  await stage.hasRun(stage.client.start(waiting));
  const starting = await whilePrepared(stage, () =>
    stage.client.start(waiting, undefined, { id: "raised" }),
  );
  await stage.client.raise("raised", "go", "at once");
  expect(await (await starting.promise).result()).toBe("at once");

  const cancelled = await whilePrepared(stage, () =>
    stage.client.start(waiting, undefined, { id: "cancelled" }),
  );
  const again = stage.client.start(waiting, undefined, { id: "cancelled" });
  await stage.client.get("cancelled").cancel("not needed");
  await expect(again).rejects.toMatchObject({ code: "INSTANCE_EXISTS" });
  await cancelled.promise;
  await stage.environment.settle();
  expect(await recordOf(stage, "cancelled")).toMatchObject({ status: "cancelled" });
});

test("a first turn that sleeps for long releases the instance, and the timer continues it", async () => {
  const sleeping = orchestration("sleeping", (ctx) => ctx.sleep("1h").map(() => "awake"));
  const stage = await Stage.open([sleeping]);
  await stage.hasRun(stage.client.start(sleeping));
  const handle = await stage.client.start(sleeping, undefined, { id: "a" });
  expect(stage.startsOf("a")[0]?.firstTurn).toMatchObject({ release: true });
  await stage.environment.settle();
  expect(stage.runtime.stats().cachedInstances).toBe(0);
  expect(await stage.store.readLeases(stage.runtime.id)).toMatchObject({ instances: [] });
  await stage.environment.advance(3_600_001);
  expect(await handle.result({ timeout: 0 })).toBe("awake");
});

test.for([0, 1_000])(
  "a start that is prepared during a shutdown with %i ms of grace is durable, and another runtime finishes it",
  async (graceMs) => {
    const { working, worked, register } = programs();
    const stage = await Stage.open(register);
    await stage.hasRun(stage.client.start(working, 1));
    const starting = await whilePrepared(stage, () => stage.client.start(working, 2, { id: "a" }));
    const stopping = stage.runtime.shutdown({ graceMs });
    const handle = await starting.promise;
    await stage.environment.advance(graceMs);
    await stopping;
    expect(await recordOf(stage, "a")).toMatchObject({
      status: expect.stringMatching(/pending|running/) as string,
    });

    await stage.startRuntime(stage.store, register);
    await stage.environment.advance(120_000);
    expect(await new Client(stage.store).get(handle.id).result({ timeout: 0 })).toBe(4);
    expect(worked).toEqual([1, 2]);
  },
);

/** Begins a start, and returns when its first turn is queued and has not run yet. */
async function whilePrepared<T>(
  { runtime }: Stage,
  start: () => Promise<T>,
): Promise<{ readonly promise: Promise<T> }> {
  const { turns } = runtime.stats();
  const promise = start();
  while (runtime.stats().turns === turns) await Promise.resolve();
  return { promise };
}

async function recordOf({ store }: Stage, id: string) {
  const record = await store.readInstance(id);
  if (record === null) throw new Error(`Instance "${id}" does not exist.`);
  return record;
}
