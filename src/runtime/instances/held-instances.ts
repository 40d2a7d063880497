// Held instances: which instances this runtime holds, and how it gives them up.
//   - held-instances.1: `release` is the only way to give an instance up. It removes the instance from
//     memory, aborts its steps and frees its suspect slot. The reason decides what is written, and
//     whether the instance leaves the begin window (`RELEASES`).
//   - held-instances.2: An instance is busy while it has a turn or a commit in flight. The number of busy
//     instances limits how many more are leased (I12).
//   - held-instances.3: A suspect keeps the suspect slot until it is cleared or given up. A suspect with
//     nothing left to do here is given up, so that the next suspect can be tried.

import { PerdureError } from "../../core/errors/errors.ts";
import type { TaskClaim } from "../../core/provider/tasks.ts";
import type { RuntimeContext } from "../context.ts";
import {
  isBusy,
  transition,
  type HeldEvent,
  type HeldInstance,
  type LocalOutcome,
} from "./held-instance.ts";
import { InstanceCache, isEvictable, isUnoccupied } from "./instance-cache.ts";
import { instanceSuspect } from "./suspect-slot.ts";
import { stepOutcomeItems } from "../replay/turn-commit.ts";

/** Why an instance is given up. */
export type ReleaseReason =
  /** Its commit ended the execution or released the lease. */
  | "committed"
  /** A commit failed it, because its author set `onNondeterminism: "fail"`. */
  | "failed"
  /** It is blocked. The block, which releases the lease, is written next. */
  | "blocked"
  /** The store refused its turn (`LEASE_LOST`). */
  | "refused"
  /** The store refused its turn, because the instance is paused. */
  | "paused"
  /** Its next execution has a version that is not registered here. */
  | "unregistered"
  /** It is idle, and its time in the cache is over. */
  | "evicted"
  /** It is idle, and its open steps wait for a message. */
  | "waiting"
  /** A newer lease of the same instance arrived. */
  | "superseded"
  /** A renewal found the lease lost. */
  | "lost"
  /** Memory does not match the store. */
  | "outdated"
  /** Another process ended or took over the instance, or this runtime is dead or has shut down. */
  | "dropped";

interface Release {
  /**
   * What happens to outcomes that no turn delivered: those of activities go to the inbox (semantics 4a),
   * those of steps only if the reason says so. "drop": nothing is written, because the lease is lost.
   */
  readonly outcomes: "inbox" | "inbox, with steps" | "drop";
  /** Whether the lease is given back. Otherwise the store has it already, or the next item releases it. */
  readonly returnsLease: boolean | "steps wait";
}

const RELEASES: Readonly<Record<ReleaseReason, Release>> = {
  committed: { outcomes: "inbox", returnsLease: false },
  failed: { outcomes: "inbox", returnsLease: false },
  blocked: { outcomes: "inbox", returnsLease: false },
  superseded: { outcomes: "inbox", returnsLease: false },
  lost: { outcomes: "inbox", returnsLease: false },
  outdated: { outcomes: "inbox", returnsLease: false },
  dropped: { outcomes: "drop", returnsLease: false },
  // The token may still be valid: the database lost commits, or the finished task is gone. Without a
  // release, no worker could take the instance.
  refused: { outcomes: "inbox", returnsLease: true },
  // With the outcomes of steps, so that nothing runs twice (semantics 19a).
  paused: { outcomes: "inbox, with steps", returnsLease: true },
  unregistered: { outcomes: "inbox", returnsLease: true },
  evicted: { outcomes: "inbox", returnsLease: true },
  waiting: { outcomes: "inbox", returnsLease: "steps wait" },
};

/** What a turn in flight took from the instance. */
interface Carried {
  readonly outcomes?: readonly LocalOutcome[];
  /** Tasks that may be leased to this runtime and will not run here. */
  readonly tasks?: readonly TaskClaim[];
}
const NOTHING: Carried = {};

export class HeldInstances {
  readonly cache = new InstanceCache();
  readonly #runtime: RuntimeContext;
  #busy = 0;
  readonly #suspects = new Set<HeldInstance>();

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
  }

  get busy(): number {
    return this.#busy;
  }
  get leases(): readonly { key: number; token: number }[] {
    return this.cache.all().map(({ key, token }) => ({ key, token }));
  }

  /** Changes the state, counts busy instances, and lets the intake use a turn that is free again. */
  transition(held: HeldInstance, event: HeldEvent): void {
    const wasBusy = isBusy(held);
    transition(held, event);
    if (wasBusy === isBusy(held)) return;
    this.#busy += wasBusy ? -1 : 1;
    if (wasBusy) this.#runtime.intake.turnFree();
  }

  /**
   * Gives the instance up (held-instances.1). If it was released in the meantime, only what the turn in
   * flight carried and the lease are handled.
   */
  release(held: HeldInstance, reason: ReleaseReason, carried: Carried = NOTHING): void {
    const { outcomes, returnsLease } = RELEASES[reason];
    const own = held.outcomes;
    if (held.state !== "released") this.#forget(held, reason);
    if (outcomes !== "drop") {
      const undelivered = carried.outcomes === undefined ? own : [...carried.outcomes, ...own];
      this.toInbox(undelivered);
      if (outcomes === "inbox, with steps") this.#stepsToInbox(held, undelivered);
    }
    if (carried.tasks !== undefined) this.handBack(carried.tasks);
    if (returnsLease !== false) this.returnLease(held, returnsLease === "steps wait");
  }

  #forget(held: HeldInstance, reason: ReleaseReason): void {
    // Tasks of an evicted instance stay queued, so it still counts in the begin window (begin-window.4).
    if (reason === "evicted") this.#runtime.stats.evictions++;
    else this.#runtime.window.remove(held);
    this.transition(held, "release");
    this.cache.remove(held);
    this.clearSuspect(held);
    held.outcomes = [];
    held.messages = [];
    this.#runtime.steps.abortAll(held, leaseLost);
  }

  dropAll(): void {
    for (const held of this.cache.all()) this.release(held, "dropped");
  }

  /** This lease is lost. If the instance was leased again since, under another token, it stays. */
  loseLease({ key, token }: { readonly key: number; readonly token: number }): void {
    const held = this.cache.byKey(key);
    if (held?.token === token) this.release(held, "lost");
  }

  /** Gives a lease back to the store. The store checks its token. */
  returnLease(
    { key, token }: { readonly key: number; readonly token: number },
    stepsWait = false,
  ): void {
    const release = { kind: "releaseInstance", key, token } as const;
    const item = stepsWait ? ({ ...release, stepsWait } as const) : release;
    this.#runtime.committer.submit(item).catch(() => undefined);
  }

  /**
   * Writes outcomes of activities to the inbox of an instance that is not held here anymore. The store
   * checks each task's token.
   */
  toInbox(outcomes: readonly LocalOutcome[]): void {
    for (const { task, body } of outcomes) {
      if (task === null) continue;
      const item = { kind: "completion", task, outcome: JSON.stringify(body) } as const;
      const { committer, leaseCheck } = this.#runtime;
      committer.submit(item).then(
        (result) => leaseCheck.outcomeSettled(item, result),
        () => undefined,
      );
    }
  }

  #stepsToInbox(held: HeldInstance, outcomes: readonly LocalOutcome[]): void {
    for (const item of stepOutcomeItems(held, outcomes)) {
      this.#runtime.committer.submit(item).catch(() => undefined);
    }
  }

  /** Releases tasks that will not run here. The store checks each task's token. */
  handBack(tasks: readonly TaskClaim[]): void {
    for (const task of tasks) {
      this.#runtime.committer.submit({ kind: "releaseTask", task }).catch(() => undefined);
    }
  }

  /** Whether a suspect has a turn in flight. No other instance is leased during that time. */
  get isTryingSuspect(): boolean {
    for (const held of this.#suspects) if (isBusy(held)) return true;
    return false;
  }

  enterSuspect(held: HeldInstance): void {
    this.#suspects.add(held);
    this.#runtime.suspects.enter(instanceSuspect(held.key), true);
  }

  clearSuspect(held: HeldInstance): void {
    if (!held.suspect) return;
    held.suspect = false;
    this.#suspects.delete(held);
    this.#runtime.suspects.leave(instanceSuspect(held.key));
  }

  /** Gives up a suspect that has nothing left to do here (held-instances.3). */
  evictSuspect(held: HeldInstance): void {
    if (held.suspect && isEvictable(held)) this.release(held, "evicted");
  }

  /** Evicts instances that have been idle for longer than `stickyIdleMs`. */
  sweep(): void {
    const limit = this.#runtime.monotonic() - this.#runtime.options.stickyIdleMs;
    for (const held of this.cache.idleSince(limit)) this.release(held, "evicted");
  }

  /** Evicts instances until the cache is within its bounds. */
  trim(): void {
    const { stickyCacheMax: countMax, stickyCacheBytesMax: bytesMax } = this.#runtime.options;
    const surplus = this.cache.surplus({ countMax, bytesMax });
    for (const held of surplus) this.release(held, "evicted");
  }

  /** Evicts what can be evicted, also instances whose open steps only wait for a later attempt. */
  evictAll(): void {
    for (const held of this.cache.all()) {
      if (isEvictable(held)) this.release(held, "evicted");
      else if (isUnoccupied(held) && this.#runtime.steps.onlyWaits(held)) {
        this.release(held, "waiting");
      }
    }
  }
}

function leaseLost(): PerdureError {
  return new PerdureError("LEASE_LOST", "This runtime no longer holds the instance.");
}
