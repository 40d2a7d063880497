// Readers of streams: their bounds, their end, and what they share.

import { expect } from "vitest";
import { activity, event, orchestration, type Handle, type Provider } from "../../../src/index.ts";
import { stream, type StreamEntry } from "../../../src/stream/index.ts";
import { scenario } from "../support/scenario.ts";
import type { World } from "../support/world.ts";

const numbers = stream<number>("numbers");

const writes = event<number>("write");

/** Writes as many numbers as each event "write" says. Ends with the event "end". */
const main = orchestration("main", async (ctx) => {
  let next = 0;
  for await (const count of ctx.events(writes)) {
    if (count === 0) return;
    for (let left = count; left > 0; left--) ctx.stream(numbers).write(next++);
  }
});

async function started(t: World, counts: readonly number[]): Promise<Handle> {
  const handle = await t.client.start(main, undefined, { id: "i" });
  for (const count of counts) {
    await handle.raise("write", count);
    await t.settle();
  }
  return handle;
}

function values(entries: readonly StreamEntry<number>[]): unknown[] {
  return entries.map((entry) => (entry.kind === "item" ? entry.value : entry.kind));
}

scenario("a reader begins at any offset, waits beyond the end, and ends with the instance", {
  register: [main],
  run: async (t) => {
    const handle = await started(t, [3, 2]);
    const from = async (offset: number): Promise<unknown[]> =>
      values(await Array.fromAsync(handle.stream(numbers, { from: offset })));
    const reads = [0, 2, 4, 5, 7, 8].map(from);
    const beyond = expect(from(9)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message:
        'Stream "numbers" of instance "i" is over; from must be a whole number from 0 to 8; got 9.',
    });
    await t.settle();
    await handle.raise("write", 3);
    await t.settle();
    await handle.raise("write", 0);
    await t.settle();
    await beyond;
    expect(await Promise.all(reads)).toEqual([
      [0, 1, 2, 3, 4, 5, 6, 7, "end"],
      [2, 3, 4, 5, 6, 7, "end"],
      [4, 5, 6, 7, "end"],
      [5, 6, 7, "end"],
      [7, "end"],
      ["end"],
    ]);
    await expect(from(9)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(handle.stream("other", { from: 1 }).next()).rejects.toMatchObject({
      message: 'Stream "other" of instance "i" is over; from must be 0; got 1.',
    });
    expect((await handle.stream("other").next()).value).toEqual({ kind: "end" });
  },
});

scenario("a trimmed stream begins later, and a reader that was overtaken learns where", {
  register: [main],
  run: async (t) => {
    const handle = await started(t, [3, 3]);
    const slow = handle.stream(numbers);
    expect((await slow.next()).value).toMatchObject({ offset: 0 });
    const later = handle.stream(numbers, { from: 1 });
    await handle.trim(numbers, { before: 4 });
    expect(await handle.streams()).toMatchObject([{ name: "numbers", first: 4, next: 6 }]);
    const message =
      'The entries of stream "numbers" of instance "i" before offset 4 are trimmed; from must be at least 4; got';
    await expect(later.next()).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: `${message} 1.`,
    });
    const left = handle.stream(numbers);
    expect((await left.next()).value).toMatchObject({ offset: 4, value: 4 });
    await handle.trim(numbers, { before: 100 });
    await handle.trim(numbers, { before: 2 });
    expect(await handle.streams()).toMatchObject([{ first: 6, next: 6 }]);
    await handle.raise("write", 0);
    await t.settle();
    expect(values(await Array.fromAsync(handle.stream(numbers)))).toEqual(["end"]);
    await slow.return();
    await left.return();
  },
});

scenario("a reader of an instance that is deleted, or started again, ends with an error", {
  register: [main],
  run: async (t) => {
    const handle = await started(t, [2]);
    const waiting = handle.stream(numbers, { from: 2 });
    const next = expect(waiting.next()).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
    const slow = handle.stream(numbers, { from: 1 });
    expect((await slow.next()).value).toMatchObject({ value: 1 });
    await t.settle();
    await t.client.delete("i", { force: true });
    await t.settle();
    await next;
    await expect(handle.stream(numbers).next()).rejects.toMatchObject({
      code: "INSTANCE_NOT_FOUND",
    });
    await expect(handle.stream(numbers).ready()).rejects.toMatchObject({
      code: "INSTANCE_NOT_FOUND",
    });
    await expect(handle.streams()).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
    await expect(handle.trim(numbers, { before: 1 })).rejects.toMatchObject({
      code: "INSTANCE_NOT_FOUND",
    });
    const again = await started(t, [4]);
    const fresh = again.stream(numbers);
    expect((await fresh.next()).value).toMatchObject({ offset: 0, value: 0 });
    await expect(slow.next()).rejects.toMatchObject({ code: "INSTANCE_NOT_FOUND" });
    await fresh.return();
    await again.raise("write", 0);
  },
});

scenario("a signal and return end a read that waits, and a later reader goes on", {
  register: [main],
  run: async (t) => {
    const handle = await started(t, [1]);
    const stop = new AbortController();
    const aborted = handle.stream(numbers, { from: 1, signal: stop.signal });
    const returned = handle.stream(numbers, { from: 1 });
    const [first, second] = [aborted.next(), returned.next()];
    await t.settle();
    const reason = new Error("enough");
    stop.abort(reason);
    await expect(first).rejects.toBe(reason);
    await expect(aborted.next())
      .resolves.toEqual({ done: true, value: undefined })
      .catch(() => 0);
    expect(await returned.return()).toEqual({ done: true, value: undefined });
    expect(await second).toEqual({ done: true, value: undefined });
    expect(await returned.next()).toEqual({ done: true, value: undefined });
    await expect(handle.stream(numbers, { signal: stop.signal }).next()).rejects.toBe(reason);
    const reader = handle.stream(numbers, { from: 1 });
    const next = reader.next();
    await handle.raise("write", 1);
    expect((await t.during(next)).value).toMatchObject({ offset: 1, value: 1 });
    for await (const { kind } of handle.stream(numbers)) if (kind === "item") break;
    await reader.return();
    await handle.raise("write", 0);
  },
});

scenario("invalid options are refused before anything is read", {
  register: [main],
  run: async (t) => {
    const handle = t.client.get("none");
    for (const options of [
      { from: -1 },
      { from: 0.5 },
      { from: "0" },
      { settled: "yes" },
      { signal: {} },
      { until: 3 },
      null,
    ]) {
      expect(() => handle.stream(numbers, options as never)).toThrow(
        expect.objectContaining({ code: "INVALID_ARGUMENT" }),
      );
    }
    for (const name of ["", "perdure.x", 5, {}, null, activity("a", async () => 1)]) {
      expect(() => handle.stream(name as never)).toThrow(
        expect.objectContaining({ code: "INVALID_ARGUMENT" }),
      );
    }
    for (const options of [{}, { before: -1 }, { before: "3" }, { after: 1 }, undefined]) {
      await expect(handle.trim(numbers, options as never)).rejects.toMatchObject({
        code: "INVALID_ARGUMENT",
      });
    }
  },
});

/** Counts the reads of streams. */
function countReads(store: Provider): { count: number } {
  const reads = { count: 0 };
  const read = store.readStream.bind(store);
  store.readStream = (request) => {
    reads.count++;
    return read(request);
  };
  return reads;
}

scenario("a thousand readers of one stream read the store about as often as one", {
  register: [main],
  run: async (t) => {
    const handle = await started(t, [3]);
    const reads = countReads(t.store);
    const readers = Array.from({ length: 1_000 }, () => handle.stream(numbers, { from: 3 }));
    const firsts = readers.map((reader) => reader.next());
    await t.settle();
    expect(reads.count).toBeLessThanOrEqual(1_000); // each reader's first read is its own at most
    reads.count = 0;
    await handle.raise("write", 1);
    await t.settle();
    for (const { value } of await Promise.all(firsts)) {
      expect(value).toMatchObject({ offset: 3, value: 3 });
    }
    expect(reads.count).toBeLessThanOrEqual(4); // the turn wakes them by its entries and its end
    reads.count = 0;
    const seconds = readers.map((reader) => reader.next());
    await handle.raise("write", 0);
    await t.settle();
    for (const { value } of await Promise.all(seconds)) expect(value).toEqual({ kind: "end" });
    expect(reads.count).toBeLessThanOrEqual(6);
  },
});
