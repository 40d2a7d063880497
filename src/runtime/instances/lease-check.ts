// Lease check: compares the leases that the store lists for this runtime with the leases in memory.
//   A database that loses its last commits (asynchronous failover, a restored backup, a crash with durability
//   "off") goes back in time under live workers. It then lists leases that their owner released long ago. No
//   message wakes them and no heartbeat goes stale, so without this check they would stay held forever.
//   - A lease that the store lists and this runtime does not hold is released, under the token that the
//     store lists. The release passes through the committer like every other write, so a stale release is
//     refused.
//   - lease-check.1: A lease counts as "not held" only if all of this is true. No commit that was in
//     flight during the first read is still in flight. Neither memory nor a request in flight knows the
//     token. A second read lists the lease again. Without the second read, a release in flight during the
//     first read would look like a lost one. Tokens are random and never reused.
//   - lease-check.2: An idle instance in memory is dropped if its row has a different token, execution or
//     last event. It is then rebuilt from the stored history. For a busy instance, the fence of its own
//     commit refuses the write (I2).
//   - lease-check.3: The check runs after an error of the store, after a change of the store's server,
//     after a refused turn, after a refused append or outcome of an attempt that writes to streams, and every
//     EVERY_MS as a backstop, because the store may go back without a broken connection.
//   - lease-check.4: Each check is recorded in the store with the number of stranded leases it found. An
//     operator can see leases that stay stranded, and runtimes that do not check.

import { instanceFields } from "../../core/telemetry/log-fields.ts";
import type { DeferItem } from "../../core/provider/callbacks.ts";
import type { CompletionItem, SimpleResult } from "../../core/provider/commit.ts";
import type { HeldLeases, InstanceLease } from "../../core/provider/runtimes.ts";
import type { RuntimeContext } from "../context.ts";
import { isBusy, isIdle, loggedInstance, type HeldInstance } from "./held-instance.ts";

/** The interval between checks without a reason. On PostgreSQL a check reads the whole table of tasks. */
const EVERY_MS = 300_000;
/** A runtime whose last check is older than this has stopped checking, or cannot check. */
export const LEASE_CHECK_OVERDUE_MS = 3 * EVERY_MS;
/** The minimum time between two checks. */
const SOONEST_MS = 5_000;
/** How long checks continue after a reason. A failover may follow the first error by some seconds. */
const ALERT_MS = 15_000;

type OutcomeItem = Pick<CompletionItem | DeferItem, "task">;
interface Lease {
  readonly token: number;
}

interface Stranded extends HeldLeases {
  /**
   * The keys of instances that may have held the outcome of a task at some moment of the check. Their tasks are checked
   * again later: the second read may be older than the commit of that outcome.
   */
  readonly pending: ReadonlySet<number>;
}

export class LeaseCheck {
  readonly #runtime: RuntimeContext;
  #isChecking = false;
  /** By the monotonic clock. */
  #checkedAt: number;
  #alertUntil = -Infinity;
  #server: string | undefined;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
    this.#checkedAt = runtime.monotonic();
  }

  /** The store may have lost commits. */
  alert(): void {
    this.#alertUntil = this.#runtime.monotonic() + ALERT_MS;
  }

  /** The store has answered an outcome. If it lacks values of the attempt, it may still list the lease. */
  outcomeSettled({ task }: OutcomeItem, result: SimpleResult): void {
    if (result.kind === "refused" && task.streamValues !== undefined) this.alert();
  }

  /**
   * Reports the server that replied last (lease-check.3). Even the first one may differ from the server
   * at registration.
   */
  serverIs(server: string | undefined): void {
    if (server !== this.#server) this.alert();
    this.#server = server;
  }

  /** Runs a check if one is due. */
  async tick(): Promise<void> {
    const now = this.#runtime.monotonic();
    const since = now - this.#checkedAt;
    // A check always follows an alert that is newer than the last check, even if the tick comes late.
    const isAlert = this.#checkedAt < this.#alertUntil && since >= SOONEST_MS;
    if (this.#isChecking || (!isAlert && since < EVERY_MS)) return;
    this.#isChecking = true;
    try {
      await this.#check();
      this.#checkedAt = now;
    } finally {
      this.#isChecking = false;
    }
  }

  async #check(): Promise<void> {
    const { provider, id: runtimeId } = this.#runtime;
    const found = await this.#stranded();
    if (!this.#runtime.isRunning) return;
    this.#release(found);
    const stranded = found.instances.length + found.tasks.length;
    await provider.recordLeaseCheck({ runtimeId, stranded }); // lease-check.4
  }

  /** Leases that the store lists and this runtime does not hold (lease-check.1). */
  async #stranded(): Promise<Stranded> {
    const { provider, id: runtimeId, committer } = this.#runtime;
    const known = new Set<number>();
    const pending = new Set<number>();
    const note = (): void => {
      this.#note(known);
      for (const { key } of this.#runtime.heldInstances.cache.all().filter(mayHoldOutcome))
        pending.add(key);
    };
    const idle = this.#idle();
    note();
    const leases = await provider.readLeases(runtimeId);
    note();
    this.#dropOutdated(idle, leases);
    await committer.whenAnswered();
    note();
    const first = this.#unknown(leases, known);
    if (first.instances.length + first.tasks.length === 0) return { ...first, pending };
    // A release that was in flight during the first read has its reply now, so the second read does not
    // list it.
    const again = await provider.readLeases(runtimeId);
    note();
    const seen = new Set([...first.instances, ...first.tasks].map(({ token }) => token));
    const { instances, tasks } = this.#unknown(again, known);
    const isSeen = ({ token }: Lease): boolean => seen.has(token);
    return { instances: instances.filter(isSeen), tasks: tasks.filter(isSeen), pending };
  }

  /** Leases that neither memory nor a request in flight knows. */
  #unknown({ instances, tasks }: HeldLeases, known: ReadonlySet<number>): HeldLeases {
    const isUnknown = ({ token }: Lease): boolean => !known.has(token);
    return { instances: instances.filter(isUnknown), tasks: tasks.filter(isUnknown) };
  }

  /**
   * Adds the tokens that memory knows now, and those of requests in flight. They stay known for the whole check: a task
   * that is leased to record its timeout is over as soon as the reply arrives, and is never in memory.
   */
  #note(known: Set<number>): void {
    const { heldInstances, activities, localStarts, localJobs, intake } = this.#runtime;
    for (const { token } of heldInstances.leases) known.add(token);
    for (const { token } of activities.claims) known.add(token);
    for (const { expected } of [localStarts, localJobs, intake]) {
      for (const token of expected) known.add(token);
    }
  }

  /** Idle instances, each with the commit count after its last commit. */
  #idle(): ReadonlyMap<HeldInstance, number> {
    const idle = this.#runtime.heldInstances.cache.all().filter(isIdle);
    return new Map(idle.map((held) => [held, held.commitCount]));
  }

  /** lease-check.2 */
  #dropOutdated(idle: ReadonlyMap<HeldInstance, number>, { instances }: HeldLeases): void {
    const { heldInstances, stats, log, intake } = this.#runtime;
    const listed = new Map(instances.map((lease) => [lease.key, lease]));
    for (const [held, commitCount] of idle) {
      if (!isIdle(held) || held.commitCount !== commitCount) continue;
      const lease = listed.get(held.key);
      if (lease !== undefined && isSame(lease, held)) continue;
      heldInstances.release(held, "outdated");
      if (lease !== undefined) heldInstances.returnLease(lease);
      stats.leasesReleased++;
      const what = `instance "${held.id}": memory does not match the store; dropped, to be rebuilt from its stored history`;
      log("warn", what, { ...instanceFields(loggedInstance(held)) });
      this.alert();
      intake.wake();
    }
  }

  #release({ instances, tasks, pending }: Stranded): void {
    const { heldInstances, stats, log, intake } = this.#runtime;
    const free = tasks.filter(({ key }) => !pending.has(key));
    if (instances.length + tasks.length > 0) this.alert();
    if (instances.length + free.length === 0) return;
    for (const lease of instances) heldInstances.returnLease(lease);
    heldInstances.handBack(free);
    stats.leasesReleased += instances.length + free.length;
    const counts = { instances: instances.length, tasks: free.length };
    log(
      "warn",
      "released leases that the store lists for this worker and the worker does not hold; the database may have lost its last commits",
      counts,
    );
    intake.wake();
  }
}

/** The outcome of a task may wait for the next turn of its instance, or be in a turn that is committed now. */
function mayHoldOutcome(instance: HeldInstance): boolean {
  return isBusy(instance) || instance.outcomes.length > 0;
}

function isSame(lease: InstanceLease, held: HeldInstance): boolean {
  return (
    lease.token === held.token &&
    lease.execution === held.execution &&
    lease.lastEvent === held.lastEvent
  );
}
