// Start order: items for an instance whose start is being prepared wait until that start is queued.
//   - A runtime may run the first turn before the start is queued (StartAdopter). Without this rule, an event that
//     is raised right after the start would overtake it, and the store would refuse the event (queue.3).
//   - An id has one prepared start at a time. A second start of the id waits like any other item.

import { ChurningMap } from "../collections/churning-map.ts";
import type { CommitItem } from "../provider/commit.ts";

export interface PreparedStart {
  readonly id: string;
  /** False: an earlier start of this id is being prepared, and other items wait for that one. */
  readonly isFirst: boolean;
}

export class StartOrder {
  /** What waits for each prepared start, by the id of the instance, in the order of the calls. */
  readonly #waiting = new ChurningMap<string, (() => void)[]>();

  /** The number of starts that are being prepared. */
  get size(): number {
    return this.#waiting.size;
  }

  /** A start is being prepared. */
  begin(id: string): PreparedStart {
    const isFirst = !this.#waiting.has(id);
    if (isFirst) this.#waiting.set(id, []);
    return { id, isFirst };
  }

  /** The start is queued next. Call the returned function after that: it queues the items that waited. */
  end({ id, isFirst }: PreparedStart): () => void {
    const waiting = isFirst ? (this.#waiting.get(id) ?? []) : [];
    if (isFirst) this.#waiting.delete(id);
    return () => {
      for (const queue of waiting) queue();
    };
  }

  /** True: the item waits, and `queue` is called when its turn has come. */
  holds(item: CommitItem, queue: () => void): boolean {
    if (this.#waiting.size === 0 || !("id" in item)) return false;
    const waiting = this.#waiting.get(item.id);
    waiting?.push(queue);
    return waiting !== undefined;
  }
}
