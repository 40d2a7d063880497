// Start adopter: a runtime in this process that takes part in the starts of this process.

import type { StartItem, StartResult } from "../provider/commit.ts";
import type { EnqueueItem, EnqueueManyItem } from "../provider/enqueue.ts";

export interface Lease {
  readonly owner: string;
  readonly token: number;
  readonly leaseMs?: number;
}
/** A runtime in this process that leases a new instance before the instance is in the store. */
export interface StartAdopter {
  /**
   * Adds a lease to the start, and its first turn if the runtime can run it now. A delayed start stays as it
   * is. Calls `write` once, now or later, with the item to write. False: the runtime does not take the
   * instance, and does not call `write`.
   */
  adopt(item: StartItem, write: (adopted: StartItem) => void): boolean;
  /** Called with the item that was written, before the caller of the start gets the result. */
  settled(item: StartItem, result: StartResult): void;
  /** Called with an item that was written, and that may have inserted starts which become due later. */
  enqueued(item: EnqueueItem | EnqueueManyItem): void;
}
