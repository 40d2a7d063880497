// The order of commit groups (committer.1, committer.2, committer.5), observed through the calls that reach the store.

import { expect, test, vi } from "vitest";
import { Committer } from "../../../src/core/commit/committer.ts";
import { Client, job, orchestration, PerdureError } from "../../../src/index.ts";
import { virtualStore } from "./support.ts";
import { wrapProvider } from "./wrapped-provider.ts";

const STARTS = 300;

test("the next group is sent before callers get the results of the last one, and only one group is in flight at a time", async () => {
  const { provider } = await virtualStore();
  const seen: string[] = [];
  let inFlight = 0;
  const wrapped = wrapProvider(provider, {
    isRemote: true,
    async commit(items) {
      inFlight += 1;
      seen.push(`${items.length} sent, ${inFlight} in flight`);
      // Delays the commit, as a connection does that must first be taken from its pool.
      await new Promise<void>((resolve) => provider.environment.immediate(resolve));
      const results = await provider.commit(items);
      inFlight -= 1;
      return results;
    },
  });
  const nothing = orchestration("nothing", () => Promise.resolve());
  const client = new Client(wrapped);
  const started = Array.from({ length: STARTS }, async (_, index) => {
    await client.start(nothing, undefined, { id: `start-${index}` });
    if (index === 0) seen.push("the first caller has its result");
  });
  await Promise.all(started);
  expect(seen).toEqual([
    "256 sent, 1 in flight",
    "44 sent, 1 in flight",
    "the first caller has its result",
  ]);
});

test("results arrive in the order of their groups, however quickly the second group commits", async () => {
  const { provider } = await virtualStore();
  const wrapped = wrapProvider(provider, { isRemote: true });
  const nothing = orchestration("nothing", () => Promise.resolve());
  const client = new Client(wrapped);
  const answered: number[] = [];
  const started = Array.from({ length: 3 * STARTS }, async (_, index) => {
    await client.start(nothing, undefined, { id: `start-${index}` });
    answered.push(index);
  });
  await Promise.all(started);
  expect(answered).toEqual(answered.toSorted((a, b) => a - b));
});

test("a store that has written a group gets the next one before the first is on disk, and callers wait for the disk", async () => {
  const { provider } = await virtualStore();
  const seen: string[] = [];
  const onDisk: (() => void)[] = [];
  const wrapped = wrapProvider(provider, {
    async commit(items, onWritten) {
      seen.push(`${items.length} sent`);
      const results = await provider.commit(items);
      onWritten?.();
      await new Promise<void>((resolve) => void onDisk.push(resolve));
      return results;
    },
  });
  const nothing = orchestration("nothing", () => Promise.resolve());
  const client = new Client(wrapped);
  const committer = Committer.of(wrapped);
  let answered = 0;
  const started = Array.from({ length: STARTS }, async (_, index) => {
    await client.start(nothing, undefined, { id: `start-${index}` });
    answered += 1;
  });
  await vi.waitFor(() => expect(seen).toEqual(["256 sent", "44 sent"]));
  expect(answered).toBe(0);
  expect(committer.isIdle).toBe(false);
  onDisk.shift()?.();
  await vi.waitFor(() => expect(answered).toBe(256));
  expect(committer.isIdle).toBe(false);
  onDisk.shift()?.();
  await Promise.all(started);
  await vi.waitFor(() => expect(committer.isIdle).toBe(true));
});

/** A remote store whose bulk commits wait for the test. */
async function storeWithGatedChunks() {
  const { provider } = await virtualStore();
  const chunks: ((answer: "write" | "error") => void)[] = [];
  const wrapped = wrapProvider(provider, {
    isRemote: true,
    async commit(items) {
      if (items[0]?.kind !== "enqueueMany") return provider.commit(items);
      const answer = await new Promise<string>((resolve) => void chunks.push(resolve));
      if (answer === "write") return provider.commit(items);
      return [{ kind: "error", error: new PerdureError("HISTORY_CORRUPT", "damaged") }];
    },
  });
  return { client: new Client(wrapped), committer: Committer.of(wrapped), chunks };
}

const noop = job("noop", (_: number) => undefined);
const items = Array.from({ length: 3_000 }, (_, index) => index);

test("two chunks of jobs with generated ids are in flight, and other items do not wait for them", async () => {
  const { client, committer, chunks } = await storeWithGatedChunks();
  const enqueued = client.enqueueMany(noop, items);
  await vi.waitFor(() => expect(chunks).toHaveLength(2));
  expect((await client.enqueue(noop, 1, { id: "one" })).id).toBe("one");
  expect(committer.isIdle).toBe(false);
  chunks[0]?.("write");
  await vi.waitFor(() => expect(chunks).toHaveLength(3));
  for (const chunk of chunks) chunk("write");
  const ids = await enqueued;
  expect(new Set(ids).size).toBe(3_000);
  expect((await client.get(ids[2_999] ?? "").describe()).id).toBe(ids[2_999]);
  await vi.waitFor(() => expect(committer.isIdle).toBe(true));
});

test("a bulk call that fails returns when all chunks that it sent have ended, and sends no more", async () => {
  const { client, chunks } = await storeWithGatedChunks();
  let isOver = false;
  const enqueued = client.enqueueMany(noop, items).finally(() => (isOver = true));
  enqueued.catch(() => undefined);
  await vi.waitFor(() => expect(chunks).toHaveLength(2));
  chunks[0]?.("error");
  await client.enqueue(noop, 1); // several macrotasks
  expect(isOver).toBe(false);
  chunks[1]?.("write");
  await expect(enqueued).rejects.toThrow("damaged");
  expect(chunks).toHaveLength(2);
});

test("chunks with ids of the caller are sent one after the other", async () => {
  const { client, chunks } = await storeWithGatedChunks();
  const named = items.map((input) => ({ input, id: `job-${input}` }));
  const enqueued = client.enqueueMany(noop, named);
  await vi.waitFor(() => expect(chunks).toHaveLength(1));
  for (let round = 0; round < 100; round++) await new Promise(setImmediate); // the second chunk is made
  chunks[0]?.("error");
  await expect(enqueued).rejects.toThrow("damaged");
  expect(chunks).toHaveLength(1);
});
