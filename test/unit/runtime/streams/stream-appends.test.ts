// Appends of activities: gathering, order, back-pressure and refusals (attempt-streams.1 to 3, stream-appends.1).

import { expect, test } from "vitest";
import type { AppendItem, AppendResult } from "../../../../src/core/provider/streams.ts";
import type { LeasedTask } from "../../../../src/core/provider/tasks.ts";
import { StreamAppends } from "../../../../src/runtime/streams/stream-appends.ts";
import { VirtualEnvironment } from "../../../../src/testing/virtual-environment.ts";

const DONE = { kind: "done" } as const;
const task = { key: 1, execution: 1, sequence: 2, token: "t" } as unknown as LeasedTask;

function setup() {
  const environment = new VirtualEnvironment();
  const sent: { item: AppendItem; answer: (result: AppendResult | Error) => Promise<void> }[] = [];
  const lost: unknown[] = [];
  const counted: number[] = [];
  const submit = (item: AppendItem): Promise<AppendResult> => {
    const { promise, resolve, reject } = Promise.withResolvers<AppendResult>();
    const answer = async (result: AppendResult | Error): Promise<void> => {
      if (result instanceof Error) reject(result);
      else resolve(result);
      await environment.settle();
    };
    sent.push({ item, answer });
    return promise;
  };
  const appends = new StreamAppends({
    committer: { submit: submit as never },
    environment,
    onLost: (claim) => void lost.push(claim),
    telemetry: { streamItems: ({ count }) => void counted.push(count) },
  });
  const attempt = { task, isOver: false };
  return { environment, sent, lost, counted, attempt, streams: appends.streamsOf(attempt) };
}

const values = (sent: readonly { readonly item: AppendItem }[]): unknown[] =>
  sent.map(({ item }) => [item.position, ...item.values]);

test("after a pause a value is sent at once; what follows gathers for 25 ms", async () => {
  const { environment, sent, streams, counted } = setup();
  expect(streams.append("s", "a")).toBeNull();
  await environment.advance(0);
  await sent[0]?.answer(DONE);
  void streams.append("s", "b");
  void streams.append("s", "c");
  await environment.advance(24);
  expect(values(sent)).toEqual([[0, "a"]]);
  await environment.advance(1);
  expect(values(sent)).toEqual([
    [0, "a"],
    [1, "b", "c"],
  ]);
  await sent[1]?.answer(DONE);
  expect(counted).toEqual([1, 2]);
});

test("a stream has one append in flight; what comes meanwhile follows it", async () => {
  const { environment, sent, streams } = setup();
  void streams.append("s", "a");
  await environment.advance(0);
  void streams.append("s", "b");
  void streams.append("other", "x");
  await environment.advance(100);
  expect(sent.map(({ item }) => item.name)).toEqual(["s", "other"]);
  await sent[0]?.answer(DONE);
  await environment.advance(25);
  expect(sent.at(-1)?.item).toMatchObject({ name: "s", position: 1, values: ["b"] });
  expect(new Set(sent.map(({ item }) => item.run)).size).toBe(1);
});

test("64 KiB are sent at once, in appends of at most 64 KiB", async () => {
  const { environment, sent, streams } = setup();
  const large = "x".repeat(40_000);
  void streams.append("s", "first");
  await environment.advance(0);
  await sent[0]?.answer(DONE);
  for (let count = 0; count < 3; count++) void streams.append("s", large);
  expect(sent.map(({ item }) => item.values.length)).toEqual([1, 1]);
  await sent[1]?.answer(DONE);
  expect(sent.map(({ item }) => item.values.length)).toEqual([1, 1, 1]);
});

test("writers wait while more than 256 KiB are unwritten, and go on when half of them are written", async () => {
  const { environment, sent, streams } = setup();
  const value = "x".repeat(30_000);
  let full: Promise<void> | null = null;
  let count = 0;
  while (full === null) {
    full = streams.append("s", value);
    count++;
  }
  expect(count).toBe(9); // 270,000 characters
  expect(streams.hasCapacity("s")).toBe(false);
  expect(streams.hasCapacity("other")).toBe(true);
  let isFree = false;
  void full.then(() => (isFree = true));
  for (let answered = 0; !isFree; answered++) {
    expect(answered).toBeLessThan(sent.length);
    await sent[answered]?.answer(DONE);
    await environment.settle();
  }
  const written = sent.slice(0, -1).reduce((sum, { item }) => sum + item.values.length, 0);
  expect((count - written) * value.length).toBeLessThanOrEqual(128 * 1024);
  expect(streams.hasCapacity("s")).toBe(true);
});

test("flush sends at once and resolves when everything is written", async () => {
  const { environment, sent, streams } = setup();
  void streams.append("s", "a");
  await environment.advance(0);
  void streams.append("s", "b");
  let isFlushed = false;
  void streams.flush("s").then(() => (isFlushed = true));
  await sent[0]?.answer(DONE);
  expect([isFlushed, sent.length]).toEqual([false, 2]);
  await sent[1]?.answer(DONE);
  expect(isFlushed).toBe(true);
  await streams.flush("s");
  await streams.flush("never written");
  expect(streams.written).toBe(2);
});

test("a refusal ends all writes to the stream, and a lost lease the attempt", async () => {
  const { environment, sent, lost, streams } = setup();
  void streams.append("s", "a");
  await environment.advance(0);
  void streams.append("s", "b");
  const flushed = expect(streams.flush("s")).rejects.toMatchObject({ code: "LEASE_LOST" });
  await sent[0]?.answer({ kind: "refused", code: "LEASE_LOST" });
  await flushed;
  await expect(streams.append("s", "c")).rejects.toMatchObject({ code: "LEASE_LOST" });
  expect([lost, sent.length, streams.written]).toEqual([[task], 1, 0]);
  void streams.append("closed", "a");
  await environment.advance(25);
  await sent[1]?.answer({ kind: "refused", code: "STREAM_CLOSED" });
  await expect(streams.append("closed", "b")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(lost).toHaveLength(1);
});

test("an attempt that is over writes nothing; an error of the store reaches its writers", async () => {
  const { environment, sent, attempt, streams } = setup();
  void streams.append("s", "a");
  await environment.advance(0);
  await sent[0]?.answer(new Error("disk full"));
  await expect(streams.flush("s")).rejects.toThrow("disk full");
  void streams.append("other", "a");
  attempt.isOver = true;
  await environment.advance(25);
  expect(sent).toHaveLength(1);
  await expect(streams.append("third", "a")).rejects.toMatchObject({ code: "LEASE_LOST" });
  expect(streams.hasCapacity("third")).toBe(false);
  await expect(streams.flushAll()).rejects.toThrow();
});
