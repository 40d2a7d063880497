// Change draft: collects what a transaction changes, for the notification after its commit.
//   - Nothing is published before the transaction has committed (notifications.1); the draft of a
//     rolled-back transaction is discarded.

import type { Changes } from "../../sql/script/scope.ts";
import type { News } from "../../core/provider/notifications.ts";

export class ChangeDraft implements Changes {
  readonly #due = new Set<string>();
  readonly #changed = new Set<string>();
  readonly #progressed = new Set<string>();
  readonly #streamed = new Set<string>();
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

  /** Streams of the instance have new entries, were closed or settled. */
  streamed(instanceId: string): void {
    this.#streamed.add(instanceId);
  }

  /** A task waits in the queue. */
  queued(): void {
    this.#tasks = true;
  }

  /** A task was deleted while a worker may be running it. Only other processes are notified. */
  withdrawn(): void {
    this.#withdrawn = true;
  }

  get isEmpty(): boolean {
    const ids = this.#due.size + this.#changed.size + this.#progressed.size + this.#streamed.size;
    return ids === 0 && !this.#tasks && !this.#withdrawn;
  }

  toNews(elsewhere: boolean): News {
    return {
      due: [...this.#due],
      changed: [...this.#changed],
      ...(this.#progressed.size === 0 ? {} : { progressed: [...this.#progressed] }),
      ...(this.#streamed.size === 0 ? {} : { streamed: [...this.#streamed] }),
      tasks: this.#tasks,
      elsewhere,
    };
  }
}

/** The time of a transaction, and the changes to publish after its commit. */
export interface Transaction {
  readonly now: number;
  readonly changes: ChangeDraft;
}
