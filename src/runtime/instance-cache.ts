// The sticky cache: held instances in order of last use, bounded by count and bytes.
//   SC1. An instance with steps open, work waiting or a turn under way is never a victim.
//   SC2. Letting an instance go changes nothing but speed: it replays when it is needed again (I5, I12).

import type { HeldInstance } from "./held-instance.ts";
import { hasOpenSteps } from "./turn-commit.ts";

export class InstanceCache {
  readonly #byKey = new Map<number, HeldInstance>();
  readonly #byId = new Map<string, HeldInstance>();
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
  has(held: HeldInstance): boolean {
    return this.#byKey.get(held.key) === held;
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

  /** Its history has this many bytes now. */
  resize(held: HeldInstance, bytes: number): void {
    this.#bytes += bytes - held.bytes;
    held.bytes = bytes;
  }

  touch(held: HeldInstance, now: number): void {
    held.usedAt = now;
    this.#byKey.delete(held.key);
    this.#byKey.set(held.key, held);
  }

  /** Those nothing happened to since then. */
  idleSince(limit: number): readonly HeldInstance[] {
    const idle: HeldInstance[] = [];
    for (const held of this.#byKey.values()) {
      if (held.usedAt > limit) break;
      if (isEvictable(held)) idle.push(held);
    }
    return idle;
  }

  /** Who must go for the rest to fit, least recently used first. */
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
  if (held.state !== "idle" || held.messages.length > 0 || held.outcomes.length > 0) return false;
  return held.run === null || !hasOpenSteps(held.run);
}
