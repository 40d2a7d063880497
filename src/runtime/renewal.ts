// Renewal of leases that end by themselves: only where an option gave them a time (architecture §4.7).
//   RN1. Renewed by the main loop, so that a loop that stands still loses them.
//   RN2. A lease found lost is acted on: the instance is dropped, the activity's signal aborted. One that was let go and
//        taken anew while the store was asked is another lease.

import type { Provider } from "../core/provider/provider.ts";
import type { ActivityRunner } from "./activity-runner.ts";
import type { Instances } from "./instances.ts";
import type { ResolvedOptions } from "./options.ts";

export class Renewal {
  readonly #provider: Provider;
  readonly #options: ResolvedOptions;
  readonly #instances: Instances;
  readonly #activities: ActivityRunner;
  #renewedAt = 0;

  constructor(options: {
    provider: Provider;
    options: ResolvedOptions;
    instances: Instances;
    activities: ActivityRunner;
  }) {
    this.#provider = options.provider;
    this.#options = options.options;
    this.#instances = options.instances;
    this.#activities = options.activities;
  }

  /** How often to look, or null when no lease has a time. */
  get everyMs(): number | null {
    const { instanceLeaseMs, taskLeaseMs, renewBufferMs } = this.#options;
    const shortest = Math.min(instanceLeaseMs ?? Infinity, taskLeaseMs ?? Infinity);
    if (shortest === Infinity) return null;
    return Math.max(shortest - (renewBufferMs ?? (shortest * 2) / 3), 10);
  }

  /** Renews when it is time. */
  async tick(now: number): Promise<void> {
    const { everyMs } = this;
    if (everyMs === null || now - this.#renewedAt < everyMs) return;
    this.#renewedAt = now;
    const { instanceLeaseMs, taskLeaseMs } = this.#options;
    if (instanceLeaseMs !== undefined) {
      const { leases, holding } = this.#instances;
      const lost = new Set(await this.#provider.renewInstances(leases, instanceLeaseMs));
      for (const lease of leases) if (lost.has(lease.key)) holding.dropLease(lease);
    }
    if (taskLeaseMs !== undefined) {
      const lost = await this.#provider.renewTasks(this.#activities.claims, taskLeaseMs);
      for (const claim of lost) this.#activities.lose(claim);
    }
  }
}
