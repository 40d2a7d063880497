// Key reservations: keys of instances whose first turn is written with their start, for stores that must
// know the key beforehand.
//   - Calls of one macrotask share one request.
//   - Keys are not kept in stock: lists are in the order of keys, so a key must not be older than its start.

import type { RuntimeContext } from "../context.ts";

export class KeyReservations {
  readonly #runtime: Pick<RuntimeContext, "provider" | "environment" | "onStoreError">;
  #waiting: ((key: number | null) => void)[] = [];

  constructor(runtime: Pick<RuntimeContext, "provider" | "environment" | "onStoreError">) {
    this.#runtime = runtime;
  }

  /** A key, or null after an error of the store. Null instead of a promise: the store chooses the key itself. */
  reserve(): Promise<number | null> | null {
    if (this.#runtime.provider.reserveKeys === undefined) return null;
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1)
        this.#runtime.environment.immediate(() => void this.#request());
    });
  }

  async #request(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    let keys: readonly number[] = [];
    try {
      keys = (await this.#runtime.provider.reserveKeys?.(waiting.length)) ?? [];
    } catch (error) {
      this.#runtime.onStoreError(error);
    }
    for (const [index, resolve] of waiting.entries()) resolve(keys[index] ?? null);
  }
}
