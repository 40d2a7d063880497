// Stream hubs: which reads readers share, what is cached, and that nothing is left behind (stream-hub.1 to 3).

import { expect, onTestFinished, test } from "vitest";
import { Client, orchestration, Perdure, type Provider } from "../../../../src/index.ts";
import { SqliteProvider } from "../../../../src/sqlite/index.ts";
import { stream } from "../../../../src/stream/index.ts";

const texts = stream<string>("texts");
const main = orchestration(
  "main",
  async (ctx, { count, size }: { count: number; size: number }) => {
    for (let number = 0; number < count; number++) {
      if (number % 50 === 0) await ctx.sleep(0);
      ctx.stream(texts).write(`${number} ${"x".repeat(size)}`);
    }
  },
);

/** A store with a stream of `count` texts, whose instance has ended. Counts reads and subscriptions. */
async function setup(input: { count: number; size: number }) {
  const store: Provider = await SqliteProvider.open(":memory:");
  onTestFinished(() => store.close());
  const perdure = await Perdure.open(store, {
    register: [main],
    runtime: { log: () => undefined },
  });
  await (await perdure.client.start(main, input, { id: "i" })).result();
  await perdure.close();
  const seen = { reads: [] as number[], listeners: 0 };
  const [read, subscribe] = [store.readStream.bind(store), store.subscribe.bind(store)];
  store.readStream = (request) => {
    seen.reads.push(request.from);
    return read(request);
  };
  store.subscribe = (listener) => {
    seen.listeners++;
    const unsubscribe = subscribe(listener);
    return () => {
      seen.listeners--;
      unsubscribe();
    };
  };
  return { handle: new Client(store).get("i"), seen };
}

test("one reader reads page by page, only as far as it is asked for, and leaves nothing behind", async () => {
  const { handle, seen } = await setup({ count: 1_000, size: 1_000 });
  const reader = handle.stream(texts);
  expect(seen.reads).toEqual([]);
  await reader.next();
  for (let round = 0; round < 20; round++) await new Promise(setImmediate);
  expect(seen.reads).toEqual([0]);
  const rest = await Array.fromAsync(reader);
  expect(rest).toHaveLength(1_000); // 999 items and the end
  expect(seen.reads.length).toBeLessThan(25);
  expect(new Set(seen.reads).size).toBe(seen.reads.length);
  expect(seen.listeners).toBe(0);
});

test("a hundred readers of one stream read each page about once", async () => {
  const { handle, seen } = await setup({ count: 1_000, size: 500 });
  const all = await Promise.all(
    Array.from({ length: 100 }, () => Array.fromAsync(handle.stream(texts))),
  );
  for (const entries of all) expect(entries).toHaveLength(1_001);
  expect(new Set(all.map((entries) => JSON.stringify(entries))).size).toBe(1);
  const firstReads = seen.reads.filter((from) => from === 0).length;
  expect(firstReads).toBeLessThanOrEqual(100);
  expect(seen.reads.length - firstReads).toBeLessThan(40);
  expect(seen.listeners).toBe(0);
});

test("each reader gets separate copies of the values", async () => {
  const { handle } = await setup({ count: 1, size: 1 });
  const [first, second] = [handle.stream<string>("texts"), handle.stream<string>("texts")];
  const [a, b] = [await first.next(), await second.next()];
  expect(a).toEqual(b);
  expect(a.value).not.toBe(b.value);
  await first.return();
  await second.return();
});

test("a reader that is not begun, and one that was only made ready, are freed by return", async () => {
  const { handle, seen } = await setup({ count: 3, size: 1 });
  await handle.stream(texts).return();
  expect(seen.reads).toEqual([]);
  const ready = handle.stream(texts);
  await ready.ready();
  await ready.ready();
  expect([seen.reads.length, seen.listeners]).toEqual([1, 1]);
  await ready.return();
  expect(seen.listeners).toBe(0);
  const stop = new AbortController();
  const aborted = handle.stream(texts, { signal: stop.signal });
  await aborted.next();
  expect(seen.listeners).toBe(1);
  stop.abort();
  expect(seen.listeners).toBe(0); // without a further call
  await expect(aborted.next()).rejects.toMatchObject({ name: "AbortError" });
});
