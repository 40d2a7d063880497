// The order of commit groups (committer.1, committer.2, committer.5), observed through the calls that reach the store.

import { expect, test, vi } from "vitest";
import { Committer } from "../../../src/core/commit/committer.ts";
import { Client, orchestration } from "../../../src/index.ts";
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
