// The queue of the committer: which items make up the next group.
//   CQ1. A group holds at most GROUP_MAX items and about GROUP_BYTES of payload: with large results a group without
//        that bound writes for a second, and every caller waits for it.
//   CQ2. Items leave in the order in which they came, unless a group is cut by its bytes. Then short items pass large
//        ones, so that a short instance does not wait for megabytes of others.
//   CQ3. The oldest item is in every group, whatever its size. Short items that pass take at most half of a group's
//        items and SHORTS_BYTES. So neither starves the other.
//   CQ4. An item never passes an earlier one of the same instance: a send stays behind the start and the sends before
//        it (P7), the release of a lease behind the outcomes that need the lease.

import { commitSize } from "./commit-size.ts";
import type { CommitItem } from "./provider/commit.ts";

export const GROUP_MAX = 256;
export const GROUP_BYTES = 1_000_000;
/** An item up to this size may pass larger ones. */
const SHORT_BYTES = 8_000;
const SHORTS_MAX = GROUP_MAX / 2;
const SHORTS_BYTES = GROUP_BYTES / 4;
/** How far back short items are looked for. */
const LOOK_MAX = 4_096;

interface Entry<T> {
  readonly value: T;
  readonly item: CommitItem;
  readonly bytes: number;
  readonly number: number;
}

export class CommitQueue<T> {
  #entries: Entry<T>[] = [];
  #added = 0;

  get length(): number {
    return this.#entries.length;
  }
  /** How many items were ever added. */
  get added(): number {
    return this.#added;
  }

  /** Whether an item waits that was added when fewer than `added` had been. Short items may have passed it. */
  holdsBefore(added: number): boolean {
    const oldest = this.#entries[0];
    return oldest !== undefined && oldest.number < added;
  }

  add(item: CommitItem, value: T): void {
    this.#entries.push({ value, item, bytes: commitSize(item), number: this.#added++ });
  }

  /** Takes the next group. */
  takeGroup(): T[] {
    const whole = this.#fitting();
    const isCutByBytes = whole < Math.min(this.#entries.length, GROUP_MAX);
    const group = isCutByBytes ? this.#takeMixed() : this.#entries.splice(0, whole);
    return group.map(({ value }) => value);
  }

  takeAll(): T[] {
    return this.#entries.splice(0).map(({ value }) => value);
  }

  /** How many of the oldest items make a group. */
  #fitting(): number {
    const max = Math.min(this.#entries.length, GROUP_MAX);
    let bytes = 0;
    for (let count = 0; count < max; count++) {
      bytes += this.#entries[count]?.bytes ?? 0;
      if (bytes > GROUP_BYTES && count > 0) return count;
    }
    return max;
  }

  /** CQ2, CQ3: the oldest item, short items from behind, then the others in order while they fit. */
  #takeMixed(): Entry<T>[] {
    const chosen = this.#shorts();
    let bytes = 0;
    for (const index of chosen) bytes += this.#entries[index]?.bytes ?? 0;
    for (const [index, entry] of this.#entries.entries()) {
      if (chosen.size >= GROUP_MAX) break;
      if (chosen.has(index)) continue;
      if (bytes + entry.bytes > GROUP_BYTES) break;
      chosen.add(index);
      bytes += entry.bytes;
    }
    const group = this.#entries.filter((_, index) => chosen.has(index));
    this.#entries = this.#entries.filter((_, index) => !chosen.has(index));
    return group;
  }

  /** Places of the oldest item and of short ones that may go with it (CQ4). */
  #shorts(): Set<number> {
    const chosen = new Set([0]);
    const passed = new Set<string | number>();
    let bytes = 0;
    const end = Math.min(this.#entries.length, LOOK_MAX);
    for (let index = 1; index < end && chosen.size <= SHORTS_MAX; index++) {
      const entry = this.#entries[index];
      if (entry === undefined) break;
      const instance = instanceOf(entry.item);
      const isShort = entry.bytes <= SHORT_BYTES && bytes + entry.bytes <= SHORTS_BYTES;
      if (!isShort || passed.has(instance)) {
        passed.add(instance);
        continue;
      }
      chosen.add(index);
      bytes += entry.bytes;
    }
    return chosen;
  }
}

/** What an item is about: an instance by its id, or by the store's number of it. */
function instanceOf(item: CommitItem): string | number {
  if ("id" in item) return item.id;
  if ("key" in item) return item.key;
  return item.kind === "fork" ? item.instance.id : item.task.key;
}
