// Retention: deletes ended instances and old executions by the rule in the options, a little at a time.
//   RE1. Live work is never touched: the store refuses to delete it, a child of an instance that still exists, and an
//        instance whose descendants live (AD3); pruning leaves the newest execution alone (AD4).
//   RE2. A sweep goes through ended instances in batches with a pause after each; one sweep at a time. Several
//        runtimes with the same rule do no harm: what one has deleted the other does not find.
//   RE3. Executions are pruned when one is added: whoever continues an instance queues it.

import type { Environment, TimerHandle } from "../core/environment.ts";
import type { Provider } from "../core/provider/provider.ts";
import { RETAINED, type ResolvedRetention } from "./policies.ts";

const SWEEP_MS = 60_000;
const BATCH = 100;
const PAUSE_MS = 50;
/** Instances that wait to be pruned; what does not fit is pruned after its next execution (I12). */
const PRUNE_MAX = 10_000;

export interface RetentionOptions {
  readonly provider: Provider;
  readonly environment: Environment;
  readonly rule: ResolvedRetention;
  readonly trouble: (error: unknown) => void;
}

export class RetentionSweeper {
  readonly #o: RetentionOptions;
  readonly #continued = new Set<string>();
  #sweptAt: number;
  #busy = false;
  #stopped = false;
  #pause: { timer: TimerHandle; resume: () => void } | null = null;

  constructor(options: RetentionOptions) {
    this.#o = options;
    // Not all runtimes of a fleet at the same moment; and the first one soon.
    this.#sweptAt = options.environment.monotonic() - SWEEP_MS * options.environment.random();
  }

  /** An instance began its next execution. */
  continued(id: string): void {
    if (this.#o.rule.keepExecutions === undefined) return;
    if (this.#continued.size < PRUNE_MAX) this.#continued.add(id);
  }

  /** Called by the safety net; does not wait for what it starts. */
  tick(now: number): void {
    if (this.#busy || this.#stopped) return;
    const isDue = now - this.#sweptAt >= SWEEP_MS;
    if (!isDue && this.#continued.size === 0) return;
    if (isDue) this.#sweptAt = now;
    this.#busy = true;
    void this.#work(isDue)
      .catch(this.#o.trouble)
      .finally(() => (this.#busy = false));
  }

  stop(): void {
    this.#stopped = true;
    this.#pause?.timer.cancel();
    this.#pause?.resume();
  }

  async #work(sweep: boolean): Promise<void> {
    await this.#prune();
    if (!sweep) return;
    for (const status of RETAINED) {
      const keepMs = this.#o.rule.keepMs[status];
      if (keepMs !== undefined) await this.#delete(status, keepMs);
    }
  }

  async #prune(): Promise<void> {
    const { provider, rule } = this.#o;
    const keepLast = rule.keepExecutions;
    if (keepLast === undefined) return;
    for (const id of [...this.#continued]) {
      if (this.#stopped) return;
      this.#continued.delete(id);
      await provider.pruneExecutions({ id, keepLast });
    }
  }

  async #delete(status: (typeof RETAINED)[number], keepMs: number): Promise<void> {
    const { provider } = this.#o;
    const completedBefore = provider.now() - keepMs;
    const filter = { status: [status], parent: null, completedBefore };
    let cursor: string | null = null;
    do {
      const page = await provider.listInstances({ filter, order: "oldest", limit: BATCH, cursor });
      for (const { id } of page.items) {
        if (this.#stopped) return;
        await provider.deleteInstance({ id, force: false });
      }
      cursor = page.cursor;
      if (cursor !== null) await this.#rest();
    } while (cursor !== null && !this.#stopped);
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => {
      const resume = (): void => {
        this.#pause = null;
        resolve();
      };
      this.#pause = { timer: this.#o.environment.setTimer(PAUSE_MS, resume), resume };
    });
  }
}
