// Local ends: reports the end of an instance to waiters in this process, from the commit that ended it.
//   - Only turns of watched instances are observed. Any other item costs nothing.
//   - A waiter hears of an end only after the commit has returned (I13).

import { ChurningMap, ChurningSet } from "../collections/churning-map.ts";
import type { InstanceChange } from "../provider/commit.ts";
import type { Pending } from "./pending.ts";

export type InstanceEnd = Extract<InstanceChange, { readonly kind: "ended" }>;

type EndWatcher = (end: InstanceEnd | null) => void;

export class LocalEnds {
  /** By the store's number of the instance. */
  readonly #watchers = new ChurningMap<number, Set<EndWatcher>>();
  readonly #ending = new ChurningSet<number>();

  watch(key: number, onEnd: EndWatcher): () => void {
    const watchers = this.#watchers.get(key) ?? new Set();
    this.#watchers.set(key, watchers.add(onEnd));
    return () => {
      watchers.delete(onEnd);
      if (watchers.size === 0) this.#watchers.delete(key);
    };
  }

  isEnding(key: number): boolean {
    return this.#ending.has(key);
  }

  /** The same item. If it ends a watched instance, its result also reaches the watchers. */
  observe(pending: Pending): Pending {
    const { item } = pending;
    if (this.#watchers.size === 0 || item.kind !== "turn" || item.change.kind !== "ended") {
      return pending;
    }
    const { key, change } = item;
    if (!this.#watchers.has(key)) return pending;
    this.#ending.add(key);
    return {
      item,
      resolve: (result) => {
        pending.resolve(result);
        this.#over(key, result.kind === "committed" ? change : null);
      },
      reject: (reason) => {
        pending.reject(reason);
        this.#over(key, null);
      },
    };
  }

  #over(key: number, end: InstanceEnd | null): void {
    this.#ending.delete(key);
    for (const onEnd of [...(this.#watchers.get(key) ?? [])]) onEnd(end);
  }
}
