// One operation on all instances that a filter matches.

import { expect, test } from "vitest";
import type { HttpClient } from "../../../../src/server/index.ts";
import { echo, openScene, rounds, untilWaiting, worker, type Scene } from "../support.ts";

async function withWorkers(count: number): Promise<{ scene: Scene; client: HttpClient }> {
  const scene = await openScene();
  const client = scene.as("admin");
  for (let n = 0; n < count; n++) await scene.perdure.client.start(worker, n, { id: `w-${n}` });
  for (let n = 0; n < count; n++) await untilWaiting(scene.perdure, `w-${n}`);
  return { scene, client };
}

test("a dry run counts the instances that would change, and changes nothing", async () => {
  const { scene, client } = await withWorkers(3);
  await (await scene.perdure.client.start(echo, 1, { id: "done" })).result();
  const before = await scene.perdure.client.list();
  const counts: Record<string, number> = {};
  for (const action of [
    "cancel",
    "terminate",
    "pause",
    "resume",
    "unblock",
    "restart",
    "delete",
    "prune",
  ] as const) {
    const result = await client.bulk(action, { all: true }, { dryRun: true });
    expect(result).toMatchObject({ dryRun: true, applied: 0, refused: [] });
    counts[action] = result.matched;
  }
  counts["raise"] = (
    await client.bulk("raise", { all: true }, { dryRun: true, name: "go" })
  ).matched;
  expect(counts).toEqual({
    cancel: 3,
    terminate: 3,
    pause: 3,
    resume: 0,
    unblock: 0,
    restart: 1,
    delete: 1,
    prune: 4,
    raise: 3,
  });
  expect(await scene.perdure.client.list()).toEqual(before);
});

test("pause, resume, raise, terminate, restart and delete change many instances", async () => {
  const { scene, client } = await withWorkers(4);
  const some = { ids: ["w-0", "w-1", "w-2"] };
  expect(await client.bulk("pause", some, { reason: "night" })).toMatchObject({
    matched: 3,
    applied: 3,
  });
  expect(await client.count({ status: "paused" })).toBe(3);
  expect((await client.get("w-0").describe()).paused).toMatchObject({ reason: "night", by: "ada" });
  expect(await client.bulk("resume", { all: true })).toMatchObject({ matched: 3, applied: 3 });
  expect(await client.bulk("raise", { ids: ["w-0"] }, { name: "go", data: "on" })).toMatchObject({
    applied: 1,
  });
  expect(await client.get("w-0").result()).toEqual({ doubled: 0, word: "on" });
  expect(await client.bulk("cancel", { ids: ["w-1"] }, { reason: "no" })).toMatchObject({
    applied: 1,
  });
  await expect(client.get("w-1").result()).rejects.toMatchObject({ kind: "cancelled" });
  expect(await client.bulk("terminate", { status: ["running"] })).toMatchObject({
    matched: 2,
    applied: 2,
  });
  expect(await client.bulk("restart", { ids: ["w-0", "w-3"] })).toMatchObject({ applied: 2 });
  await untilWaiting(scene.perdure, "w-3");
  expect(await client.bulk("delete", { all: true })).toMatchObject({
    matched: 2,
    removed: { instances: 2, executions: 2 },
  });
  expect((await client.list()).items.map(({ id }) => id).toSorted()).toEqual(["w-0", "w-3"]);
});

test("prune takes its own options", async () => {
  const { as } = await openScene();
  const client = as("admin");
  const handle = await client.start(rounds, 4, { id: "r" });
  await handle.result();
  const pruned = await client.bulk("prune", { idPrefix: "r" }, { keepLast: 2 });
  expect(pruned).toMatchObject({ matched: 1, removed: { executions: 3 } });
});

test("the limit bounds the number of changes, oldest first", async () => {
  const { client } = await withWorkers(4);
  expect(await client.bulk("pause", { all: true }, { limit: 2 })).toMatchObject({
    matched: 4,
    applied: 2,
  });
  const { items } = await client.list({ status: "paused" }, { order: "oldest" });
  expect(items.map(({ id }) => id)).toEqual(["w-0", "w-1"]);
});

test("the server's own limit holds whatever the request asks for", async () => {
  const scene = await openScene({ limits: { bulkMax: 2 } });
  for (let n = 0; n < 4; n++) await scene.perdure.client.start("unregistered", n, { id: `n-${n}` });
  const result = await scene.as("operator").bulk("pause", { all: true }, { limit: 1_000 });
  expect(result).toMatchObject({ matched: 4, applied: 2 });
});

test("a status that the operation does not apply to matches nothing", async () => {
  const { client } = await withWorkers(1);
  expect(await client.bulk("delete", { status: ["running"] })).toMatchObject({ matched: 0 });
  expect(await client.bulk("cancel", { status: "completed" })).toMatchObject({ matched: 0 });
  expect(await client.bulk("unblock", { blocked: false })).toMatchObject({ matched: 0 });
  expect(await client.bulk("cancel", { ids: [] })).toMatchObject({ matched: 0 });
  expect(await client.count({ status: "running" })).toBe(1);
});

test("a refusal by one instance does not stop the others, and is reported", async () => {
  const { scene, client } = await withWorkers(3);
  const { provider } = scene.perdure;
  const find = provider.findInstances.bind(provider);
  // One of the instances ends after it was matched and before it is cancelled.
  provider.findInstances = async (request) => {
    const page = await find(request);
    await scene.perdure.client.get("w-1").terminate("meanwhile");
    return page;
  };
  const result = await client.bulk("pause", { all: true });
  expect(result).toMatchObject({ matched: 3, applied: 2, refusedCount: 1 });
  expect(result.refused).toMatchObject([{ id: "w-1", code: "INSTANCE_FINISHED" }]);
});

test("a bulk operation with an Idempotency-Key runs once", async () => {
  const { client } = await withWorkers(1);
  for (let n = 0; n < 2; n++)
    await client.bulk("raise", { all: true }, { name: "unread", requestId: "k" });
  expect((await client.get("w-0").unread()).items).toHaveLength(1);
});
