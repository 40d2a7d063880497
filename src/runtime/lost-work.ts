// Lost work: finds out that something held here was ended, cancelled or taken over from outside.
//   LW1. A task whose row is gone, or has another token, is given up: its signal is aborted (semantics 12).
//   LW2. An instance that was ended or taken over is dropped, its steps aborted; nothing of it is written (P8).
//   LW3. Looked for at once on news, and once in a poll interval; news that comes while a look is under way
//        causes one more.

import { isTerminalStatus } from "../core/provider/instances.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { ActivityRunner } from "./activity-runner.ts";
import type { HeldInstance } from "./held-instance.ts";
import type { Instances } from "./instances.ts";

export class LostWork {
  readonly #provider: Provider;
  readonly #runtimeId: string;
  readonly #instances: Instances;
  readonly #activities: ActivityRunner;
  readonly #trouble: (error: unknown) => void;
  readonly #onLost: () => void;
  #looking = false;
  #again = false;

  constructor(options: {
    provider: Provider;
    runtimeId: string;
    instances: Instances;
    activities: ActivityRunner;
    trouble: (error: unknown) => void;
    /** Tasks that run here are not in the store, or are leased under another token. */
    onLost: () => void;
  }) {
    this.#provider = options.provider;
    this.#runtimeId = options.runtimeId;
    this.#instances = options.instances;
    this.#activities = options.activities;
    this.#trouble = options.trouble;
    this.#onLost = options.onLost;
  }

  /** These instances ended, continued or were blocked, perhaps by somebody else. */
  heard(ids: readonly string[]): void {
    for (const id of ids) {
      const held = this.#instances.heldById(id);
      if (held?.state === "idle") void this.#checkInstance(held);
    }
    if (ids.length === 0 || !this.#activities.runsFor(ids)) return;
    // Our own commit tells its activities in a moment, and knows the reason better.
    this.#provider.environment.immediate(() => void this.checkTasks());
  }

  async checkTasks(): Promise<void> {
    if (this.#looking) {
      this.#again = true;
      return;
    }
    this.#looking = true;
    try {
      do {
        this.#again = false;
        const { claims } = this.#activities;
        if (claims.length === 0) break;
        const lost = await this.#provider.lostTasks(claims);
        for (const claim of lost) this.#activities.lose(claim);
        if (lost.length > 0) this.#onLost();
      } while (this.#again);
    } catch (error) {
      this.#trouble(error);
    } finally {
      this.#looking = false;
    }
  }

  async #checkInstance(held: HeldInstance): Promise<void> {
    try {
      const record = await this.#provider.readInstance(held.id);
      if (held.state !== "idle") return;
      const isOurs = record?.key === held.key && record.owner === this.#runtimeId;
      if (!isOurs || isTerminalStatus(record.status)) this.#instances.holding.drop(held);
    } catch (error) {
      this.#trouble(error);
    }
  }
}
