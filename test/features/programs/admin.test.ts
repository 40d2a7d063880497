// Administration: lists, statistics, histories, trees, deleting and pruning; versions that the caller names.

import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { activity, orchestration, type Client, type Handle } from "../../../src/index.ts";
import { failureOf, isWaitingFor, open, state } from "./support.ts";

const double = activity("double", async (n: number) => n * 2);
const echo = orchestration("echo", async (ctx, n: number) => {
  ctx.kv.set("seen", n);
  return ctx.run(double, n);
});
const waits = orchestration("waits", (ctx) => ctx.waitFor("go"));
const rounds = orchestration("rounds", async (ctx, left: number): Promise<string> => {
  if (left === 0) return "done";
  await ctx.run(double, left);
  return ctx.continueAsNew(left - 1);
});
const register = [echo, waits, rounds, double];

async function ended(client: Client, id: string, left = 0): Promise<Handle> {
  const handle = await client.start(rounds, left, { id });
  await handle.result();
  return handle;
}

test("list returns every started instance, newest first", async () => {
  const { client } = await open(register);
  for (const id of ["a", "b", "c"]) await client.start(waits, undefined, { id });
  const { items, cursor } = await client.list();
  expect(items.map(({ id }) => id)).toEqual(["c", "b", "a"]);
  expect(cursor).toBeUndefined();
  expect(await client.count()).toBe(3);
});

test("list filters by status and returns pages", async () => {
  const { client } = await open(register);
  for (let number = 0; number < 5; number++) await ended(client, `done-${number}`);
  await state(await client.start(waits), isWaitingFor("event"));
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const options = {
      limit: 2,
      order: "oldest",
      ...(cursor === undefined ? {} : { cursor }),
    } as const;
    const page = await client.list({ status: "completed" }, options);
    pages.push(page.items.map(({ id }) => id));
    cursor = page.cursor;
  } while (cursor !== undefined);
  expect(pages.flat()).toEqual(["done-0", "done-1", "done-2", "done-3", "done-4"]);
  expect(pages[0]).toHaveLength(2);
  expect(await client.count({ status: ["running"] })).toBe(1);
});

test("stats counts the events and key-values of an instance", async () => {
  const { client } = await open(register);
  const handle = await client.start(echo, 4);
  await handle.result();
  expect(await handle.stats()).toMatchObject({ events: 5, unread: 0, keys: 1, keyBytes: 1 });
});

test("every read of an unknown instance throws INSTANCE_NOT_FOUND", async () => {
  const { client } = await open(register);
  const handle = client.get("unknown");
  expect(await handle.exists()).toBe(false);
  const reads = [
    ...[handle.describe(), handle.stats(), handle.history(), handle.executions()],
    ...[handle.tree(), handle.unread()],
  ];
  for (const read of reads) {
    expect(await failureOf(read)).toMatchObject({ code: "INSTANCE_NOT_FOUND" });
  }
});

test("describe returns name, version, times, attributes and output", async () => {
  const { client } = await open(register);
  const before = Date.now() - 1_000;
  const handle = await client.start(echo, 21, { id: "x", attributes: { customer: "42" } });
  await handle.result();
  const info = await handle.describe();
  expect(info).toMatchObject({
    id: "x",
    name: "echo",
    version: "1.0.0",
    status: "completed",
    execution: 1,
    output: 42,
    attributes: { customer: "42" },
    waitingFor: [],
  });
  for (const time of [info.createdAt, info.updatedAt, info.completedAt]) {
    expect(time?.getTime()).toBeGreaterThan(before);
  }
  const { items } = await client.list({ attributes: { customer: "42" } });
  expect(items.map(({ id }) => id)).toEqual(["x"]);
});

test("updatedAt changes with every change of the instance", async () => {
  const { client } = await open(register);
  const handle = await client.start(waits);
  const before = await state(handle, isWaitingFor("event"));
  await pause(5);
  await handle.raise("go");
  await handle.result();
  const after = await handle.describe();
  expect(after.createdAt).toEqual(before.createdAt);
  expect(after.updatedAt.getTime()).toBeGreaterThan(before.updatedAt.getTime());
  expect(after.completedAt).toEqual(after.updatedAt);
});

test("executions lists each execution with its status, times and number of events", async () => {
  const { client } = await open(register);
  const handle = await ended(client, "r", 2);
  const executions = await handle.executions();
  expect(executions).toMatchObject([
    { execution: 1, status: "continuedAsNew", events: 4 },
    { execution: 2, status: "continuedAsNew", events: 4 },
    { execution: 3, status: "completed", events: 2 },
  ]);
  for (const { startedAt, completedAt } of executions) {
    expect(completedAt?.getTime()).toBeGreaterThanOrEqual(startedAt.getTime());
    expect(startedAt.getTime()).toBeGreaterThan(0);
  }
});

test("history reads the events of a given execution", async () => {
  const { client } = await open(register);
  const handle = await ended(client, "r", 1);
  const kinds = async (execution: number) =>
    (await handle.history({ execution })).map(({ kind }) => kind);
  expect(await kinds(1)).toEqual([
    "OrchestrationStarted",
    "ActivityScheduled",
    "ActivityCompleted",
    "OrchestrationContinuedAsNew",
  ]);
  expect(await kinds(2)).toEqual(["OrchestrationStarted", "OrchestrationCompleted"]);
});

test("history events contain names, inputs, results, statuses and key-values", async () => {
  const reporter = orchestration("reporter", async (ctx, n: number) => {
    ctx.setStatus("working");
    ctx.kv.set("n", n);
    await ctx.waitFor("go");
    return ctx.run(double, n);
  });
  const { client } = await open([reporter, double]);
  const handle = await client.start(reporter, 4);
  await handle.raise("go", { why: "now" });
  await handle.result();
  const history = await handle.history();
  const one = (kind: string) => history.find((event) => event.kind === kind);
  expect(one("OrchestrationStarted")).toMatchObject({ name: "reporter", input: "4" });
  expect(one("StatusSet")).toMatchObject({ status: '"working"' });
  expect(one("KeyValueSet")).toMatchObject({ key: "n", value: "4" });
  expect(one("EventReceived")).toMatchObject({ name: "go", data: '{"why":"now"}' });
  expect(one("ActivityScheduled")).toMatchObject({ name: "double", input: "4" });
  expect(one("ActivityCompleted")).toMatchObject({ output: "8", attempts: 1 });
  expect(one("OrchestrationCompleted")).toMatchObject({ output: "8" });
});

test("tree shows a parent and its children with their statuses", async () => {
  const parent = orchestration("parent", (ctx) =>
    ctx.all([ctx.call(echo, 1, { id: "kid-1" }), ctx.call(waits, undefined, { id: "kid-2" })]),
  );
  const { client } = await open([...register, parent]);
  const handle = await client.start(parent, undefined, { id: "root" });
  await client.get("root").exists();
  await state(handle, isWaitingFor("child"));
  await client.get(echo, "kid-1").result();
  await state(client.get("kid-2"), isWaitingFor("event"));
  const tree = await handle.tree();
  expect(tree).toMatchObject({ id: "root", status: "running" });
  expect([...tree.children].sort((a, b) => (a.id < b.id ? -1 : 1))).toMatchObject([
    { id: "kid-1", status: "completed", children: [] },
    { id: "kid-2", status: "running", children: [] },
  ]);
});

test("delete removes an ended instance with all of its data", async () => {
  const { client } = await open(register);
  const handle = await client.start(echo, 1, { id: "gone" });
  await handle.result();
  expect(await client.delete("gone")).toMatchObject({ instances: 1, executions: 1, events: 5 });
  expect(await handle.exists()).toBe(false);
  expect(await handle.kv.get("seen")).toBeUndefined();
  await client.start(echo, 2, { id: "gone" }); // the id is free again
});

test("delete refuses a running instance without force", async () => {
  const { client } = await open(register);
  const handle = await client.start(waits);
  await state(handle, isWaitingFor("event"));
  expect(await failureOf(client.delete(handle.id))).toMatchObject({ code: "INSTANCE_RUNNING" });
  await client.delete(handle.id, { force: true });
  expect(await handle.exists()).toBe(false);
});

test("deleteMany deletes instances by their ids and keeps running ones", async () => {
  const { client } = await open(register);
  for (const id of ["a", "b", "c"]) await ended(client, id);
  await state(await client.start(waits, undefined, { id: "live" }), isWaitingFor("event"));
  expect(await client.deleteMany({ ids: ["a", "b", "live"] })).toMatchObject({ instances: 2 });
  const { items } = await client.list({}, { order: "oldest" });
  expect(items.map(({ id }) => id)).toEqual(["c", "live"]);
});

test("prune removes old executions and keeps the newest ones", async () => {
  const { client } = await open(register);
  const handle = await ended(client, "r", 4);
  expect(await client.prune("r", { keepLast: 2 })).toMatchObject({ instances: 0, executions: 3 });
  expect((await handle.executions()).map(({ execution }) => execution)).toEqual([4, 5]);
  expect(await handle.result()).toBe("done");
});

test("pruneMany prunes executions of many instances at once", async () => {
  const { client } = await open(register);
  for (const id of ["a", "b"]) await ended(client, id, 3);
  await ended(client, "other", 3);
  const removed = await client.pruneMany({ ids: ["a", "b"] }, { keepLast: 1 });
  expect(removed).toMatchObject({ instances: 0, executions: 6 });
  expect(await client.get("other").executions()).toHaveLength(4);
});

const child = (version: string) =>
  orchestration("child", async (ctx, name: string) => `${name} on ${ctx.info.version}`, {
    version,
  });

test("ctx.call can call a named version of a child", async () => {
  const main = orchestration("main", (ctx) => ctx.call("child", "x", { version: "1.1.0" }));
  const { client } = await open([main, child("1.0.0"), child("1.1.0"), child("2.0.0")]);
  expect(await (await client.start(main)).result()).toBe("x on 1.1.0");
});

test("ctx.startDetached can start a named version", async () => {
  const main = orchestration("main", async (ctx) =>
    ctx.startDetached("child", "y", { id: "aside", version: "1.0.0" }),
  );
  const { client } = await open([main, child("1.0.0"), child("2.0.0")]);
  await (await client.start(main)).result();
  expect(await client.get("aside").result()).toBe("y on 1.0.0");
});

test("continueAsNew can continue with a named version", async () => {
  const make = (version: string) =>
    orchestration(
      "next",
      async (ctx, first: boolean): Promise<string> =>
        first ? ctx.continueAsNew(false, { version: "1.5.0" }) : ctx.info.version,
      { version },
    );
  const { client } = await open([make("1.0.0"), make("1.5.0"), make("2.0.0")]);
  const handle = await client.start("next", true, { version: "1.0.0" });
  expect(await handle.result()).toBe("1.5.0");
});

test("metrics, queues and runtimes summarise the whole store", async () => {
  const { client } = await open(register);
  await ended(client, "r", 2);
  await state(await client.start(waits), isWaitingFor("event"));
  expect(await client.metrics()).toMatchObject({
    instances: { completed: 1, running: 1, failed: 0 },
    executions: 4,
    events: 12,
    waitingTasks: 0,
  });
  expect(await client.queues()).toEqual([]);
  const [runtime] = await client.runtimes();
  expect(runtime).toMatchObject({ pid: process.pid, load: { tasks: 0 } });
});
