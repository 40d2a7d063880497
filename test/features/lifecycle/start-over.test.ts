// Restart and fork (semantics 21a, I11), messages for instances that do not exist yet, and starts with events.

import { expect, test } from "vitest";
import { orchestration } from "../../../src/index.ts";
import { go, open, untilChild, untilWaiting, worker } from "./support.ts";

test("restart runs an ended instance again with the same input, as its next execution", async () => {
  const { client } = await open();
  const handle = await client.start(worker, 3, { id: "w" });
  await handle.raise(go, "one");
  expect(await handle.result()).toEqual({ doubled: 6, word: "one" });
  await handle.restart();
  await handle.raise(go, "two");
  expect(await handle.result()).toEqual({ doubled: 6, word: "two" });
  expect((await handle.executions()).map((e) => e.status)).toEqual(["completed", "completed"]);
  expect(await handle.result({ execution: 1 })).toEqual({ doubled: 6, word: "one" });
});

test("restarting a running instance is refused", async () => {
  const perdure = await open();
  const handle = await perdure.client.start(worker, 3, { id: "w" });
  await untilWaiting(perdure, "w");
  await expect(handle.restart()).rejects.toMatchObject({ code: "INSTANCE_RUNNING" });
});

test("a fork continues from the copied history and does not repeat its activities", async () => {
  const perdure = await open();
  const source = await perdure.client.start(worker, 3, { id: "w" });
  await untilWaiting(perdure, "w");
  const history = await source.history();
  const fork = await perdure.client.fork("w", { beforeSequence: history.length + 1, id: "f" });
  await fork.raise(go, "fork");
  expect(await fork.result()).toEqual({ doubled: 6, word: "fork" });
  expect(perdure.runtime.stats().activities.started).toBe(1);
  expect((await source.describe()).status).toBe("running");
  expect(await fork.kv.get("doubled")).toBe(6);
});

test("a fork cut before an outcome runs that activity again", async () => {
  const perdure = await open();
  const source = await perdure.client.start(worker, 3, { id: "w" });
  await untilWaiting(perdure, "w");
  const completed = (await source.history()).find((e) => e.kind === "ActivityCompleted");
  const fork = await perdure.client.fork("w", { beforeSequence: completed?.sequence ?? 0 });
  await fork.raise(go, "again");
  expect(await fork.result()).toEqual({ doubled: 6, word: "again" });
  expect(perdure.runtime.stats().activities.started).toBe(2);
});

test("a fork starts new children and keeps the due time of a timer", async () => {
  const parent = orchestration("parent", async (ctx) => {
    const child = ctx.call(worker, 2);
    await ctx.sleep(5);
    return child;
  });
  const perdure = await open([parent]);
  const source = await perdure.client.start(parent, undefined, { id: "p" });
  await untilChild(perdure, "p");
  await untilWaiting(perdure, "p::sub::2");
  const fork = await perdure.client.fork("p", { beforeSequence: 4, id: "f" });
  await expect.poll(() => perdure.client.get("f::sub::2").exists()).toBe(true);
  await untilWaiting(perdure, "f::sub::2");
  await perdure.client.raise("f::sub::2", "go", "forked child");
  expect(await fork.result()).toEqual({ doubled: 4, word: "forked child" });
  expect((await source.describe()).status).toBe("running");
  expect(await source.tree()).toMatchObject({ id: "p", children: [{ id: "p::sub::2" }] });
});

test("an invalid fork point is refused before anything is written", async () => {
  const perdure = await open();
  await perdure.client.start(worker, 3, { id: "w" });
  await untilWaiting(perdure, "w");
  for (const beforeSequence of [0, 1, 1.5, 999]) {
    const fork = perdure.client.fork("w", { beforeSequence, id: "f" });
    await expect(fork).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  }
  expect(await perdure.client.get("f").exists()).toBe(false);
});

test("a message for an instance that does not exist yet is refused, or kept with ifMissing: keep", async () => {
  const { client } = await open();
  const refused = client.raise("w", "go", "too early");
  await expect(refused).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
  await client.raise("w", "go", "early", { ifMissing: "keep" });
  const handle = await client.start(worker, 1, { id: "w" });
  expect(await handle.result()).toMatchObject({ word: "early" });
});

test("events passed to start are in the mailbox from the first turn, in order", async () => {
  const both = orchestration("both", async (ctx) => [
    await ctx.waitFor("a"),
    await ctx.waitFor("a"),
  ]);
  const { client } = await open([both]);
  const events = [
    { name: "a", data: 1 },
    { name: "a", data: 2 },
  ];
  expect(await (await client.start(both, undefined, { events })).result()).toEqual([1, 2]);
});
