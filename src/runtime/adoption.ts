// Adoption: starts of this process that this runtime takes before they are even in the store.
//   AD1. Only what can run at once is taken: registered here, not delayed, with room for its turn.
//   AD2. A delayed one is looked for when its time comes, not at the next poll.

import type { Lease, StartAdopter } from "../core/committer.ts";
import type { StartItem, StartResult } from "../core/provider/commit.ts";
import type { LeasedInstance } from "../core/provider/instances.ts";
import type { Registry } from "./registry.ts";

export interface AdoptionOptions {
  readonly registry: Registry;
  readonly room: () => number;
  readonly newLease: () => Lease;
  readonly take: (instance: LeasedInstance) => void;
  readonly storeNow: () => number;
  /** A start of this process comes due after this many milliseconds. */
  readonly onDelayed: (delayMs: number) => void;
}

export class Adoption implements StartAdopter {
  readonly #o: AdoptionOptions;
  #expected = 0;

  constructor(options: AdoptionOptions) {
    this.#o = options;
  }

  offer(item: StartItem): Lease | null {
    if (item.delayMs !== undefined || item.dueAt !== undefined) {
      this.#o.onDelayed(item.delayMs ?? (item.dueAt ?? 0) - this.#o.storeNow());
      return null;
    }
    if (this.#o.room() <= this.#expected) return null;
    if (this.#o.registry.orchestration(item.name, item.version) === undefined) return null;
    this.#expected++;
    return this.#o.newLease();
  }

  settled(item: StartItem, result: StartResult): void {
    this.#expected--;
    if (result.kind !== "started" || result.leased === null || item.lease === null) return;
    this.#o.take({
      key: result.key,
      id: item.id,
      runId: item.runId,
      name: item.name,
      version: item.version,
      execution: result.execution,
      token: item.lease.token,
      lastEvent: 0,
      priority: item.priority,
      copiedUntil: 0,
      suspicion: 0,
      fresh: true,
      messages: [result.leased],
      history: [],
    });
  }
}
