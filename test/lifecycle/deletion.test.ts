// Deleting instances while others, and their own work, go on; deleting and pruning many.

import { expect, test } from "vitest";
import { activity, orchestration, type Handle } from "../../src/index.ts";
import { refusalOf, signal, virtualWorld } from "../trouble/support.ts";

const HOUR_MS = 3_600_000;
const calm = {
  beatMs: HOUR_MS,
  pollIntervalMs: HOUR_MS,
  staleMs: 3 * HOUR_MS,
  stallMs: 3 * HOUR_MS,
};
const ok = orchestration("ok", async () => "ok");
const waits = orchestration("waits", (ctx) => ctx.event("go"));
const parent = orchestration("parent", async (ctx, id: string) => {
  const outcome: unknown = await ctx
    .call(waits, undefined, { id })
    .catch((error: unknown) => error);
  return outcome instanceof Error ? `child: ${outcome.message}` : outcome;
});
const keeps = orchestration("keeps", async (ctx) => {
  await ctx.call(ok, undefined, { id: "kept" });
  await ctx.event("go");
});
const rounds = orchestration("rounds", async (ctx, left: number): Promise<string> => {
  await ctx.sleep("1h");
  return left === 0 ? "done" : ctx.continueAsNew(left - 1);
});

test("a forced delete aborts what runs; a late result brings nothing back, and the runtime goes on", async () => {
  const entered = signal<AbortSignal>();
  const gate = signal();
  const work = activity("work", async (_: undefined, ctx) => {
    entered.reach(ctx.signal);
    await gate.reached;
    return "late";
  });
  const main = orchestration("main", (ctx) => ctx.run(work));
  const { client, environment } = await virtualWorld([main, work, ok], calm);
  const handle = await client.start(main, undefined, { id: "i" });
  const aborted = await entered.reached;
  expect(await refusalOf(client.delete("i"))).toMatchObject({ code: "INSTANCE_RUNNING" });
  await client.delete("i", { force: true });
  await environment.advance(2 * HOUR_MS);
  expect(aborted.aborted).toBe(true);
  gate.reach();
  await environment.advance(10);
  expect(await handle.exists()).toBe(false);
  expect((await client.metrics()).instances.running).toBe(0);
  expect(await (await client.start(ok)).result()).toBe("ok");
});

test("an id that was deleted can be used again, and nothing of the old one reaches the new one", async () => {
  const gates = [signal<string>(), signal<string>()];
  let runs = 0;
  const work = activity("work", () => gates[runs++]?.reached ?? Promise.resolve("none"));
  const main = orchestration("main", async (ctx) => [await ctx.run(work), ctx.kv.entries()]);
  const { client, environment } = await virtualWorld([main, work], calm);
  await client.start(main, undefined, { id: "i" });
  await environment.advance(10);
  await client.raise("i", "unread");
  await client.delete("i", { force: true });
  const again = await client.start(main, undefined, { id: "i" });
  await environment.advance(10);
  gates[0]?.reach("of the old one"); // same place in the history, same execution
  await environment.advance(10);
  expect((await again.describe()).status).toBe("running");
  expect((await again.unread()).items).toEqual([]);
  gates[1]?.reach("of the new one");
  expect(await again.result()).toEqual(["of the new one", []]);
});

test("a tree goes from its root, whole or not at all; a child alone only by force, and its parent is told", async () => {
  const { client, environment } = await virtualWorld([parent, keeps, ok, waits], calm);
  const handle = await client.start(parent, "child", { id: "parent" });
  await environment.advance(10);
  expect(await refusalOf(client.delete("parent"))).toMatchObject({ code: "INSTANCE_RUNNING" });
  expect(await refusalOf(client.delete("child"))).toMatchObject({ code: "INSTANCE_RUNNING" });
  expect(await refusalOf(client.delete("nobody"))).toMatchObject({ code: "INSTANCE_NOT_FOUND" });
  await client.delete("child", { force: true });
  await environment.advance(10);
  expect(await handle.result()).toMatch(/^child: /);

  await client.start(keeps, undefined, { id: "keeps" });
  await environment.advance(10);
  expect(await refusalOf(client.delete("kept"))).toMatchObject({ code: "INVALID_ARGUMENT" });

  const second = await client.start(parent, "child", { id: "second" });
  await environment.advance(10);
  expect(await client.delete("second", { force: true })).toMatchObject({ instances: 2 });
  expect([await second.exists(), await client.get("child").exists()]).toEqual([false, false]);
});

test("of many who delete one instance at once one does, and the others find nothing", async () => {
  const { client, environment } = await virtualWorld([ok], calm);
  await client.start(ok, undefined, { id: "i" });
  await environment.advance(10);
  const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => client.delete("i")));
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const outcome of outcomes) {
    if (outcome.status === "rejected") {
      expect(outcome.reason).toMatchObject({ code: "INSTANCE_NOT_FOUND" });
    }
  }
});

const ids = (handles: readonly Handle[]) => handles.map(({ id }) => id);

test("many are deleted by age, by id and up to a limit; filters are ANDed, and no id is none", async () => {
  const { client, environment } = await virtualWorld([ok, waits], calm);
  for (let number = 0; number < 6; number++) {
    await client.start(ok, undefined, { id: `i-${number}` });
    await environment.advance(HOUR_MS);
  }
  const left = async (): Promise<readonly string[]> =>
    ids((await client.list({}, { order: "oldest" })).items.map(({ id }) => client.get(id)));
  const completedBefore = new Date(environment.now() - 3 * HOUR_MS - 1_000);
  expect(await client.deleteMany({ ids: [] })).toMatchObject({ instances: 0 });
  expect(await client.deleteMany({ ids: ["i-0", "i-5"], completedBefore })).toMatchObject({
    instances: 1,
  });
  expect(await left()).toEqual(["i-1", "i-2", "i-3", "i-4", "i-5"]);
  expect(await client.deleteMany({ completedBefore })).toMatchObject({ instances: 2 });
  expect(await left()).toEqual(["i-3", "i-4", "i-5"]);
  expect(await client.deleteMany({ name: "ok" }, { limit: 2 })).toMatchObject({ instances: 2 });
  expect(await left()).toEqual(["i-5"]);
});

test("deleting many leaves live ones, and children of live ones, and takes ended trees whole", async () => {
  const done = orchestration("done", (ctx) => ctx.call(ok, undefined, { id: "grown-up" }));
  const { client, environment } = await virtualWorld([done, keeps, ok, waits], calm);
  await client.start(done, undefined, { id: "tree" });
  await client.start(keeps, undefined, { id: "live" });
  await environment.advance(10);
  await client.deleteMany({});
  const left = (await client.list()).items.map(({ id }) => id);
  expect(left.toSorted()).toEqual(["kept", "live"]);
});

test("old executions of running instances are pruned with the others, and they run on", async () => {
  const { client, environment } = await virtualWorld([rounds], calm);
  const ended = await client.start(rounds, 2, { id: "ended" });
  const live = await client.start(rounds, 100, { id: "live" });
  await environment.advance(5 * HOUR_MS + 1_000);
  expect((await ended.describe()).status).toBe("completed");
  expect((await live.describe()).execution).toBe(6);
  expect(await client.pruneMany({}, { keepLast: 2 })).toMatchObject({ executions: 5 });
  const numbers = async (handle: Handle): Promise<readonly number[]> =>
    (await handle.executions()).map(({ execution }) => execution);
  expect([await numbers(ended), await numbers(live)]).toEqual([
    [2, 3],
    [5, 6],
  ]);
  await environment.advance(HOUR_MS);
  expect((await live.describe()).execution).toBe(7);
  expect(await client.prune("live", { completedBefore: "30m" })).toMatchObject({ executions: 1 });
  expect(await refusalOf(client.prune("nobody"))).toMatchObject({ code: "INSTANCE_NOT_FOUND" });
});
