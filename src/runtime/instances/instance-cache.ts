// The sticky cache: held instances in order of last use, bounded by count and bytes.
//   - An instance with open steps, undelivered messages or outcomes, or a turn in flight is never
//     evicted.
//   - Eviction affects only speed: an evicted instance replays when it is needed again (I5, I12).

import { ChurningMap } from "../../core/collections/churning-map.ts";
import { isIdle, type HeldInstance } from "./held-instance.ts";

export class InstanceCache {
  readonly #byKey = new ChurningMap<number, HeldInstance>();
  readonly #byId = new ChurningMap<string, HeldInstance>();
  #bytes = 0;

  get size(): number {
    return this.#byKey.size;
  }
  byKey(key: number): HeldInstance | undefined {
    return this.#byKey.get(key);
  }
  byId(id: string): HeldInstance | undefined {
    return this.#byId.get(id);
  }
  all(): readonly HeldInstance[] {
    return [...this.#byKey.values()];
  }

  add(held: HeldInstance): void {
    this.#byKey.set(held.key, held);
    this.#byId.set(held.id, held);
    this.#bytes += held.bytes;
  }

  remove(held: HeldInstance): void {
    this.#byKey.delete(held.key);
    this.#byId.delete(held.id);
    this.#bytes -= held.bytes;
  }

  /** Records the new size of the instance's history. */
  resize(held: HeldInstance, bytes: number): void {
    this.#bytes += bytes - held.bytes;
    held.bytes = bytes;
  }

  touch(held: HeldInstance, now: number): void {
    held.usedAt = now;
    this.#byKey.delete(held.key);
    this.#byKey.set(held.key, held);
  }

  /** Evictable instances whose last use is not later than `limit`. */
  idleSince(limit: number): readonly HeldInstance[] {
    const idle: HeldInstance[] = [];
    for (const held of this.#byKey.values()) {
      if (held.usedAt > limit) break;
      if (isEvictable(held)) idle.push(held);
    }
    return idle;
  }

  /** Instances to evict so that the rest fits, least recently used first. */
  surplus(bounds: { countMax: number; bytesMax: number }): readonly HeldInstance[] {
    let count = this.#byKey.size;
    let bytes = this.#bytes;
    if (count <= bounds.countMax && bytes <= bounds.bytesMax) return [];
    const victims: HeldInstance[] = [];
    for (const held of this.#byKey.values()) {
      if (count <= bounds.countMax && bytes <= bounds.bytesMax) break;
      if (!isEvictable(held)) continue;
      victims.push(held);
      count--;
      bytes -= held.bytes;
    }
    return victims;
  }
}

export function isEvictable(held: HeldInstance): boolean {
  return isUnoccupied(held) && (held.run === null || !held.run.openTasks.hasSteps);
}

/** Whether the instance is idle, and nothing waits to be delivered to it. */
export function isUnoccupied(held: HeldInstance): boolean {
  return isIdle(held) && held.messages.length === 0 && held.outcomes.length === 0;
}
