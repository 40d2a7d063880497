// The operator of a kill run: unblocks innocent instances, and those whose activity crashes, because their own turns do
// not. Workers that live for a second may die several times in a row while they hold such an instance. After an unblock
// it must resume where it was.

import { isPerdureError, type Client } from "../../../src/index.ts";
import { crasherFault, type Described } from "./audit/crasher-audit.ts";
import { crasherKind } from "./crashers.ts";
import { openInstances } from "./audit/store-audit.ts";
import type { StoreUnderTest } from "./stores.ts";

export class Operator {
  readonly #client: Client;
  readonly #store: StoreUnderTest;
  readonly #blocked = new Set<string>();
  #unblocks = 0;

  constructor(client: Client, store: StoreUnderTest) {
    this.#client = client;
    this.#store = store;
  }

  /** Innocent instances that were ever found blocked. */
  get blocked(): number {
    return this.#blocked.size;
  }
  get unblocks(): number {
    return this.#unblocks;
  }

  /**
   * Unblocks every innocent instance. Returns whether all innocent instances have ended and every crasher is
   * quarantined or poisoned.
   */
  async tend(): Promise<boolean> {
    for await (const id of this.#client.ids({ blocked: true })) {
      const kind = crasherKind(id);
      if (kind === "turn" || kind === "step") continue;
      if (kind === undefined) this.#blocked.add(id);
      await this.#client.get(id).unblock();
      this.#unblocks++;
    }
    for (const id of await openInstances(this.#store)) {
      if (crasherKind(id) === undefined) return false;
      if (crasherFault(id, await this.describe(id)) !== null) return false;
    }
    return true;
  }

  async describe(id: string): Promise<Described> {
    try {
      return await this.#client.get(id).describe();
    } catch (error) {
      if (isPerdureError(error, "INSTANCE_NOT_FOUND")) return null;
      throw error;
    }
  }
}
