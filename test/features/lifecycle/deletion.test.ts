// Deleting instances while work is in flight; deleting and pruning many instances.

import { expect, test } from "vitest";
import { activity, orchestration, type Handle } from "../../../src/index.ts";
import { refusalOf, signal, virtualWorld } from "../../faults/trouble/support.ts";

const HOUR_MS = 3_600_000;
const RARE_POLLS = {
  beatMs: HOUR_MS,
  pollIntervalMs: HOUR_MS,
  staleMs: 3 * HOUR_MS,
  stallMs: 3 * HOUR_MS,
};
const ok = orchestration("ok", async () => "ok");
const waits = orchestration("waits", (ctx) => ctx.waitFor("go"));
const parent = orchestration("parent", async (ctx, id: string) => {
  const outcome: unknown = await ctx
    .call(waits, undefined, { id })
    .catch((error: unknown) => error);
  return outcome instanceof Error ? `child: ${outcome.message}` : outcome;
});
const keeps = orchestration("keeps", async (ctx) => {
  await ctx.call(ok, undefined, { id: "kept" });
  await ctx.waitFor("go");
});
const rounds = orchestration("rounds", async (ctx, left: number): Promise<string> => {
  await ctx.sleep("1h");
  return left === 0 ? "done" : ctx.continueAsNew(left - 1);
});

test("a forced delete aborts the running activity, drops its late result, and the runtime continues", async () => {
  const entered = signal<AbortSignal>();
  const gate = signal();
  const work = activity("work", async (_: undefined, ctx) => {
    entered.reach(ctx.signal);
    await gate.reached;
    return "late";
  });
  const main = orchestration("main", (ctx) => ctx.run(work));
  const { client, environment } = await virtualWorld([main, work, ok], RARE_POLLS);
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

test("a deleted id can be used again, and late results of the old instance do not reach the new one", async () => {
  const gates = [signal<string>(), signal<string>()];
  let runs = 0;
  const work = activity("work", () => gates[runs++]?.reached ?? Promise.resolve("none"));
  const main = orchestration("main", async (ctx) => [await ctx.run(work), ctx.kv.entries()]);
  const { client, environment } = await virtualWorld([main, work], RARE_POLLS);
  await client.start(main, undefined, { id: "i" });
  await environment.advance(10);
  await client.raise("i", "unread");
  await client.delete("i", { force: true });
  const again = await client.start(main, undefined, { id: "i" });
  await environment.advance(10);
  gates[0]?.reach("of the old instance"); // same sequence and same execution
  await environment.advance(10);
  expect((await again.describe()).status).toBe("running");
  expect((await again.unread()).items).toEqual([]);
  gates[1]?.reach("of the new instance");
  expect(await again.result()).toEqual(["of the new instance", []]);
});

test("deleting a root deletes its whole tree; a child can be deleted alone only by force, which fails the parent's call", async () => {
  const { client, environment } = await virtualWorld([parent, keeps, ok, waits], RARE_POLLS);
  const handle = await client.start(parent, "child", { id: "parent" });
  await environment.advance(10);
  expect(await refusalOf(client.delete("parent"))).toMatchObject({ code: "INSTANCE_RUNNING" });
  expect(await refusalOf(client.delete("child"))).toMatchObject({ code: "INSTANCE_RUNNING" });
  expect(await refusalOf(client.delete("unknown"))).toMatchObject({ code: "INSTANCE_NOT_FOUND" });
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

test("of several concurrent deletes of one instance one succeeds, and the others get INSTANCE_NOT_FOUND", async () => {
  const { client, environment } = await virtualWorld([ok], RARE_POLLS);
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

test("deleteMany filters by age and id up to a limit; filters are ANDed, and an empty list of ids deletes nothing", async () => {
  const { client, environment } = await virtualWorld([ok, waits], RARE_POLLS);
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

test("deleteMany keeps running instances and their ended children, and deletes ended trees", async () => {
  const done = orchestration("done", (ctx) => ctx.call(ok, undefined, { id: "grown-up" }));
  const { client, environment } = await virtualWorld([done, keeps, ok, waits], RARE_POLLS);
  await client.start(done, undefined, { id: "tree" });
  await client.start(keeps, undefined, { id: "live" });
  await environment.advance(10);
  await client.deleteMany({ all: true });
  const left = (await client.list()).items.map(({ id }) => id);
  expect(left.toSorted()).toEqual(["kept", "live"]);
});

test("pruneMany also prunes old executions of running instances, which continue", async () => {
  const { client, environment } = await virtualWorld([rounds], RARE_POLLS);
  const ended = await client.start(rounds, 2, { id: "ended" });
  const live = await client.start(rounds, 100, { id: "live" });
  await environment.advance(5 * HOUR_MS + 1_000);
  expect((await ended.describe()).status).toBe("completed");
  expect((await live.describe()).execution).toBe(6);
  expect(await client.pruneMany({ all: true }, { keepLast: 2 })).toMatchObject({ executions: 5 });
  const numbers = async (handle: Handle): Promise<readonly number[]> =>
    (await handle.executions()).map(({ execution }) => execution);
  expect([await numbers(ended), await numbers(live)]).toEqual([
    [2, 3],
    [5, 6],
  ]);
  await environment.advance(HOUR_MS);
  expect((await live.describe()).execution).toBe(7);
  expect(await client.prune("live", { completedBefore: "30m" })).toMatchObject({ executions: 1 });
  expect(await refusalOf(client.prune("unknown"))).toMatchObject({ code: "INSTANCE_NOT_FOUND" });
});
