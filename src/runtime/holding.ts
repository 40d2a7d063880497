// Holding: which instances are ours, and how they are let go.
//   HO1. Letting go means: forgotten here, its lease given back to the store, outcomes that came late put into the
//        inbox (semantics 4a). Dropping means: the lease is lost already; nothing is written.
//   HO2. Busy is what has a turn or a commit under way; the count bounds what is taken (I12).
//   HO3. A suspect keeps the suspect slot until it is cleared or let go. One that has nothing left to do here is let go,
//        so that the next suspect can be tried.

import type { Committer } from "../core/committer.ts";
import type { Environment } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import type { TaskClaim } from "../core/provider/tasks.ts";
import type { BeginWindow } from "./begin-window.ts";
import type { HeldInstance, LocalOutcome } from "./held-instance.ts";
import { InstanceCache, isEvictable } from "./instance-cache.ts";
import type { ResolvedOptions } from "./options.ts";
import type { RuntimeStats } from "./stats.ts";
import type { StepRunner } from "./step-runner.ts";
import { instanceSuspect, type SuspectSlot } from "./suspect-slot.ts";
import { stepOutcomeItems } from "./turn-commit.ts";

export interface HoldingOptions {
  readonly environment: Environment;
  readonly options: ResolvedOptions;
  readonly committer: Committer;
  readonly steps: StepRunner;
  readonly stats: RuntimeStats;
  readonly suspects: SuspectSlot;
  readonly window: BeginWindow;
  /** A turn's place became free. */
  readonly onFree: () => void;
}

export class Holding {
  readonly cache = new InstanceCache();
  readonly #o: HoldingOptions;
  #busy = 0;
  readonly #suspects = new Set<HeldInstance>();

  constructor(options: HoldingOptions) {
    this.#o = options;
  }

  get busy(): number {
    return this.#busy;
  }

  setState(held: HeldInstance, state: HeldInstance["state"]): void {
    const wasBusy = held.state !== "idle";
    const isBusy = state !== "idle";
    held.state = state;
    if (wasBusy === isBusy) return;
    this.#busy += isBusy ? 1 : -1;
    if (!isBusy) this.#o.onFree();
  }

  /** Its lease is gone; whoever has it now goes on. */
  drop(held: HeldInstance): void {
    if (!this.cache.has(held)) return;
    this.#o.window.remove(held);
    this.#forget(held);
  }

  #forget(held: HeldInstance): void {
    this.setState(held, "idle");
    this.cache.remove(held);
    this.clearSuspect(held);
    held.outcomes = [];
    held.messages = [];
    this.#o.steps.abortAll(held, leaseLost);
  }

  /** Whether a suspect has a turn in flight: nothing else is taken meanwhile. */
  get isTrying(): boolean {
    for (const held of this.#suspects) if (held.state !== "idle") return true;
    return false;
  }

  enterSuspect(held: HeldInstance): void {
    this.#suspects.add(held);
    this.#o.suspects.enter(instanceSuspect(held.key));
  }

  clearSuspect(held: HeldInstance): void {
    if (!held.suspect) return;
    held.suspect = false;
    this.#suspects.delete(held);
    this.#o.suspects.leave(instanceSuspect(held.key));
  }

  /** HO3. */
  letSuspectGo(held: HeldInstance): void {
    if (!held.suspect || !this.cache.has(held) || held.state !== "idle") return;
    if (isEvictable(held)) this.#evict(held);
  }

  dropAll(): void {
    for (const held of this.cache.all()) this.drop(held);
  }

  /** That lease is gone; if it is held under another one by now, it stays. */
  dropLease({ key, token }: { readonly key: number; readonly token: number }): void {
    const held = this.cache.byKey(key);
    if (held?.token === token) this.letGo(held);
  }

  /** The store has its lease back already. */
  letGo(held: HeldInstance): void {
    const { outcomes } = held;
    this.drop(held);
    this.toInbox(outcomes);
  }

  /** Paused: what was done for it waits in the inbox, so that nothing runs twice (19a). */
  letGoPaused(held: HeldInstance, outcomes: readonly LocalOutcome[]): void {
    this.drop(held);
    this.toInbox(outcomes);
    for (const item of stepOutcomeItems(held, outcomes)) {
      this.#o.committer.submit(item).catch(() => undefined);
    }
    this.release(held);
  }

  release(held: { readonly key: number; readonly token: number }): void {
    const item = { kind: "releaseInstance", key: held.key, token: held.token } as const;
    this.#o.committer.submit(item).catch(() => undefined);
  }

  /** Outcomes of activities whose instance is not held here any more; their tasks' tokens decide. */
  toInbox(outcomes: readonly LocalOutcome[]): void {
    for (const { task, body } of outcomes) {
      if (task === null) continue;
      const item = { kind: "completion", task, outcome: JSON.stringify(body) } as const;
      this.#o.committer.submit(item).catch(() => undefined);
    }
  }

  /** Tasks that may be leased to us and will not run here; their tokens decide. */
  handBack(tasks: readonly TaskClaim[]): void {
    for (const task of tasks) {
      this.#o.committer.submit({ kind: "releaseTask", task }).catch(() => undefined);
    }
  }

  /** Lets go of instances that nothing happened to for long. */
  sweep(): void {
    const limit = this.#o.environment.monotonic() - this.#o.options.stickyIdleMs;
    for (const held of this.cache.idleSince(limit)) this.#evict(held);
  }

  /** Lets go of what is over the bounds. */
  trim(): void {
    const { stickyCacheMax: countMax, stickyCacheBytesMax: bytesMax } = this.#o.options;
    for (const held of this.cache.surplus({ countMax, bytesMax })) this.#evict(held);
  }

  evictAll(): void {
    for (const held of this.cache.all()) if (isEvictable(held)) this.#evict(held);
  }

  /** Its tasks stay queued, so it still counts in the begin window (BW5). An evictable instance has no outcomes. */
  #evict(held: HeldInstance): void {
    this.#o.stats.evictions++;
    this.#forget(held);
    this.release(held);
  }
}

function leaseLost(): PerdureError {
  return new PerdureError("LEASE_LOST", "This runtime no longer holds the instance.");
}
