// One batch: the items that wait for the same call of the handler.
//
//   | state   | enters it                           | an item whose attempt is aborted                |
//   | ------- | ----------------------------------- | ----------------------------------------------- |
//   | waiting | the first item                      | leaves the batch                                |
//   | running | the handler is about to be called   | stays; its outcome is dropped by the runtime    |
//
//   - batch.1: The function of the first item that is left calls the handler. So the handler runs in the async context
//     of a running attempt, and the clock of a test waits for it.

import type { ActivityContext } from "../core/context/activity-context.ts";
import type { BatchItem, BatchOutcome } from "./types.ts";

/** The item must call the handler of its batch (batch.1). */
export const LEADS = Symbol("leads");

/** An item and its attempt. */
export class Entry<Item> {
  readonly item: Item;
  readonly context: ActivityContext;
  readonly #turn = Promise.withResolvers<typeof LEADS | BatchOutcome<unknown>>();
  #outcome: BatchOutcome<unknown> | null = null;

  constructor(item: Item, context: ActivityContext) {
    this.item = item;
    this.context = context;
  }

  /** Resolves when the item must call the handler, or with its outcome. */
  get turn(): Promise<typeof LEADS | BatchOutcome<unknown>> {
    return this.#turn.promise;
  }

  /** Its outcome after the call of the handler. An item that left before the call was aborted. */
  get outcome(): BatchOutcome<unknown> {
    return this.#outcome ?? { error: this.context.signal.reason };
  }

  lead(): void {
    this.#turn.resolve(LEADS);
  }

  settle(outcome: BatchOutcome<unknown>): void {
    this.#outcome = outcome;
    this.#turn.resolve(outcome);
  }

  /** The attempt was aborted while the item waited. */
  leave(): void {
    this.#turn.resolve(this.outcome);
  }

  get description(): BatchItem {
    const { attempt, context, idempotencyKey, info, signal } = this.context;
    return { instanceId: info.instanceId, attempt, context, idempotencyKey, info, signal };
  }
}

export class Batch<Item> {
  readonly key: string;
  readonly #waiting = new Set<Entry<Item>>();
  readonly #onEmpty: () => void;
  readonly #controller = new AbortController();
  /** The items of the running handler whose attempts are not over. Null: the handler was not called yet. */
  #running: Set<Entry<Item>> | null = null;

  /** `onEmpty` is called if all items have left. */
  constructor(key: string, onEmpty: () => void) {
    this.key = key;
    this.#onEmpty = onEmpty;
  }

  /** The number of items that wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Aborted when the attempts of all items are over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  add(entry: Entry<Item>): void {
    this.#waiting.add(entry);
    const { signal } = entry.context;
    signal.addEventListener("abort", () => this.#abort(entry, signal.reason), { once: true });
  }

  /** The batch is complete: one of its items calls the handler. */
  complete(): void {
    const [first] = this.#waiting;
    first?.lead();
  }

  /** The handler is about to be called with these items. */
  begin(): readonly Entry<Item>[] {
    const entries = [...this.#waiting];
    this.#waiting.clear();
    this.#running = new Set(entries);
    return entries;
  }

  #abort(entry: Entry<Item>, reason: unknown): void {
    if (this.#running === null) {
      this.#waiting.delete(entry);
      entry.leave();
      if (this.#waiting.size === 0) this.#onEmpty();
      return;
    }
    this.#running.delete(entry);
    if (this.#running.size === 0) this.#controller.abort(reason);
  }
}
