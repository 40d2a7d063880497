// The queue of the committer: chooses the items of the next group.
//   - A group has at most GROUP_MAX items and about GROUP_BYTES of payload. Without the second bound a group
//        with large results would take a second to write, and every caller would wait for it.
//   - queue.1: Items leave in the order in which they arrived, unless GROUP_BYTES limits the group. Then
//        short items overtake large ones, so that an instance with little data does not wait for megabytes of
//        others.
//   - queue.2: Every group contains the oldest item, whatever its size. Short items that overtake use at most
//        half of the items and a quarter of the bytes of a group. So neither kind starves the other.
//   - queue.3: An item never overtakes an earlier item of the same instance: a send stays behind the start
//        and earlier sends (P7), the release of a lease behind the outcomes that need the lease.
//   - queue.4: If the store writes on the event loop, groups become smaller until one takes about GROUP_MS, so
//        that other work of the process does not wait longer.
//   - queue.5: While `isAhead`, the queue holds enough large items for the next two groups. A producer of large
//        items waits then, and `onTaken` reports each group that leaves.

import { commitSize } from "./size.ts";
import type { CommitItem } from "../provider/commit.ts";

export const GROUP_MAX = 256;
export const GROUP_BYTES = 1_000_000;
/** An item up to this size may overtake larger items. */
export const SHORT_BYTES = 8_000;
const AHEAD_BYTES = 2 * GROUP_BYTES;
/** How many queued items are searched for short ones. */
const LOOK_MAX = 4_096;
/** How long the event loop may wait for a group. */
const GROUP_MS = 4;
const SHARE_MIN = 1 / 16;

interface Entry<T> {
  readonly value: T;
  readonly item: CommitItem;
  readonly bytes: number;
  readonly number: number;
}

export class CommitQueue<T> {
  #entries: Entry<T>[] = [];
  /** Called when a group has left the queue (queue.5). */
  readonly onTaken = new Set<() => void>();
  #added = 0;
  /** The bytes of the waiting items that are not short. */
  #largeBytes = 0;
  /** The part of GROUP_MAX and GROUP_BYTES that a group may use (queue.4). */
  #share = 1;
  /** Whether the last group was as large as it may be. */
  #wasFull = false;

  get length(): number {
    return this.#entries.length;
  }
  /** The number of items that were ever added. */
  get added(): number {
    return this.#added;
  }

  /** queue.5 */
  get isAhead(): boolean {
    return this.#largeBytes > AHEAD_BYTES;
  }

  /** Whether one of the first `added` items still waits. Short items may have overtaken it. */
  holdsBefore(added: number): boolean {
    const oldest = this.#entries[0];
    return oldest !== undefined && oldest.number < added;
  }

  add(item: CommitItem, value: T): void {
    const bytes = commitSize(item);
    if (bytes > SHORT_BYTES) this.#largeBytes += bytes;
    this.#entries.push({ value, item, bytes, number: this.#added++ });
  }

  /** Removes and returns the next group. */
  takeGroup(): T[] {
    const waiting = this.#entries.length;
    const whole = this.#fitting();
    const isCutByBytes = whole < Math.min(waiting, this.#itemsMax);
    const group = isCutByBytes ? this.#takeMixed() : this.#entries.splice(0, whole);
    this.#wasFull = group.length < waiting;
    for (const { bytes } of group) if (bytes > SHORT_BYTES) this.#largeBytes -= bytes;
    for (const listener of this.onTaken) listener();
    return group.map(({ value }) => value);
  }

  /** For how long the last group has kept the event loop busy (queue.4). */
  tookMs(ms: number): void {
    if (ms <= GROUP_MS && !this.#wasFull) return;
    const factor = Math.min(Math.max(GROUP_MS / Math.max(ms, 0.1), 0.5), 1.25);
    this.#share = Math.min(Math.max(this.#share * factor, SHARE_MIN), 1);
  }

  get #itemsMax(): number {
    return Math.ceil(GROUP_MAX * this.#share);
  }
  get #bytesMax(): number {
    return GROUP_BYTES * this.#share;
  }

  takeAll(): T[] {
    this.#largeBytes = 0;
    return this.#entries.splice(0).map(({ value }) => value);
  }

  /** How many of the oldest items fit into a group. */
  #fitting(): number {
    const max = Math.min(this.#entries.length, this.#itemsMax);
    const bytesMax = this.#bytesMax;
    let bytes = 0;
    for (let count = 0; count < max; count++) {
      bytes += this.#entries[count]?.bytes ?? 0;
      if (bytes > bytesMax && count > 0) return count;
    }
    return max;
  }

  /** queue.1, queue.2: takes the oldest item and short items, then other items in order while they fit. */
  #takeMixed(): Entry<T>[] {
    const chosen = this.#shorts();
    let bytes = 0;
    for (const index of chosen) bytes += this.#entries[index]?.bytes ?? 0;
    const itemsMax = this.#itemsMax;
    const bytesMax = this.#bytesMax;
    for (const [index, entry] of this.#entries.entries()) {
      if (chosen.size >= itemsMax) break;
      if (chosen.has(index)) continue;
      if (bytes + entry.bytes > bytesMax) break;
      chosen.add(index);
      bytes += entry.bytes;
    }
    const group = this.#entries.filter((_, index) => chosen.has(index));
    this.#entries = this.#entries.filter((_, index) => !chosen.has(index));
    return group;
  }

  /** The indexes of the oldest item and of the short items that may overtake (queue.3). */
  #shorts(): Set<number> {
    const chosen = new Set([0]);
    const overtaken = new Set<string | number>();
    let bytes = 0;
    const end = Math.min(this.#entries.length, LOOK_MAX);
    const shortsMax = this.#itemsMax / 2;
    const shortsBytes = this.#bytesMax / 4;
    for (let index = 1; index < end && chosen.size <= shortsMax; index++) {
      const entry = this.#entries[index];
      if (entry === undefined) break;
      const instance = instanceOf(entry.item);
      const isShort = entry.bytes <= SHORT_BYTES && bytes + entry.bytes <= shortsBytes;
      if (!isShort || overtaken.has(instance)) {
        overtaken.add(instance);
        continue;
      }
      chosen.add(index);
      bytes += entry.bytes;
    }
    return chosen;
  }
}

/**
 * The instance of an item: its id, or the store's number of it. Keyed starts with one key concern one instance. A bulk
 * item stands for its first instance.
 */
function instanceOf(item: CommitItem): string | number {
  if (item.kind === "enqueue")
    return JSON.stringify([item.start.name, item.key.kind, item.key.key]);
  if (item.kind === "enqueueMany")
    return item.starts[0] === undefined ? "" : instanceOf(item.starts[0]);
  if ("id" in item) return item.id;
  if ("key" in item) return item.key;
  return item.kind === "fork" ? item.instance.id : item.task.key;
}
