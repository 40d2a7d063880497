// Renewal of leases with an expiry time. Only the options `instanceLeaseMs` and `taskLeaseMs` give leases
// one.
//   - The main loop renews them, so a stalled loop loses them.
//   - lease-renewal.1: When a lease turns out to be lost, the instance is dropped or the activity's
//     signal is aborted. If the instance was released and leased again during the call, the reply
//     concerns the old lease and is ignored.

import type { RuntimeContext } from "../context.ts";

export class LeaseRenewal {
  readonly #runtime: RuntimeContext;
  #renewedAt = 0;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  /** The interval of renewals; null if no lease has an expiry time. */
  get everyMs(): number | null {
    const { instanceLeaseMs, taskLeaseMs, renewBufferMs } = this.#runtime.options;
    const shortest = Math.min(instanceLeaseMs ?? Infinity, taskLeaseMs ?? Infinity);
    if (shortest === Infinity) return null;
    return Math.max(shortest - (renewBufferMs ?? (shortest * 2) / 3), 10);
  }

  /** Renews the leases if a renewal is due. */
  async tick(now: number): Promise<void> {
    const { everyMs } = this;
    if (everyMs === null || now - this.#renewedAt < everyMs) return;
    this.#renewedAt = now;
    const { provider, options, heldInstances, activities } = this.#runtime;
    const { instanceLeaseMs, taskLeaseMs } = options;
    if (instanceLeaseMs !== undefined) {
      const { leases } = heldInstances;
      const lost = new Set(await provider.renewInstances(leases, instanceLeaseMs));
      for (const lease of leases) if (lost.has(lease.key)) heldInstances.loseLease(lease);
    }
    if (taskLeaseMs !== undefined) {
      const lost = await provider.renewTasks(activities.claims, taskLeaseMs);
      for (const claim of lost) activities.lose(claim);
    }
  }
}
