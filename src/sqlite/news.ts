// News draft: what a transaction makes worth looking at, gathered while it runs.
//   D1. Nothing leaves before the transaction has committed (W1); a rolled-back draft is thrown away.

import type { News } from "../core/provider/notifications.ts";

export class NewsDraft {
  readonly #due = new Set<string>();
  readonly #changed = new Set<string>();
  #tasks = false;
  #withdrawn = false;

  due(instanceId: string): void {
    this.#due.add(instanceId);
  }

  changed(instanceId: string): void {
    this.#changed.add(instanceId);
  }

  /** A task waits in the queue. */
  queued(): void {
    this.#tasks = true;
  }

  /** A task was taken away that somebody may be running. Those in other processes hear of it. */
  withdrawn(): void {
    this.#withdrawn = true;
  }

  get isEmpty(): boolean {
    return !this.#tasks && !this.#withdrawn && this.#due.size === 0 && this.#changed.size === 0;
  }

  toNews(elsewhere: boolean): News {
    return { due: [...this.#due], changed: [...this.#changed], tasks: this.#tasks, elsewhere };
  }
}

/** One transaction's time and news. */
export interface Transaction {
  readonly now: number;
  readonly news: NewsDraft;
}
