// Listing, counting, deleting and pruning instances, and metrics of the store.

import { expect, test } from "vitest";
import { orchestration } from "../../../src/index.ts";
import { go, open, untilWaiting, worker } from "./support.ts";

test("lists have stable cursors and filters", async () => {
  const perdure = await open();
  const { client } = perdure;
  for (let i = 0; i < 5; i++) await client.start(worker, i, { id: `w-${i}` });
  await client.start("unknown", undefined, { id: "u" });
  for (let i = 0; i < 5; i++) await untilWaiting(perdure, `w-${i}`);
  const first = await client.list({ idPrefix: "w-" }, { limit: 3 });
  const second = await client.list(
    { idPrefix: "w-" },
    { limit: 3, ...(first.cursor === undefined ? {} : { cursor: first.cursor }) },
  );
  const ids = [...first.items, ...second.items].map((item) => item.id);
  expect(ids.toSorted()).toEqual(["w-0", "w-1", "w-2", "w-3", "w-4"]);
  expect(second.cursor).toBeUndefined();
  const mine = await client.list({ attributes: { customer: "c-3" } });
  expect(mine.items.map((item) => item.id)).toEqual(["w-3"]);
  expect(await client.count({ status: "pending" })).toBe(1);
  expect(await client.count({ name: "worker", status: ["running"] })).toBe(5);
  expect(await client.count({ ids: [] })).toBe(0);
});

test("list refuses an invalid limit", async () => {
  const { client } = await open();
  await expect(client.list({}, { limit: 0 })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("delete removes an ended instance with all of its data, and its id can be used again", async () => {
  const { client } = await open();
  const handle = await client.start(worker, 3, { id: "w" });
  await expect(client.delete("w")).rejects.toMatchObject({ code: "INSTANCE_RUNNING" });
  await handle.raise(go, "on");
  await handle.result();
  expect(await client.delete("w")).toMatchObject({ instances: 1, executions: 1 });
  expect(await handle.exists()).toBe(false);
  await expect(client.delete("w")).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
  const again = await client.start(worker, 4, { id: "w" });
  await again.raise(go, "new");
  expect(await again.result()).toEqual({ doubled: 8, word: "new" });
});

test("deleteMany deletes ended instances and keeps running ones", async () => {
  const perdure = await open();
  const { client } = perdure;
  for (const id of ["a", "b"]) {
    const handle = await client.start(worker, 1, { id });
    await handle.raise(go, "on");
    await handle.result();
  }
  await client.start(worker, 1, { id: "c" });
  expect(await client.deleteMany({ name: "worker" })).toMatchObject({ instances: 2 });
  expect((await client.list()).items.map((item) => item.id)).toEqual(["c"]);
});

test("prune removes old executions and never the newest", async () => {
  const rounds = orchestration("rounds", async (ctx, n: number): Promise<unknown> => {
    await ctx.sleep(1);
    return n === 0 ? "done" : ctx.continueAsNew(n - 1);
  });
  const { client } = await open([rounds]);
  const handle = await client.start(rounds, 4, { id: "r" });
  await handle.result();
  expect(await client.prune("r", { keepLast: 2 })).toMatchObject({ executions: 3 });
  expect((await handle.executions()).map((e) => e.execution)).toEqual([4, 5]);
  expect(await client.pruneMany({ idPrefix: "r" })).toMatchObject({ executions: 1 });
  expect(await handle.result()).toBe("done");
});

test("metrics, queues and runtimes show the state of the store", async () => {
  const waiting = orchestration("waiting", async (ctx) => ctx.run("unregistered", 1));
  const perdure = await open([waiting]);
  const { client } = perdure;
  const handle = await client.start(waiting, undefined, { id: "l", priority: 2 });
  for await (const info of handle.watch()) if (info.waitingFor.length > 0) break;
  expect(await client.metrics()).toMatchObject({ instances: { running: 1 }, waitingTasks: 1 });
  expect(await client.queues()).toMatchObject([
    { name: "unregistered", depth: 1, kinds: [{ tags: [], priority: 2, waiting: 1, running: 0 }] },
  ]);
  const [runtime] = await client.runtimes();
  expect(runtime?.registered).toMatchObject({ activities: ["double"] });
  expect(await handle.stats()).toMatchObject({ events: 2, keys: 0 });
});
