// Lost leases: detects that an instance or task held here was ended, cancelled or taken over by another
// process.
//   - A task whose row is gone or has a different token is given up: its signal is aborted (semantics
//     12).
//   - lost-leases.1: An instance that was ended or taken over is dropped and its steps are aborted.
//     Nothing of it is written (P8).
//   - lost-leases.2: Checks run on each notification and once per poll interval. A notification during a
//     check causes one more check.

import { isTerminalStatus } from "../../core/provider/instances.ts";
import type { RuntimeContext } from "../context.ts";
import { isIdle, type HeldInstance } from "./held-instance.ts";

export class LostLeases {
  readonly #runtime: RuntimeContext;
  #isChecking = false;
  #again = false;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  /** These instances ended, continued as new or were blocked, perhaps by another process. */
  onChanged(ids: readonly string[]): void {
    const { heldInstances, activities, environment } = this.#runtime;
    for (const id of ids) {
      const held = heldInstances.cache.byId(id);
      if (held !== undefined && isIdle(held)) void this.#checkInstance(held);
    }
    if (ids.length === 0 || !activities.runsFor(ids)) return;
    // If the change is this runtime's own commit, that commit aborts its activities first and gives the
    // exact reason.
    environment.immediate(() => void this.checkTasks());
  }

  async checkTasks(): Promise<void> {
    if (this.#isChecking) {
      this.#again = true;
      return;
    }
    this.#isChecking = true;
    const { activities, provider, leaseCheck } = this.#runtime;
    try {
      do {
        this.#again = false;
        const { claims } = activities;
        if (claims.length === 0) break;
        const lost = await provider.lostTasks(claims);
        for (const claim of lost) activities.lose(claim);
        if (lost.length > 0) leaseCheck.alert();
      } while (this.#again);
    } catch (error) {
      this.#runtime.onStoreError(error);
    } finally {
      this.#isChecking = false;
    }
  }

  async #checkInstance(held: HeldInstance): Promise<void> {
    const { id: owner, provider, heldInstances } = this.#runtime;
    try {
      const record = await provider.readInstance(held.id);
      if (!isIdle(held)) return;
      const isOurs = record?.key === held.key && record.owner === owner;
      if (!isOurs || isTerminalStatus(record.status)) heldInstances.release(held, "dropped");
    } catch (error) {
      this.#runtime.onStoreError(error);
    }
  }
}
