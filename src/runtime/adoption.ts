// Adoption: starts of this process that this runtime takes before they are even in the store.
//   AD1. Only what can run at once is taken: registered here, not delayed, with room for its turn.
//   AD3. A start that the begin window holds back is written without a lease (begin-window.ts).
//   AD2. A delayed one is looked for when its time comes, not at the next poll.

import type { Lease, StartAdopter } from "../core/committer.ts";
import type { WaitingRecord } from "../core/provider/admin.ts";
import type { StartItem, StartResult } from "../core/provider/commit.ts";
import type { LeasedInstance } from "../core/provider/instances.ts";
import { startTarget } from "../core/targets.ts";
import type { Registry } from "./registry.ts";

export interface AdoptionOptions {
  readonly registry: Registry;
  readonly room: () => number;
  /** Whether new instances of this name and priority stay pending. */
  readonly isHeldBack: (name: string, priority: number) => boolean;
  readonly newLease: () => Lease;
  readonly take: (instance: LeasedInstance) => void;
  readonly storeNow: () => number;
  /** A start of this process comes due after this many milliseconds. */
  readonly onDelayed: (delayMs: number) => void;
  /** This process starts an orchestration that this runtime does not register. */
  readonly onUnknown: (kind: WaitingRecord) => void;
}

export class Adoption implements StartAdopter {
  readonly #o: AdoptionOptions;
  /** Tokens of starts whose answers are still to come. */
  readonly #expected = new Set<number>();

  constructor(options: AdoptionOptions) {
    this.#o = options;
  }

  offer(item: StartItem): Lease | null {
    if (item.delayMs !== undefined || item.dueAt !== undefined) {
      this.#o.onDelayed(item.delayMs ?? (item.dueAt ?? 0) - this.#o.storeNow());
      return null;
    }
    const { name, version } = item;
    if (this.#o.registry.orchestration(name, version) === undefined) {
      const oldestAt = this.#o.storeNow();
      this.#o.onUnknown({ kind: "instance", target: startTarget(name, version), oldestAt });
      return null;
    }
    if (this.#o.room() <= this.#expected.size) return null;
    if (this.#o.isHeldBack(name, item.priority)) return null;
    const lease = this.#o.newLease();
    this.#expected.add(lease.token);
    return lease;
  }

  /** Whether this is the lease of a start whose answer is still to come. */
  isExpected(token: number): boolean {
    return this.#expected.has(token);
  }

  settled(item: StartItem, result: StartResult): void {
    if (item.lease !== null) this.#expected.delete(item.lease.token);
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
      stepsOpen: false,
      fresh: true,
      messages: [result.leased],
      history: [],
    });
  }
}
