// Every operation of the client and its handles, over HTTP.

import { expect, test } from "vitest";
import { flow } from "../../../src/flow/index.ts";
import { activity, ActivityError, OrchestrationError } from "../../../src/index.ts";
import {
  double,
  echo,
  failing,
  go,
  openScene,
  parent,
  rounds,
  untilWaiting,
  worker,
} from "./support.ts";

test("an instance is started, described, signalled and awaited", async () => {
  const { perdure, as } = await openScene();
  const client = as("operator");
  const handle = await client.start(worker, 4, {
    id: "w",
    priority: 2,
    attributes: { customer: "a" },
  });
  await untilWaiting(perdure, "w");
  expect(await handle.exists()).toBe(true);
  expect(await client.get("other").exists()).toBe(false);
  const info = await handle.describe();
  expect(info).toMatchObject({
    id: "w",
    name: "worker",
    status: "running",
    priority: 2,
    customStatus: { phase: "waiting" },
    attributes: { customer: "c-4" },
    waitingFor: [{ kind: "event", name: go.name }],
  });
  expect(info.createdAt).toBeInstanceOf(Date);
  await handle.raise("go", "on");
  expect(await handle.result({ timeout: "10s" })).toEqual({ doubled: 8, word: "on" });
  expect(await handle.describe()).toMatchObject({ status: "completed", output: { doubled: 8 } });
});

test("instances are searched and counted by attributes of every type", async () => {
  const { perdure, as } = await openScene();
  const client = as("operator");
  const due = new Date("2030-01-31T12:00:00Z");
  await client.start(worker, 4, { id: "a", attributes: { cents: 1_500, due, isGift: true } });
  await client.start(worker, 5, { id: "b", attributes: { cents: 500, note: "x y" } });
  for (const id of ["a", "b"]) await untilWaiting(perdure, id);
  const ids = async (query: Parameters<typeof client.list>[0]): Promise<readonly string[]> =>
    (await client.list({ order: "asc", ...query })).items.map(({ id }) => id);
  const { attributes } = await client.get("a").describe();
  expect(attributes).toMatchObject({ cents: 1_500, due, isGift: true });
  expect(await ids({ where: { cents: { gte: 500, lt: 1_500 } } })).toEqual(["b"]);
  expect(await ids({ where: { due: { after: new Date(0) }, isGift: true } })).toEqual(["a"]);
  expect(await ids({ attributes: { note: "x y", cents: 500 } })).toEqual(["b"]);
  expect(await ids({ text: "WORK", orderBy: "completedAt" })).toEqual(["a", "b"]);
  expect(await client.count({ where: { note: { exists: false } } })).toBe(1);
  const bulk = await client.bulk("pause", { where: { due } }, { dryRun: true });
  expect(bulk).toMatchObject({ matched: 1 });
  expect(await client.counts({ by: ["name", "status"] })).toEqual([
    { name: "worker", status: "running", count: 2 },
  ]);
  const wrong = client.list({ where: { cents: { gt: "" } }, text: "" });
  await expect(wrong).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("the work that a restart would repeat is listed", async () => {
  const { perdure, as } = await openScene();
  const handle = await as("operator").start(worker, 4, { id: "w" });
  await untilWaiting(perdure, "w");
  const viewed = as("viewer").get("w");
  expect(await viewed.completedWork()).toEqual([{ kind: "activity", name: "double", count: 1 }]);
  await handle.terminate();
  await handle.restart();
  await untilWaiting(perdure, "w");
  expect(await viewed.completedWork({ execution: 1 })).toHaveLength(1);
  await expect(as("viewer").get("x").completedWork()).rejects.toMatchObject({
    code: "INSTANCE_NOT_FOUND",
  });
});

test("a wait that cannot end gives the reason, and ends early with onBlocked: throw", async () => {
  const { perdure, as } = await openScene();
  const client = as("operator");
  const handle = await client.start("orphan", null, { id: "o" });
  const why = 'no running worker registers orchestration "orphan"';
  await expect(handle.result({ onBlocked: "throw" })).rejects.toMatchObject({
    code: "UNCLAIMED",
    message: `Instance "o" did not end: ${why}.`,
    reason: why,
  });
  await expect(handle.kv.waitFor("k", { onBlocked: "throw" })).rejects.toMatchObject({
    code: "UNCLAIMED",
  });
  await expect(handle.nodeResult("n", { onBlocked: "throw" })).rejects.toMatchObject({
    code: "UNCLAIMED",
  });
  await expect(handle.result({ timeout: 20 })).rejects.toMatchObject({
    code: "TIMEOUT",
    message: `Instance "o" did not end within 20ms: ${why}.`,
    reason: why,
  });
  await expect(handle.result({ timeout: 0 })).rejects.toMatchObject({ reason: why });
  const wrong = { onBlocked: "fail" as "throw" };
  await expect(handle.result(wrong)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  const waiting = await client.start(worker, 4, { id: "w" });
  await untilWaiting(perdure, "w");
  await expect(waiting.result({ timeout: 20 })).rejects.toMatchObject({
    reason: 'it waits for the event "go"',
  });
});

test("a start takes a delay, a time, first events and a conflict policy", async () => {
  const { as } = await openScene();
  const client = as("operator");
  const ready = await client.start(worker, 1, { id: "e", events: [{ name: "go", data: "early" }] });
  expect(await ready.result()).toMatchObject({ word: "early" });
  await client.start(worker, 1, { id: "later", delay: "1h" });
  await client.start(worker, 1, { id: "at", at: new Date(Date.now() + 3_600_000) });
  expect((await client.get("later").describe()).status).toBe("pending");
  await expect(client.start(worker, 1, { id: "e" })).rejects.toMatchObject({
    code: "INSTANCE_EXISTS",
  });
  await client.start(worker, 1, { id: "e", onConflict: "useExisting" });
  expect((await client.get("e").describe()).execution).toBe(1);
});

test("a missing result, a failure and a cancelled instance lead to different errors", async () => {
  const { as } = await openScene();
  const client = as("operator");
  const waiting = await client.start(worker, 1, { id: "w" });
  await expect(waiting.result({ timeout: 0 })).rejects.toMatchObject({ code: "TIMEOUT" });
  const failed = await client.start(failing, undefined, { id: "f" });
  const error = await failed.result().catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(OrchestrationError);
  expect(error).toMatchObject({ kind: "failed", code: "ORCHESTRATION_FAILED" });
  const { cause } = error as OrchestrationError;
  expect(cause).toMatchObject({ message: "it went wrong" });
  expect((cause as Error).cause).toBeInstanceOf(TypeError);
  expect((cause as Error).cause).toMatchObject({ message: "the reason", code: "E42" });
  expect(((cause as Error).cause as { when: unknown }).when).toEqual(new Date(0));
  await waiting.cancel("no longer needed");
  await expect(waiting.result()).rejects.toMatchObject({ kind: "cancelled" });
});

test("the caller who cancelled, paused or terminated an instance is recorded", async () => {
  const { as, perdure } = await openScene();
  const client = as("operator");
  const cancelled = await client.start(worker, 1, { id: "c" });
  await untilWaiting(perdure, "c");
  await cancelled.cancel("stop");
  await expect(cancelled.result()).rejects.toMatchObject({ kind: "cancelled" });
  expect((await cancelled.describe()).cancelled).toMatchObject({ reason: "stop", by: "otto" });
  const paused = await client.start(worker, 1, { id: "p" });
  await untilWaiting(perdure, "p");
  await paused.pause("audit");
  expect(await paused.describe()).toMatchObject({
    status: "paused",
    paused: { reason: "audit", by: "otto" },
  });
  await paused.resume();
  expect((await paused.describe()).status).toBe("running");
  await paused.terminate("enough");
  const error = await paused.result().catch((reason: unknown) => reason);
  expect(error).toMatchObject({ kind: "terminated", cause: { by: "otto" } });
});

test("restart, fork, executions and history", async () => {
  const { as, perdure } = await openScene();
  const client = as("operator");
  const handle = await client.start(worker, 5, { id: "w", events: [{ name: "go", data: "one" }] });
  await handle.result();
  await handle.restart();
  await untilWaiting(perdure, "w");
  await handle.raise("go", "two");
  expect(await handle.result()).toEqual({ doubled: 10, word: "two" });
  expect((await handle.executions()).map(({ execution, status }) => [execution, status])).toEqual([
    [1, "completed"],
    [2, "completed"],
  ]);
  const page = await handle.history({ limit: 3 });
  expect(page).toMatchObject({ execution: 2, next: 3 });
  const rest = await handle.history({ after: 3 });
  expect(rest.next).toBeUndefined();
  const all = [...page.events, ...rest.events];
  expect(all.map(({ sequence }) => sequence)).toEqual(all.map((_event, index) => index + 1));
  expect(all[0]).toMatchObject({ kind: "OrchestrationStarted", input: 5 });
  expect(all[0]).not.toHaveProperty("seed");
  const first = await handle.history({ execution: 1 });
  expect(first.events.at(-1)).toMatchObject({ output: { word: "one" } });
  const scheduled = all.find(({ kind }) => kind === "ActivityScheduled");
  const fork = await client.fork("w", { beforeSequence: (scheduled?.sequence ?? 0) + 1, id: "f" });
  await untilWaiting(perdure, "f");
  await fork.raise("go", "three");
  expect(await fork.result()).toEqual({ doubled: 10, word: "three" });
});

test("long payloads are cut in a page and complete in the single event", async () => {
  const { as } = await openScene();
  const long = "x".repeat(1_000);
  const handle = await as("operator").start(echo, long, { id: "e" });
  await handle.result();
  const page = await handle.history({ payloadChars: 100 });
  expect(page.events[0]?.input).toEqual({ $perdureCut: { chars: 1_002 } });
  expect((await handle.event(1)).input).toBe(long);
  await expect(handle.event(99)).rejects.toMatchObject({ code: "EVENT_NOT_FOUND", status: 404 });
});

test("key-values, unread events, statistics and the tree of children", async () => {
  const { as, perdure } = await openScene();
  const client = as("operator");
  const handle = await client.start(parent, undefined, { id: "p" });
  expect(await handle.kv.entries()).toEqual([]);
  for await (const { waitingFor } of perdure.client.get("p").watch()) {
    if (waitingFor.some(({ kind }) => kind === "child")) break;
  }
  const [child = ""] = (await handle.tree()).children.map(({ id }) => id);
  expect(child).toContain("p::sub::");
  expect(await client.get(child).kv.waitFor("doubled", { timeout: "10s" })).toBe(6);
  expect(await client.get(child).kv.get("doubled")).toBe(6);
  expect(await client.get(child).kv.get("nothing")).toBeUndefined();
  expect(await client.get(child).kv.entries()).toEqual([["doubled", 6]]);
  await expect(client.get("none").kv.entries()).rejects.toMatchObject({
    code: "INSTANCE_NOT_FOUND",
  });
  await untilWaiting(perdure, child);
  await handle.raise("unasked", { n: 1 });
  expect((await handle.unread()).items).toEqual([{ name: "unasked", data: { n: 1 } }]);
  expect(await client.get(child).stats()).toMatchObject({ keys: 1, keyBytes: 1 });
});

test("lists are filtered and paged, and counted", async () => {
  const { as, perdure } = await openScene();
  const client = as("operator");
  for (let n = 0; n < 5; n++) await client.start(worker, n, { id: `w-${n}` });
  await client.start(parent, undefined, { id: "p" });
  for (let n = 0; n < 5; n++) await untilWaiting(perdure, `w-${n}`);
  const first = await client.list({ idPrefix: "w-" }, { limit: 3, order: "oldest" });
  expect(first.items.map(({ id }) => id)).toEqual(["w-0", "w-1", "w-2"]);
  const second = await client.list(
    { idPrefix: "w-" },
    { limit: 3, order: "oldest", cursor: first.cursor ?? "" },
  );
  expect(second.items.map(({ id }) => id)).toEqual(["w-3", "w-4"]);
  expect(second.cursor).toBeUndefined();
  const mine = await client.list({ attributes: { customer: "c-3" }, parent: null });
  expect(mine.items.map(({ id }) => id)).toEqual(["w-3"]);
  expect(await client.count({ name: "worker", status: ["running", "paused"] })).toBe(6);
  expect(await client.count({ ids: ["w-1", "w-2", "none"] })).toBe(2);
  expect(await client.count({ ids: [] })).toBe(0);
  expect(await client.count({ createdAfter: new Date(Date.now() + 60_000) })).toBe(0);
  expect(await client.count({ blocked: true })).toBe(0);
});

test("delete and prune remove instances and executions, and return the counts", async () => {
  const { as } = await openScene();
  const client = as("admin");
  const handle = await client.start(rounds, 3, { id: "r" });
  await handle.result();
  expect(await client.prune("r", { keepLast: 2 })).toMatchObject({ executions: 2 });
  await client.start(worker, 1, { id: "live" });
  await expect(client.delete("live")).rejects.toMatchObject({ code: "INSTANCE_RUNNING" });
  expect(await client.delete("live", { force: true })).toMatchObject({ instances: 1 });
  expect(await client.delete("r")).toMatchObject({ instances: 1, executions: 2 });
  await expect(client.delete("r")).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
});

test("metrics, queues and runtimes", async () => {
  const { as } = await openScene();
  const client = as("operator");
  await client.start("unregistered", undefined, { id: "n" });
  expect(await client.metrics()).toMatchObject({ instances: { pending: 1 } });
  const [runtime] = await client.runtimes();
  expect(runtime).toMatchObject({ alive: true, registered: { activities: ["double"] } });
  expect(runtime?.registered?.orchestrations).toContainEqual({
    name: "worker",
    versions: ["1.0.0"],
  });
  expect(await client.queues()).toEqual([]);
  const overview = await client.overview();
  expect(overview.metrics.unclaimed).toMatchObject([
    { kind: "orchestration", name: "unregistered" },
  ]);
});

test("events for instances that do not exist yet are kept and listed, page by page", async () => {
  const { as } = await openScene();
  const client = as("operator");
  const keep = { ifMissing: "keep" } as const;
  await client.raise("later", "go", new Date(0), { ...keep, keepFor: "2h", requestId: "r" });
  await client.get("other").raise("go", 2, keep);
  await client.raise("gone", "go", 3, { ...keep, keepFor: 1 });
  const first = await as("viewer").kept({ limit: 1 });
  expect(first.items).toMatchObject([
    { id: "later", event: "go", data: new Date(0), expired: false },
  ]);
  const [kept] = first.items;
  expect(kept && kept.expiresAt.getTime() - kept.createdAt.getTime()).toBe(2 * 3_600_000);
  const cursor = first.cursor ?? "";
  await expect
    .poll(async () => (await client.kept({ cursor })).items)
    .toMatchObject([
      { id: "other", expired: false },
      { id: "gone", expired: true },
    ]);
  expect((await client.kept({ id: "other" })).items).toHaveLength(1);
  const invalid = client.raise("a", "go", 1, { keepFor: "1h" });
  await expect(invalid).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(client.kept({ cursor: "x" })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("ids with any characters can be addressed", async () => {
  const { as } = await openScene();
  const client = as("operator");
  for (const id of ["a/b", "a%2Fb", "a?b#c", "ü✓ 😀", "a+b&c=d", "...", "a\\b", "%", "count"]) {
    const handle = await client.start(echo, id, { id });
    expect(await handle.result()).toBe(id);
    expect((await client.get(id).describe()).id).toBe(id);
  }
  expect(() => client.get("")).toThrow(/is empty/);
  await expect(client.get("..").describe()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("the nodes of a flow can be read and awaited, and its definition is returned", async () => {
  const broken = activity("broken", async (): Promise<number> => {
    throw new RangeError("out of range");
  });
  const doubling = flow<number>("doubling").then(double).waitFor(go).then(broken).build();
  const { as, call } = await openScene({}, [doubling]);
  const handle = await as("operator").start(doubling, 4, { id: "f" });
  expect(await handle.nodeResult("double", { timeout: "10s" })).toBe(8);
  expect(await handle.node("double")).toMatchObject({
    path: "double",
    kind: "activity",
    status: "completed",
    attempts: 1,
  });
  expect(await handle.node("broken")).toBeUndefined();
  await expect(handle.nodeResult("broken", { timeout: 0 })).rejects.toMatchObject({
    code: "TIMEOUT",
  });
  await handle.raise("go", "on");
  const error = await handle.nodeResult("broken", { timeout: "10s" }).catch((e: unknown) => e);
  expect(error).toBeInstanceOf(ActivityError);
  expect(error).toMatchObject({ cause: { message: "out of range" } });
  const answer = await (await call("viewer", "GET", "/instances/f/flow")).json();
  expect(answer).toMatchObject({ definition: { name: "doubling" } });
});
