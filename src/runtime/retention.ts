// Retention: deletes ended instances and old executions by the rule in the options, a little at a time.
//   RE1. Live work is never touched: the store refuses to delete it, a child of an instance that still exists, and an
//        instance whose descendants live (AD3); pruning leaves the newest execution alone (AD4).
//   RE2. One runtime sweeps at a time: it holds a claim in the store and renews it while it works. The others ask
//        again a minute later, and take over when the claim has run out.
//   RE4. A sweep deletes in slices that last about SLICE_MS, with a pause after each, so that turns go on in between.
//   RE3. Executions are pruned when one is added: whoever continues an instance queues it.

import type { Environment, TimerHandle } from "../core/environment.ts";
import type { Provider } from "../core/provider/provider.ts";
import { RETAINED, type ResolvedRetention } from "./policies.ts";

const SWEEP_MS = 60_000;
/** Longer than a slice with its pause can last; a crashed sweeper is replaced after it. */
const CLAIM_MS = 30_000;
/** How long a slice may last: on a store in this process it stops the loop, elsewhere it holds locks. */
const SLICE_MS = 8;
const SLICE_REMOTE_MS = 50;
const SLICE_FIRST = 50;
const SLICE_MIN = 10;
const SLICE_MAX = 500;
const PAUSE_MAX_MS = 10;
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
  #claim: number | null = null;
  #slice = SLICE_FIRST;
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
      if (keepMs !== undefined && !(await this.#delete(status, keepMs))) return;
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

  /** False: the sweep has stopped, or another runtime has the claim. */
  async #delete(status: (typeof RETAINED)[number], keepMs: number): Promise<boolean> {
    const { provider, environment } = this.#o;
    const completedBefore = provider.now() - keepMs;
    let cursor: string | null = null;
    do {
      if (this.#stopped || !(await this.#hasClaim())) return false;
      const began = environment.monotonic();
      const limit = this.#slice;
      ({ cursor } = await provider.deleteEnded({ status, completedBefore, limit, cursor }));
      const tookMs = environment.monotonic() - began;
      this.#slice = nextSlice(limit, tookMs, provider.isRemote === true);
      if (cursor !== null) await this.#rest(Math.min(Math.max(tookMs, 1), PAUSE_MAX_MS));
    } while (cursor !== null);
    return true;
  }

  /** Renewed when half of it is over. */
  async #hasClaim(): Promise<boolean> {
    const { provider } = this.#o;
    if (this.#claim !== null && this.#claim - provider.now() > CLAIM_MS / 2) return true;
    this.#claim = await provider.claimSweep({ held: this.#claim, leaseMs: CLAIM_MS });
    return this.#claim !== null;
  }

  #rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const resume = (): void => {
        this.#pause = null;
        resolve();
      };
      this.#pause = { timer: this.#o.environment.setTimer(ms, resume), resume };
    });
  }
}

/** Grows slowly towards the time that a slice may last, and shrinks at once. */
function nextSlice(slice: number, tookMs: number, isRemote: boolean): number {
  const targetMs = isRemote ? SLICE_REMOTE_MS : SLICE_MS;
  const next = tookMs > targetMs ? Math.floor(slice / 2) : Math.ceil(slice * 1.25);
  return Math.min(Math.max(next, SLICE_MIN), SLICE_MAX);
}
