// Retention: deletes ended instances and old executions by the rule in the options, in small batches.
//   - Live instances are never deleted. The store also refuses to delete a child of an instance that
//     still exists, and an instance with live descendants (admin.3). Pruning never deletes the newest
//     execution (admin.4).
//   - One runtime sweeps at a time: it holds a claim in the store and renews it while it sweeps. Other
//     runtimes try again a minute later, and take over when the claim has expired.
//   - A sweep deletes in slices of about SLICE_MS with a pause after each, so that turns continue in
//     between.
//   - Instances that ended with a separate time (admin.6) are deleted too, with or without a rule. If there is none, this
//     costs one read per sweep. Only the first slice needs no claim.
//   - Executions are pruned when one is added: the runtime that continues an instance as new queues it
//     for pruning.

import type { DeletedEnded } from "../../core/provider/admin.ts";
import { TERMINAL_STATUSES } from "../../core/provider/instances.ts";
import type { TimerHandle } from "../../core/time/environment.ts";
import type { RuntimeContext } from "../context.ts";
import type { ResolvedRetention } from "../policies.ts";

const SWEEP_MS = 60_000;
/** Longer than a slice with its pause can take. After this time a crashed sweeper is replaced. */
const CLAIM_MS = 30_000;
/**
 * The target duration of a slice. On a store in this process a slice blocks the event loop; elsewhere it
 * holds locks.
 */
const SLICE_MS = 8;
const SLICE_REMOTE_MS = 50;
const SLICE_FIRST = 50;
const SLICE_MIN = 10;
const SLICE_MAX = 500;
const PAUSE_MAX_MS = 10;
/**
 * The maximum of instances that wait to be pruned. Others are pruned after their next execution (I12).
 */
const PRUNE_MAX = 10_000;

interface Slice {
  readonly limit: number;
  readonly cursor: string | null;
}
type RetentionContext = Pick<RuntimeContext, "provider" | "environment" | "onStoreError">;

export class RetentionSweeper {
  readonly #runtime: RetentionContext;
  readonly #rule: ResolvedRetention;
  /** Instances to prune, with the number of executions to keep. */
  readonly #continued = new Map<string, number>();
  #claim: number | null = null;
  #slice = SLICE_FIRST;
  #sweptAt: number;
  #busy = false;
  #stopped = false;
  #pause: { timer: TimerHandle; resume: () => void } | null = null;

  /** `rule`: null if the options have none. A definition may still have its own `keepExecutions`. */
  constructor(runtime: RetentionContext, rule: ResolvedRetention | null) {
    this.#runtime = runtime;
    this.#rule = rule ?? { keepMs: {}, keepExecutions: undefined };
    const { environment } = runtime;
    // The first sweep comes soon, at a random time, so that the runtimes of a fleet do not sweep at the
    // same moment.
    this.#sweptAt = environment.monotonic() - SWEEP_MS * environment.random();
  }

  /** Whether a sweep is running, or instances wait to be pruned. */
  get isBusy(): boolean {
    return this.#busy || (this.#continued.size > 0 && !this.#stopped);
  }

  /** Whether the options have a rule for ended instances. */
  get hasRule(): boolean {
    return Object.keys(this.#rule.keepMs).length > 0;
  }

  /** Begins a sweep, whenever the last one was. */
  sweepNow(now: number): void {
    this.#sweptAt = -Infinity;
    this.tick(now);
  }

  /** An instance began its next execution. `keepLast`: of its definition. */
  continued(id: string, keepLast = this.#rule.keepExecutions): void {
    if (keepLast !== undefined && this.#continued.size < PRUNE_MAX) {
      this.#continued.set(id, keepLast);
    }
  }

  /** Called by the upkeep loop. Does not wait for the sweep that it starts. */
  tick(now: number): void {
    if (this.#busy || this.#stopped) return;
    const isDue = now - this.#sweptAt >= SWEEP_MS;
    if (!isDue && this.#continued.size === 0) return;
    if (isDue) this.#sweptAt = now;
    this.#busy = true;
    void this.#run(isDue)
      .catch(this.#runtime.onStoreError)
      .finally(() => (this.#busy = false));
  }

  stop(): void {
    this.#stopped = true;
    this.#pause?.timer.cancel();
    this.#pause?.resume();
  }

  async #run(sweep: boolean): Promise<void> {
    await this.#prune();
    if (!sweep) return;
    const { provider } = this.#runtime;
    if (!(await this.#delete((slice) => provider.deleteExpired(slice), "later"))) return;
    for (const status of TERMINAL_STATUSES) {
      const keepMs = this.#rule.keepMs[status];
      if (keepMs === undefined) continue;
      const ended = { status, completedBefore: provider.now() - keepMs };
      const isDone = await this.#delete((slice) => provider.deleteEnded({ ...ended, ...slice }));
      if (!isDone) return;
    }
  }

  async #prune(): Promise<void> {
    for (const [id, keepLast] of [...this.#continued]) {
      if (this.#stopped) return;
      this.#continued.delete(id);
      await this.#runtime.provider.pruneExecutions({ id, keepLast });
    }
  }

  /**
   * Deletes slice by slice. Returns false if the sweep was stopped, or if another runtime has the claim. "later": the first
   * slice needs no claim.
   */
  async #delete(
    step: (slice: Slice) => Promise<Pick<DeletedEnded, "cursor">>,
    claim: "first" | "later" = "first",
  ): Promise<boolean> {
    const { provider, environment } = this.#runtime;
    let cursor: string | null = null;
    do {
      const needsClaim = claim === "first" || cursor !== null;
      if (this.#stopped || (needsClaim && !(await this.#hasClaim()))) return false;
      const began = environment.monotonic();
      const limit = this.#slice;
      ({ cursor } = await step({ limit, cursor }));
      const tookMs = environment.monotonic() - began;
      this.#slice = nextSlice(limit, tookMs, provider.isRemote === true);
      if (cursor !== null) await this.#rest(Math.min(Math.max(tookMs, 1), PAUSE_MAX_MS));
    } while (cursor !== null);
    return true;
  }

  /** The claim is renewed when half of its time is over. */
  async #hasClaim(): Promise<boolean> {
    const { provider } = this.#runtime;
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
      this.#pause = { timer: this.#runtime.environment.setTimer(ms, resume), resume };
    });
  }
}

/** Grows slowly towards the target duration of a slice, and shrinks at once. */
function nextSlice(slice: number, tookMs: number, isRemote: boolean): number {
  const targetMs = isRemote ? SLICE_REMOTE_MS : SLICE_MS;
  const next = tookMs > targetMs ? Math.floor(slice / 2) : Math.ceil(slice * 1.25);
  return Math.min(Math.max(next, SLICE_MIN), SLICE_MAX);
}
