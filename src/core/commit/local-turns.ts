// Local turns: reports turns and failed attempts of watched instances to code in this process. Without a watcher
// it costs nothing.

import type { CommitResult } from "../provider/commit.ts";
import type { Pending } from "./pending.ts";

export class LocalTurns {
  /** By the store's number of the instance. */
  readonly #watchers = new Map<number, Set<() => void>>();

  watch(key: number, onTurn: () => void): () => void {
    const watchers = this.#watchers.get(key) ?? new Set();
    this.#watchers.set(key, watchers.add(onTurn));
    return () => {
      watchers.delete(onTurn);
      if (watchers.size === 0) this.#watchers.delete(key);
    };
  }

  /** Must be called after every group that was written. */
  written(group: readonly Pending[], results: readonly CommitResult[]): void {
    if (this.#watchers.size === 0) return;
    for (const [index, { item }] of group.entries()) {
      const key =
        item.kind === "turn" ? item.key : item.kind === "retry" ? item.task.key : undefined;
      if (key === undefined || results[index]?.kind === "refused") continue;
      for (const onTurn of [...(this.#watchers.get(key) ?? [])]) onTurn();
    }
  }
}
