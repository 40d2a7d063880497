// Batch jobs that are enqueued: one job per item.

import { expect, test } from "vitest";
import { batchJob } from "../../../src/batch/index.ts";
import { Batches, docs, kitWith, type Doc } from "./support.ts";

test("each enqueued item is a job with its own handle, outcome and retries", async () => {
  const batches = new Batches();
  const index = batchJob(
    "index",
    async (items: Doc[], ctx) => {
      batches.add(items, ctx);
      return items.map(({ id }, at) =>
        id === 2 && ctx.items[at]?.attempt === 1 ? { error: new Error("busy") } : { ok: id * 10 },
      );
    },
    { max: 3, wait: "2s", attempts: 2 },
  );
  const kit = await kitWith([index]);
  const handles = [];
  for (const doc of docs(1, 2, 3)) handles.push(await kit.client.enqueue(index, doc));
  const results = await Promise.all(handles.map((handle) => handle.result()));
  expect(results).toEqual([10, 20, 30]);
  expect(batches.ids).toEqual([[1, 2, 3], [2]]);
  expect(batches.contexts[0]?.items.map(({ instanceId }) => instanceId)).toEqual(
    handles.map(({ id }) => id),
  );
});

test("jobs that are enqueued together share batches, and a job that fails for good shows it", async () => {
  const batches = new Batches();
  const index = batchJob(
    "index",
    async (items: Doc[], ctx) => {
      batches.add(items, ctx);
      return items.map(({ id }) => (id === 4 ? { error: new Error("no four") } : { ok: id }));
    },
    { max: 4, wait: "2s" },
  );
  const kit = await kitWith([index]);
  const enqueued = docs(1, 2, 3, 4, 5, 6).map((doc) => kit.client.enqueue(index, doc));
  const handles = await Promise.all(enqueued);
  await kit.advance("2s");
  expect(batches.ids).toEqual([
    [1, 2, 3, 4],
    [5, 6],
  ]);
  const statuses = handles.map(async (handle) => (await handle.describe()).status);
  expect(await Promise.all(statuses)).toEqual([
    ...["completed", "completed", "completed", "failed", "completed", "completed"],
  ]);
});

test("a job that is cancelled while it waits leaves its batch", async () => {
  const batches = new Batches();
  const index = batchJob("index", async (items: Doc[], ctx) => batches.add(items, ctx), {
    max: 3,
    wait: "2s",
  });
  const kit = await kitWith([index]);
  const first = await kit.client.enqueue(index, { id: 1 });
  const second = await kit.client.enqueue(index, { id: 2 });
  await kit.settle();
  await first.cancel();
  expect(await second.result()).toBeUndefined();
  expect(batches.ids).toEqual([[2]]);
  await expect(first.result()).rejects.toMatchObject({ code: "CANCELLED" });
});
