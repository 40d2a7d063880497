// News draft: what a transaction makes worth looking at, gathered while it runs.
//   D1. Nothing leaves before the transaction has committed (W1); a rolled-back draft is thrown away.

import type { News } from "../core/provider/notifications.ts";

export class NewsDraft {
  readonly #due = new Set<string>();
  readonly #changed = new Set<string>();
  readonly #progressed = new Set<string>();
  #tasks = false;
  #withdrawn = false;

  due(instanceId: string): void {
    this.#due.add(instanceId);
  }

  changed(instanceId: string): void {
    this.#changed.add(instanceId);
  }

  progressed(instanceId: string): void {
    this.#progressed.add(instanceId);
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
    const ids = this.#due.size + this.#changed.size + this.#progressed.size;
    return ids === 0 && !this.#tasks && !this.#withdrawn;
  }

  toNews(elsewhere: boolean): News {
    const news = {
      due: [...this.#due],
      changed: [...this.#changed],
      tasks: this.#tasks,
      elsewhere,
    };
    return this.#progressed.size === 0 ? news : { ...news, progressed: [...this.#progressed] };
  }
}

/** One transaction's time and news. */
export interface Transaction {
  readonly now: number;
  readonly news: NewsDraft;
}
