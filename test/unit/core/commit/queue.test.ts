// Which queued items go into one commit group.

import { expect, test } from "vitest";
import { CommitQueue, GROUP_BYTES, GROUP_MAX } from "../../../../src/core/commit/queue.ts";
import type { CommitItem } from "../../../../src/core/provider/commit.ts";

interface Sent {
  /** The instance; by default every item has a different one. */
  readonly to?: string;
  readonly bytes?: number;
}

/** A queue of sends; groups are shown as the numbers of their items. */
function queueOf(sends: readonly Sent[]): CommitQueue<number> {
  const queue = new CommitQueue<number>();
  for (const [index, { to = `i${index}`, bytes = 100 }] of sends.entries()) {
    queue.add(send(to, bytes), index);
  }
  return queue;
}

function send(id: string, bytes: number): CommitItem {
  const data = "x".repeat(bytes);
  return { kind: "send", id, name: "n", data, requestId: "r", ifMissing: "fail" };
}

function groupsOf<T>(queue: CommitQueue<T>): T[][] {
  const groups: T[][] = [];
  while (queue.length > 0) groups.push(queue.takeGroup());
  return groups;
}

const many = (count: number, sent: Sent = {}): Sent[] => Array.from({ length: count }, () => sent);
const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, i) => from + i);

test("CQ1: small items leave the queue in order, GROUP_MAX at a time", () => {
  const groups = groupsOf(queueOf(many(300)));
  expect(groups).toEqual([numbers(0, GROUP_MAX), numbers(GROUP_MAX, 300)]);
});

test("CQ1: large items leave the queue in order, about GROUP_BYTES at a time", () => {
  const groups = groupsOf(queueOf(many(45, { bytes: 50_000 })));
  expect(groups).toEqual([numbers(0, 20), numbers(20, 40), numbers(40, 45)]);
});

test("CQ1: an item larger than GROUP_BYTES gets its own group", () => {
  const bytes = 2 * GROUP_BYTES;
  expect(groupsOf(queueOf(many(3, { bytes })))).toEqual([[0], [1], [2]]);
});

test("CQ2: short items overtake large items", () => {
  const queue = queueOf([...many(60, { bytes: 50_000 }), ...many(3)]);
  expect(queue.takeGroup()).toEqual([...numbers(0, 19), 60, 61, 62]);
});

test("CQ3: every group contains some large items while they wait, however many short items arrive", () => {
  const queue = queueOf(many(40, { bytes: 50_000 }));
  let groups = 0;
  let large = 40;
  while (large > 0) {
    for (let i = 0; i < GROUP_MAX; i++) queue.add(send(`short ${groups} ${i}`, 100), 1_000 + i);
    const group = queue.takeGroup();
    expect(group.length).toBeLessThanOrEqual(GROUP_MAX);
    large -= group.filter((number) => number < 1_000).length;
    groups++;
  }
  expect(groups).toBeLessThanOrEqual(4);
});

test("CQ3: the oldest item is in the next group even if it is large", () => {
  const queue = queueOf([{ bytes: 3 * GROUP_BYTES }, ...many(500)]);
  expect(queue.takeGroup()[0]).toBe(0);
});

test("CQ4: an item stays behind earlier items of its instance (P7)", () => {
  const queue = queueOf([
    ...many(25, { bytes: 50_000 }),
    { to: "a", bytes: 50_000 },
    { to: "a" },
    { to: "b" },
    { to: "a" },
  ]);
  const [first, second] = groupsOf(queue);
  expect(first).toEqual([...numbers(0, 19), 27]);
  expect(second).toEqual([...numbers(19, 27), 28]);
});

test("CQ4: the release of a lease stays behind an outcome that needs the lease", () => {
  const queue = queueOf(many(25, { bytes: 50_000 }));
  const lease = { key: 7, token: 1 };
  const outcome = "x".repeat(50_000);
  queue.add({ kind: "stepOutcome", ...lease, execution: 1, sequence: 2, outcome }, 25);
  queue.add({ kind: "releaseInstance", ...lease }, 26);
  queue.add({ kind: "releaseInstance", key: 8, token: 1 }, 27);
  expect(groupsOf(queue)).toEqual([[...numbers(0, 20), 27], numbers(20, 27)]);
});

test("a large item that short items have overtaken still counts as waiting", () => {
  const queue = queueOf([...many(40, { bytes: 50_000 }), ...many(3)]);
  const { added } = queue;
  expect(queue.takeGroup()).toContain(42);
  expect(queue.holdsBefore(added)).toBe(true);
  queue.add(send("later", 100), 43);
  while (queue.length > 1) queue.takeGroup();
  expect(queue.holdsBefore(added)).toBe(false);
});

test("groups that keep the event loop busy for long become smaller, and grow again when they do not", () => {
  const queue = queueOf(many(5_000));
  expect(queue.takeGroup()).toHaveLength(GROUP_MAX);
  queue.tookMs(8);
  expect(queue.takeGroup()).toHaveLength(GROUP_MAX / 2);
  queue.tookMs(100);
  expect(queue.takeGroup()).toHaveLength(GROUP_MAX / 4);
  for (let group = 0; group < 20; group++) {
    queue.takeGroup();
    queue.tookMs(100);
  }
  expect(queue.takeGroup()).toHaveLength(GROUP_MAX / 16);
  for (let group = 0; group < 20; group++) {
    queue.takeGroup();
    queue.tookMs(0);
  }
  expect(queue.takeGroup()).toHaveLength(GROUP_MAX);
});

test("the bytes of a group shrink with its items, but the oldest item always leaves", () => {
  const queue = queueOf(many(100, { bytes: 50_000 }));
  expect(queue.takeGroup()).toHaveLength(20);
  queue.tookMs(8);
  expect(queue.takeGroup()).toHaveLength(10);
  for (let group = 0; group < 10; group++) {
    queue.takeGroup();
    queue.tookMs(100);
  }
  expect(queue.takeGroup()).toHaveLength(1);
});

test("a short group that is written quickly says nothing about larger ones", () => {
  const queue = queueOf(many(GROUP_MAX * 2 + 1));
  queue.takeGroup();
  queue.tookMs(8);
  queue.takeGroup();
  for (const _ of numbers(0, 3)) queue.takeGroup();
  for (let group = 0; group < 20; group++) queue.tookMs(0);
  for (const index of numbers(0, GROUP_MAX)) queue.add(send(`late-${index}`, 100), index);
  expect(queue.takeGroup()).toHaveLength(GROUP_MAX / 2);
});

test("CQ5: large items beyond two groups report that the queue is ahead; short items do not", () => {
  const short = Array.from({ length: 1_000 }, () => ({ bytes: 7_000 }));
  expect(queueOf(short).isAhead).toBe(false);
  const queue = queueOf(Array.from({ length: 5 }, () => ({ bytes: GROUP_BYTES / 2 })));
  let taken = 0;
  queue.onTaken.add(() => taken++);
  expect(queue.isAhead).toBe(true);
  queue.takeGroup();
  expect([queue.isAhead, taken]).toEqual([false, 1]);
});
