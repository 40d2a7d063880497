// The retention policy deletes ended instances and old executions after their retention time and keeps running work.

import { expect, test } from "vitest";
import { Client, orchestration } from "../../../src/index.ts";
import { RetentionSweeper } from "../../../src/runtime/upkeep/retention.ts";
import { jobEnd, jobStart } from "../../../src/testing/conformance/jobs/job-items.ts";
import { startRuntime, virtualStore, virtualWorld } from "../../faults/trouble/support.ts";

const HOUR_MS = 3_600_000;
const ok = orchestration("ok", async () => "ok");
const bad = orchestration("bad", async () => {
  throw new Error("bad");
});
const waits = orchestration("waits", async (ctx) => ctx.waitFor("go"));
const RARE_POLLS = { beatMs: 30_000, pollIntervalMs: 30_000, staleMs: 90_000, stallMs: 90_000 };

test("each status has a retention time from the end of the instance; other statuses are kept forever", async () => {
  const retention = { completed: "2h", failed: "4h" } as const;
  const { client, environment } = await virtualWorld([ok, bad, waits], {
    ...RARE_POLLS,
    retention,
  });
  await client.start(ok, undefined, { id: "ok" });
  await client.start(bad, undefined, { id: "bad" });
  const cancelled = await client.start(waits, undefined, { id: "cancelled" });
  await client.start(waits, undefined, { id: "live" });
  await environment.advance(100);
  await cancelled.cancel("enough");
  const left = async (): Promise<string[]> =>
    (await client.list()).items.map(({ id }) => id).toSorted();
  await environment.advance(2 * HOUR_MS - 1_000);
  expect(await left()).toEqual(["bad", "cancelled", "live", "ok"]);
  await environment.advance(3 * 60_000);
  expect(await left()).toEqual(["bad", "cancelled", "live"]);
  await environment.advance(2 * HOUR_MS);
  expect(await left()).toEqual(["cancelled", "live"]);
  await environment.advance(48 * HOUR_MS);
  expect(await left()).toEqual(["cancelled", "live"]);
});

test("an ended child is kept as long as its parent and deleted with it", async () => {
  const parent = orchestration("parent", async (ctx) => {
    await ctx.call(ok, undefined, { id: "child" });
    await ctx.waitFor("go");
  });
  const retention = { completed: "1h" } as const;
  const { client, environment } = await virtualWorld([parent, ok], { ...RARE_POLLS, retention });
  const handle = await client.start(parent, undefined, { id: "parent" });
  await environment.advance(3 * HOUR_MS);
  expect(await client.get("child").exists()).toBe(true);
  await handle.raise("go");
  await environment.advance(HOUR_MS + 5 * 60_000);
  expect(await handle.exists()).toBe(false);
  expect(await client.get("child").exists()).toBe(false);
});

test("an ended parent whose abandoned child still runs is kept", async () => {
  const parent = orchestration("parent", async (ctx) => {
    void ctx.call(waits, undefined, { id: "child", onParentClose: "abandon" });
    await ctx.sleep("1s");
  });
  const retention = { completed: "1h" } as const;
  const { client, environment } = await virtualWorld([parent, waits], { ...RARE_POLLS, retention });
  await client.start(parent, undefined, { id: "parent" });
  await environment.advance(3 * HOUR_MS);
  expect(await client.get("child").exists()).toBe(true);
  expect(await client.get("parent").exists()).toBe(true);
});

test("two runtimes with the same policy delete hundreds of old instances", async () => {
  const { provider, environment } = await virtualStore();
  const plain = await startRuntime(provider, [ok], RARE_POLLS);
  const client = new Client(provider);
  await Promise.all(
    Array.from({ length: 350 }, (_, n) => client.start(ok, undefined, { id: `o${n}` })),
  );
  await environment.advance(HOUR_MS);
  expect(await client.count({ status: "completed" })).toBe(350);
  await plain.shutdown({ graceMs: 0 });
  const retention = { completed: "30m" } as const;
  for (let n = 0; n < 2; n++) await startRuntime(provider, [ok], { ...RARE_POLLS, retention });
  await environment.advance(3 * 60_000);
  expect(await client.count({})).toBe(0);
});

test("keepExecutions keeps only the newest executions of an instance", async () => {
  const eternal = orchestration("eternal", async (ctx, round: number): Promise<number> => {
    await ctx.sleep("1m");
    return round === 30 ? round : ctx.continueAsNew(round + 1);
  });
  const retention = { keepExecutions: 3 };
  const { client, environment } = await virtualWorld([eternal], { retention });
  const handle = await client.start(eternal, 0, { id: "a" });
  await environment.advance(20 * 60_000 + 5_000);
  const kept = (await handle.executions()).map(({ execution }) => execution);
  expect(kept).toEqual([19, 20, 21]);
  await environment.advance(15 * 60_000);
  expect(await handle.result()).toBe(30);
  expect(await handle.executions()).toHaveLength(3);
});

test.each<[string, unknown]>([
  ["a bad duration", { completed: "a month" }],
  ["a status that does not end", { running: "1d" }],
  ["zero executions", { keepExecutions: 0 }],
  ["a text", "30d"],
])("a policy with %s is refused", async (_, retention) => {
  const { provider } = await virtualStore();
  const starting = startRuntime(provider, [], { retention: retention as never });
  await expect(starting).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("only one of two runtimes sweeps at a time; the other one takes over when the claim expires", async () => {
  const { provider, environment } = await virtualStore();
  const sweeps: string[] = [];
  const sweeperOf = (name: string): RetentionSweeper => {
    const counting = new Proxy(provider, {
      get(target, member) {
        if (member === "deleteEnded") sweeps.push(name);
        const value: unknown = Reflect.get(target, member, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const rule = { keepMs: { completed: HOUR_MS }, keepExecutions: undefined };
    const fail = (error: unknown): void => expect.unreachable(String(error));
    const context = { provider: counting, environment, onStoreError: fail };
    return new RetentionSweeper(context, rule);
  };
  const [first, second] = [sweeperOf("first"), sweeperOf("second")];
  const tick = async (...sweepers: RetentionSweeper[]): Promise<void> => {
    for (const sweeper of sweepers) sweeper.tick(environment.monotonic());
    await environment.advance(1_000);
  };
  await environment.advance(60_000);
  await tick(first, second);
  expect(sweeps).toEqual(["first"]);
  first.stop(); // like a crash: it does not release its claim
  await environment.advance(60_000);
  await tick(first, second);
  expect(sweeps).toEqual(["first", "second"]);
  second.stop();
});

test("a runtime without a policy deletes instances that ended with a separate time", async () => {
  const { provider, environment } = await virtualStore();
  await startRuntime(provider, [ok], RARE_POLLS);
  const client = new Client(provider);
  for (const [id, keepMs] of [
    ["short", 60_000],
    ["long", 2 * HOUR_MS],
  ] as const) {
    const item = jobStart({ id });
    await provider.commit([item]);
    const { key } = (await provider.readInstance(id)) ?? { key: 0 };
    const change = { kind: "ended", status: "completed", output: "1", error: null } as const;
    const end = jobEnd({ key, execution: 1, sequence: 2, token: 0 }, { finished: [] });
    await provider.commit([{ ...end, change: { ...change, keepMs } }]);
  }
  const left = async (): Promise<string[]> => (await client.list()).items.map(({ id }) => id);
  expect((await left()).toSorted()).toEqual(["long", "short"]);
  await environment.advance(4 * 60_000);
  expect(await left()).toEqual(["long"]);
  await environment.advance(2 * HOUR_MS);
  expect(await left()).toEqual([]);
});

test("a sweep without anything to delete writes nothing to the store", async () => {
  const { provider, environment } = await virtualStore();
  const calls: string[] = [];
  const counting = new Proxy(provider, {
    get(target, member) {
      const value: unknown = Reflect.get(target, member, target);
      if (typeof value !== "function") return value;
      calls.push(String(member));
      return value.bind(target);
    },
  });
  const onStoreError = (error: unknown): void => expect.fail(String(error));
  const sweeper = new RetentionSweeper({ provider: counting, environment, onStoreError }, null);
  for (let minute = 0; minute < 5; minute += 1) {
    await environment.advance(60_001);
    sweeper.tick(environment.monotonic());
    await environment.settle();
  }
  expect(calls.filter((name) => name !== "now")).toEqual(Array(5).fill("deleteExpired"));
});
