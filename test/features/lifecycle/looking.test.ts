// Reading an instance as a client: parts of its history, watches, waits for keys, unread events.

import { expect, onTestFinished, test } from "vitest";
import { Client, orchestration, Perdure } from "../../../src/index.ts";
import { freshStore } from "../../support/test-store.ts";
import { double, go, open, untilWaiting, worker } from "./support.ts";

test("history returns the events after a sequence, up to a limit", async () => {
  const perdure = await open();
  const handle = await perdure.client.start(worker, 3, { id: "w" });
  await untilWaiting(perdure, "w");
  const all = await handle.history();
  expect(all.length).toBeGreaterThan(5);
  expect(await handle.history({ after: 2 })).toEqual(all.slice(2));
  expect(await handle.history({ after: 1, limit: 3 })).toEqual(all.slice(1, 4));
  expect(await handle.history({ limit: 1 })).toEqual(all.slice(0, 1));
  expect(await handle.history({ after: all.length })).toEqual([]);
  expect(await handle.history({ limit: 0 })).toEqual([]);
  for (const options of [{ after: -1 }, { after: 0.5 }, { limit: -1 }, { limit: NaN }]) {
    await expect(handle.history(options)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  }
});

test("an aborted signal ends a watch of an idle instance", async () => {
  const { client } = await open();
  const handle = await client.start("unregistered", undefined, { id: "n" });
  const leaving = new AbortController();
  const states = handle.watch({ signal: leaving.signal });
  expect((await states.next()).value).toMatchObject({ status: "pending" });
  const next = states.next();
  leaving.abort(new Error("enough seen"));
  await expect(next).rejects.toThrow("enough seen");
  expect((await states.next()).done).toBe(true);
  await expect(handle.watch({ signal: leaving.signal }).next()).rejects.toThrow("enough seen");
});

test("waiting for a key ends with its signal or with its timeout", async () => {
  const { client } = await open();
  const { kv } = await client.start("unregistered", undefined, { id: "n" });
  const signal = AbortSignal.abort(new Error("enough waited"));
  await expect(kv.waitFor("k", { signal })).rejects.toThrow("enough waited");
  await expect(kv.waitFor("k", { timeout: 0 })).rejects.toMatchObject({ code: "TIMEOUT" });
  await expect(client.get("none").kv.waitFor("k")).rejects.toMatchObject({
    code: "INSTANCE_NOT_FOUND",
  });
});

test("the error of a terminated instance names the client that terminated it", async () => {
  const perdure = await open();
  const handle = await perdure.client.start(worker, 3, { id: "w" });
  await untilWaiting(perdure, "w");
  await handle.terminate({ reason: "enough", by: "ada" });
  await expect(handle.result()).rejects.toMatchObject({
    kind: "terminated",
    message: "terminated: enough",
    cause: { by: "ada" },
  });
});

test("describe returns a consistent snapshot even if the instance continues during the read", async () => {
  const provider = await freshStore();
  const perdure = await Perdure.open(provider, {
    register: [worker, double],
    runtime: { log: () => undefined },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  const handle = await perdure.client.start(worker, 1, { id: "w" });
  await untilWaiting(perdure, "w");
  const before = await handle.describe();
  const readInstance = provider.readInstance.bind(provider);
  provider.readInstance = async (id) => {
    const record = await readInstance(id);
    provider.readInstance = readInstance;
    await handle.raise(go, "on");
    await handle.result(); // the instance has ended, but the row read before shows it as running
    return record;
  };
  expect(await handle.describe()).toEqual(before);
  expect(await handle.describe()).toMatchObject({ status: "completed", waitingFor: [] });
});

test("unread() does not list an event that the instance takes during the read", async () => {
  const provider = await freshStore();
  const perdure = await Perdure.open(provider, {
    register: [worker, double],
    runtime: { log: () => undefined },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  const handle = await perdure.client.start(worker, 1, { id: "w" });
  await untilWaiting(perdure, "w");
  await handle.pause("inspection");
  await handle.raise(go, "on");
  await handle.raise(go, "and on");
  expect((await handle.unread()).items).toHaveLength(2);
  const readEvents = provider.readEvents.bind(provider);
  provider.readEvents = async (request) => {
    const inbox = await readEvents(request);
    provider.readEvents = readEvents;
    await handle.resume();
    await handle.result(); // the instance has taken the first event, but the inbox read before has both
    return inbox;
  };
  expect((await handle.unread()).items).toEqual([{ name: "go", data: "and on" }]);
});

test("pages of unread events list the events in the history first, then those in the inbox", async () => {
  const provider = await freshStore();
  const waits = orchestration("waits", async (ctx) => {
    await ctx.waitFor("first");
    await ctx.waitFor("second");
  });
  const perdure = await Perdure.open(provider, {
    register: [waits],
    runtime: { log: () => undefined },
  });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  const handle = await perdure.client.start(waits, undefined, { id: "w" });
  for (let n = 0; n < 3; n++) await handle.raise("other", n);
  await handle.raise("first");
  await expect
    .poll(async () => (await handle.describe()).waitingFor[0])
    .toMatchObject({
      name: "second",
    });
  await handle.pause("inspection");
  for (let n = 3; n < 6; n++) await handle.raise("other", n);
  const seen: unknown[] = [];
  const cursors: string[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await handle.unread({ limit: 2, ...(cursor === undefined ? {} : { cursor }) });
    expect(page.items.length).toBeLessThanOrEqual(2);
    seen.push(...page.items.map(({ data }) => data));
    cursor = page.cursor;
    if (cursor === undefined) break;
    cursors.push(cursor);
  }
  expect(seen).toEqual([0, 1, 2, 3, 4, 5]);
  expect(cursors).toHaveLength(2);
  const refusal = { code: "INVALID_ARGUMENT" };
  await expect(handle.unread({ limit: 0 })).rejects.toMatchObject(refusal);
  await expect(handle.unread({ cursor: "x" })).rejects.toMatchObject(refusal);
});

test("a page of unread events ends at 4 MB", async () => {
  const provider = await freshStore();
  const client = new Client(provider);
  const handle = await client.start("unregistered", undefined, { id: "u" });
  for (let n = 0; n < 5; n++) await handle.raise("big", "x".repeat(1_500_000));
  const first = await handle.unread();
  expect(first.items).toHaveLength(2);
  const { cursor } = first;
  expect((await handle.unread(cursor === undefined ? {} : { cursor })).items).toHaveLength(2);
});
