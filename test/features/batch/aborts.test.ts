// Items whose attempts are cancelled or time out, while they wait and while the handler runs.

import { expect, test } from "vitest";
import { batchJob, type BatchOptions } from "../../../src/batch/index.ts";
import { orchestration, type RunOptions } from "../../../src/index.ts";
import type { TestEnvironment } from "../../../src/testing/index.ts";
import { Batches, kitWith, type Doc } from "./support.ts";

interface Call extends Doc {
  readonly timeoutMs?: number;
}

/** One instance per item. The handler takes `takesMs` of virtual time and ignores its signal. */
async function setup(options: BatchOptions<Call>, takesMs = 0) {
  const batches = new Batches();
  const ended: number[] = [];
  const open: { kit?: TestEnvironment } = {};
  const job = batchJob(
    "index",
    async (items: Call[], ctx) => {
      batches.add(items, ctx);
      if (takesMs > 0) await open.kit?.sleep(takesMs);
      ended.push(items.length);
      return items.map(({ id }) => ({ ok: id * 10 }));
    },
    options,
  );
  const caller = orchestration("caller", async (ctx, { timeoutMs, ...doc }: Call) => {
    const own: RunOptions = timeoutMs === undefined ? {} : { timeout: timeoutMs };
    return ctx.run(job, doc, own);
  });
  const kit = await kitWith([job, caller]);
  open.kit = kit;
  return { batches, ended, kit, start: (call: Call) => kit.start(caller, call) };
}

test("an item that is cancelled while it waits leaves its batch", async () => {
  const { batches, kit, start } = await setup({ max: 3, wait: "2s" });
  const first = await start({ id: 1 });
  const second = await start({ id: 2 });
  await kit.advance("500ms");
  await first.cancel();
  await start({ id: 3 });
  await kit.advance("1499ms");
  expect(batches.ids).toEqual([]);
  await kit.advance("1ms"); // the wait of the batch did not begin again
  expect(batches.ids).toEqual([[2, 3]]);
  expect(await second.result()).toBe(20);
  await expect(first.result()).rejects.toMatchObject({ code: "CANCELLED" });
});

test("a cancelled item does not count towards max", async () => {
  const { batches, kit, start } = await setup({ max: 2, wait: "2s" });
  const first = await start({ id: 1 });
  await kit.settle();
  await first.cancel();
  await kit.settle();
  await start({ id: 2 });
  await kit.settle();
  expect(batches.ids).toEqual([]);
  await start({ id: 3 });
  await kit.settle();
  expect(batches.ids).toEqual([[2, 3]]);
});

test("a batch that all items have left is not run, and the next item waits from its own arrival", async () => {
  const { batches, kit, start } = await setup({ max: 3, wait: "2s" });
  const first = await start({ id: 1 });
  await kit.advance("1s");
  await first.cancel();
  await kit.advance("500ms");
  await start({ id: 2 });
  await kit.advance("1999ms");
  expect(batches.ids).toEqual([]);
  await kit.advance("1ms");
  expect(batches.ids).toEqual([[2]]);
});

test("an item that times out while it waits leaves its batch", async () => {
  const { batches, kit, start } = await setup({ max: 3, wait: "2s" });
  const first = await start({ id: 1, timeoutMs: 1_000 });
  const second = await start({ id: 2 });
  await kit.advance("2s");
  expect(batches.ids).toEqual([[2]]);
  expect(await second.result()).toBe(20);
  await expect(first.result()).rejects.toThrow("timed out");
});

test("an item that is cancelled while the handler runs loses only its own outcome", async () => {
  const { batches, ended, kit, start } = await setup({ max: 3, wait: "2s" }, 5_000);
  const handles = [await start({ id: 1 }), await start({ id: 2 }), await start({ id: 3 })];
  await kit.advance("1s");
  await handles[0]?.cancel(); // its function has called the handler
  await kit.settle();
  const [ctx] = batches.contexts;
  expect(ctx?.signal.aborted).toBe(false);
  expect(ctx?.items.map(({ signal }) => signal.aborted)).toEqual([true, false, false]);
  expect(ended).toEqual([]);
  await kit.advance("4s");
  expect(ended).toEqual([3]);
  expect([await handles[1]?.result(), await handles[2]?.result()]).toEqual([20, 30]);
  await expect(handles[0]?.result()).rejects.toMatchObject({ code: "CANCELLED" });
});

test("the signal of the handler is aborted when all of its items are cancelled or timed out", async () => {
  const options = { max: 3, wait: "2s", timeout: "5s" } as const;
  const { batches, kit, start } = await setup(options, 60_000);
  await start({ id: 1 });
  await kit.advance("1s");
  const second = await start({ id: 2 });
  await kit.advance("3999ms");
  const [ctx] = batches.contexts;
  expect(ctx?.items.map(({ signal }) => signal.aborted)).toEqual([false, false]);
  await kit.advance("1ms"); // the timeout of the first one
  expect(ctx?.items.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  expect(ctx?.signal.aborted).toBe(false);
  await second.cancel("no longer needed");
  await kit.settle();
  expect(ctx?.signal.aborted).toBe(true);
  expect(String(ctx?.signal.reason)).toContain("no longer needed");
});

test("an item that times out in the handler is retried in a later batch", async () => {
  const options = { max: 2, wait: "1s", timeout: "3s", attempts: 2 } as const;
  const { batches, kit, start } = await setup(options, 4_000);
  const handle = await start({ id: 1 });
  await kit.advance("20s");
  expect(batches.ids).toEqual([[1], [1]]);
  expect(batches.contexts.map(({ items }) => items[0]?.attempt)).toEqual([1, 2]);
  await expect(handle.result()).rejects.toThrow("timed out");
});

test("a heartbeat of the handler counts for all of its items", async () => {
  const open: { kit?: TestEnvironment } = {};
  const job = batchJob(
    "index",
    async (_items: Doc[], { heartbeat, items }) => {
      for (let beats = 0; beats < 5; beats++) {
        await open.kit?.sleep("1s");
        if (beats < 3 || items.length === 1) heartbeat();
      }
      await open.kit?.sleep("1s");
    },
    { max: 2, wait: "1s", heartbeatTimeout: "1500ms" },
  );
  const caller = orchestration("caller", (ctx, doc: Doc) => ctx.run(job, doc));
  const kit = await kitWith([job, caller]);
  open.kit = kit;
  const together = [await kit.start(caller, { id: 1 }), await kit.start(caller, { id: 2 })];
  await kit.advance("10s");
  for (const handle of together) {
    await expect(handle.result()).rejects.toThrow("heartbeat");
  }
  const alone = await kit.start(caller, { id: 3 });
  await kit.advance("10s");
  expect(await alone.result()).toBeUndefined();
});

test("a restart without a grace period hands waiting items back, and uses no attempt", async () => {
  const { batches, kit, start } = await setup({ max: 3, wait: "2s" });
  const handles = [await start({ id: 1 }), await start({ id: 2 })];
  await kit.advance("1s");
  await kit.restartRuntime();
  expect(batches.ids).toEqual([]);
  await kit.advance("2s");
  expect(batches.ids.map((ids) => ids.toSorted())).toEqual([[1, 2]]);
  expect(batches.contexts[0]?.items.map(({ attempt }) => attempt)).toEqual([1, 1]);
  expect(await Promise.all(handles.map((handle) => handle.result()))).toEqual([10, 20]);
});

test("a restart without a grace period aborts the signal of a running handler", async () => {
  const { batches, kit, start } = await setup({ max: 1, wait: 0 }, 60_000);
  await start({ id: 1 });
  await kit.settle();
  await kit.restartRuntime();
  expect(batches.contexts[0]?.signal.reason).toMatchObject({ code: "SHUTTING_DOWN" });
});
