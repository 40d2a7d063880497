// Which items form a batch, and when its handler is called.

import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { batchJob, type BatchOptions } from "../../../src/batch/index.ts";
import type { TestEnvironment } from "../../../src/testing/index.ts";
import { Batches, callerOf, docs, kitWith, type Doc } from "./support.ts";

/** A batch job that notes its batches and the virtual time of each. */
function noting(options: BatchOptions<Doc>) {
  const batches = new Batches();
  const times: number[] = [];
  let now = (): number => 0;
  const job = batchJob(
    "index",
    async (items: Doc[], ctx) => {
      batches.add(items, ctx);
      times.push(now());
      return items.map(({ id }) => ({ ok: id * 10 }));
    },
    options,
  );
  const caller = callerOf(job);
  return {
    batches,
    /** Milliseconds since the start of the test. */
    times,
    caller,
    async kit(runtime: Parameters<typeof kitWith>[1] = {}): Promise<TestEnvironment> {
      const kit = await kitWith([job, caller], runtime);
      const began = kit.now.getTime();
      now = () => kit.now.getTime() - began;
      return kit;
    },
  };
}

test("a batch runs as soon as it has max items, and the rest after the wait of its first item", async () => {
  const { batches, times, caller, kit: open } = noting({ max: 3, wait: "2s" });
  const kit = await open();
  const handle = await kit.start(caller, docs(1, 2, 3, 4, 5, 6, 7));
  await kit.settle();
  expect(batches.ids).toEqual([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  await kit.advance("1999ms");
  expect(batches.ids).toHaveLength(2);
  await kit.advance("1ms");
  expect(batches.ids).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
  expect(times).toEqual([0, 0, 2_000]);
  expect(await handle.result()).toEqual([10, 20, 30, 40, 50, 60, 70].map((value) => ({ value })));
});

test("the wait counts from the first item, not from the last", async () => {
  const { batches, times, caller, kit: open } = noting({ max: 10, wait: "2s" });
  const kit = await open();
  for (const id of [1, 2, 3]) {
    await kit.start(caller, docs(id));
    await kit.advance("900ms");
  }
  expect(batches.ids).toEqual([[1, 2, 3]]);
  expect(times).toEqual([2_000]);
});

test("awaiting a result advances the clock to the end of the wait", async () => {
  const { times, caller, kit: open } = noting({ max: 10, wait: "2s" });
  const kit = await open();
  const handle = await kit.start(caller, docs(1, 2));
  expect(await handle.result()).toEqual([{ value: 10 }, { value: 20 }]);
  expect(times).toEqual([2_000]);
});

test("without a wait, a batch has the items that have arrived", async () => {
  const { times, caller, kit: open } = noting({ max: 10, wait: 0 });
  const kit = await open();
  const handle = await kit.start(caller, docs(1));
  expect(await handle.result()).toEqual([{ value: 10 }]);
  expect(times).toEqual([0]);
});

test("items of different keys are in different batches, each with its own wait and its own maximum", async () => {
  const {
    batches,
    times,
    caller,
    kit: open,
  } = noting({
    max: 2,
    wait: "5s",
    key: ({ tenant = "" }) => tenant,
  });
  const kit = await open();
  const of = (tenant: string, id: number): Doc => ({ id, tenant });
  await kit.start(caller, [of("a", 1), of("b", 2), of("", 3), of("a", 4)]);
  await kit.advance("1s");
  await kit.start(caller, [of("b", 5), of("c", 6)]);
  await kit.advance("5s");
  expect(batches.ids).toEqual([[1, 4], [2, 5], [3], [6]]);
  expect(times).toEqual([0, 1_000, 5_000, 6_000]);
});

test("activityConcurrency bounds the size of a batch", async () => {
  const { batches, caller, kit: open } = noting({ max: 10, wait: "1s" });
  const kit = await open({ activityConcurrency: 4 });
  const handle = await kit.start(caller, docs(1, 2, 3, 4, 5, 6));
  await handle.result();
  expect(batches.ids).toEqual([
    [1, 2, 3, 4],
    [5, 6],
  ]);
});

test("the handler gets the attempts of its items, a client and a log that names the batch", async () => {
  const { batches, caller, kit: open } = noting({ max: 2, wait: "1s", key: () => "all" });
  const kit = await open();
  const first = await kit.start(caller, docs(1));
  const second = await kit.start(caller, docs(2));
  await kit.settle();
  const [ctx] = batches.contexts;
  expect(ctx?.items).toMatchObject([
    { instanceId: first.id, attempt: 1, info: { activity: "index" } },
    { instanceId: second.id, attempt: 1 },
  ]);
  expect(new Set(ctx?.items.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(2);
  expect(ctx?.signal.aborted).toBe(false);
  ctx?.log.warn("slow", { tookMs: 5 });
  expect(kit.logs.at(-1)).toMatchObject({
    level: "warn",
    message: "slow",
    fields: { activity: "index", items: 2, key: "all", tookMs: 5 },
  });
  expect(await ctx?.client.get(first.id).describe()).toMatchObject({ name: "caller" });
});

test("two runtimes of one process never share a batch", async () => {
  const { batches, caller, kit: open } = noting({ max: 2, wait: "1s" });
  const one = await open();
  const other = await open();
  const first = await one.start(caller, docs(1));
  const second = await other.start(caller, docs(2));
  await one.settle();
  await other.settle();
  expect(batches.ids).toEqual([]);
  await one.advance("1s");
  expect(batches.ids).toEqual([[1]]);
  await other.advance("1s");
  expect(batches.ids).toEqual([[1], [2]]);
  expect([await first.result(), await second.result()]).toEqual([[{ value: 10 }], [{ value: 20 }]]);
});

test("real work of a handler takes no virtual time", async () => {
  const batches = new Batches();
  const job = batchJob(
    "index",
    async (items: Doc[], ctx) => {
      batches.add(items, ctx);
      await readFile(import.meta.filename);
    },
    { max: 3, wait: "1s" },
  );
  const caller = callerOf(job);
  const kit = await kitWith([job, caller]);
  const began = kit.now.getTime();
  const handle = await kit.start(caller, docs(1, 2));
  expect(await handle.result()).toEqual([{ value: undefined }, { value: undefined }]);
  expect(kit.now.getTime() - began).toBe(1_000);
});

test("a mock replaces a batch job item by item", async () => {
  const { batches, caller, kit: open } = noting({ max: 2, wait: "1s" });
  const kit = await open();
  kit.mock("index", (doc) => `mock of ${(doc as Doc).id}`);
  const handle = await kit.start(caller, docs(1, 2));
  expect(await handle.result()).toEqual([{ value: "mock of 1" }, { value: "mock of 2" }]);
  expect(batches.ids).toEqual([]);
});
