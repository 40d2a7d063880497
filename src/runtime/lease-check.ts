// Lease check: compares what the store lists as held by this runtime with what the runtime holds in memory.
//   A database that loses its last commits (asynchronous failover, a restored backup, a crash with durability "off")
//   goes back in time under live workers. It then lists leases that their owner gave back long ago. No message wakes
//   them and no heartbeat goes stale, so without this check they would stay held forever.
//   LC1. A lease that the store lists and this runtime does not hold is released, under the token that the store
//        lists. The release passes through the committer like every other write, so a stale one is refused.
//   LC2. A lease is "not held" only if neither memory nor a request in flight knows its token after every commit that
//        was in flight during the read has its answer, and a second read lists it again: a release in flight during
//        the first read would otherwise look like a lost one. Tokens are random and never reused.
//   LC3. An idle instance in memory whose row has another token, execution or last event is dropped and rebuilt from
//        the stored history. A busy one is refused by the fence of its own commit (I2).
//   LC4. The check runs after trouble with the store, when the store's server changed, when a turn was refused, and
//        every EVERY_MS as a backstop: the store may go back without a broken connection.
//   LC5. Each check is recorded in the store, with the number of leases that it found and memory did not hold. So an
//        operator sees leases that stay stranded, and a runtime that does not check.

import type { Committer } from "../core/committer.ts";
import type { Environment } from "../core/environment.ts";
import { instanceFields } from "../core/log-fields.ts";
import type { LogSink } from "../core/log.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { HeldLeases, InstanceLease, TaskLease } from "../core/provider/runtimes.ts";
import type { ActivityRunner } from "./activity-runner.ts";
import { loggedInstance, type HeldInstance } from "./held-instance.ts";
import type { Instances } from "./instances.ts";
import type { RuntimeStats } from "./stats.ts";

/** Without a reason. On PostgreSQL a check reads the whole table of tasks. */
const EVERY_MS = 300_000;
/** A runtime whose last check is older than this does not check, or cannot. */
export const LEASE_CHECK_OVERDUE_MS = 3 * EVERY_MS;
/** Two checks are at least this far apart. */
const SOONEST_MS = 5_000;
/** How long after a reason checks go on: a failover may follow the first error by some seconds. */
const ALERT_MS = 15_000;

interface Lease {
  readonly token: number;
}

export interface LeaseCheckOptions {
  readonly runtimeId: string;
  readonly provider: Provider;
  readonly committer: Committer;
  readonly environment: Environment;
  readonly instances: Instances;
  readonly activities: ActivityRunner;
  /** Whether a request whose answer is still to come may have taken leases under this token. */
  readonly isExpected: (token: number) => boolean;
  readonly isRunning: () => boolean;
  readonly stats: RuntimeStats;
  readonly log: LogSink;
  /** Something was released here: there may be work to take. */
  readonly onReleased: () => void;
}

export class LeaseCheck {
  readonly #o: LeaseCheckOptions;
  #isChecking = false;
  /** Monotonic. */
  #checkedAt: number;
  #alertUntil = -Infinity;
  #server: string | undefined;

  constructor(options: LeaseCheckOptions) {
    this.#o = options;
    this.#checkedAt = options.environment.monotonic();
  }

  /** The store may have lost commits. */
  readonly alert = (): void => {
    this.#alertUntil = this.#o.environment.monotonic() + ALERT_MS;
  };

  /** The server that answered last (LC4). The first one may already be another than the one that we registered with. */
  serverIs(server: string | undefined): void {
    if (server !== this.#server) this.alert();
    this.#server = server;
  }

  /** Checks when it is time. */
  async tick(): Promise<void> {
    const now = this.#o.environment.monotonic();
    const since = now - this.#checkedAt;
    // An alert that came after the last check is always followed by one, however late the tick comes.
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
    const { provider, runtimeId, isRunning } = this.#o;
    const { instances, tasks } = await this.#stranded();
    if (!isRunning()) return;
    this.#release(instances, tasks);
    const stranded = instances.length + tasks.length;
    await provider.recordLeaseCheck({ runtimeId, stranded }); // LC5
  }

  /** Leases that the store lists and this runtime does not hold (LC2). */
  async #stranded(): Promise<HeldLeases> {
    const { provider, runtimeId, committer } = this.#o;
    const known = new Set<number>();
    const idle = this.#idle();
    this.#note(known);
    const leases = await provider.readLeases(runtimeId);
    this.#note(known);
    this.#dropOutdated(idle, leases);
    await committer.answered();
    this.#note(known);
    const first = this.#unknown(leases, known);
    if (first.instances.length + first.tasks.length === 0) return first;
    // A release that was in flight during the first read has its answer now: what it released is not listed again.
    const again = await provider.readLeases(runtimeId);
    this.#note(known);
    const seen = new Set([...first.instances, ...first.tasks].map(({ token }) => token));
    const { instances, tasks } = this.#unknown(again, known);
    const isSeen = ({ token }: Lease): boolean => seen.has(token);
    return { instances: instances.filter(isSeen), tasks: tasks.filter(isSeen) };
  }

  /** Leases of which neither memory nor a request in flight knows. */
  #unknown({ instances, tasks }: HeldLeases, known: ReadonlySet<number>): HeldLeases {
    const { isExpected } = this.#o;
    const isUnknown = ({ token }: Lease): boolean => !known.has(token) && !isExpected(token);
    return { instances: instances.filter(isUnknown), tasks: tasks.filter(isUnknown) };
  }

  /** Adds the tokens that memory knows now. A request's token is known until what it took is in memory. */
  #note(known: Set<number>): void {
    const { instances, activities } = this.#o;
    for (const { token } of instances.leases) known.add(token);
    for (const { token } of activities.claims) known.add(token);
  }

  /** Idle instances, each with the count of commits after its last one. */
  #idle(): ReadonlyMap<HeldInstance, number> {
    const idle = this.#o.instances.holding.cache.all().filter(({ state }) => state === "idle");
    return new Map(idle.map((held) => [held, held.stamp]));
  }

  /** LC3 */
  #dropOutdated(idle: ReadonlyMap<HeldInstance, number>, { instances }: HeldLeases): void {
    const { holding } = this.#o.instances;
    const listed = new Map(instances.map((lease) => [lease.key, lease]));
    for (const [held, stamp] of idle) {
      const isUntouched = held.state === "idle" && held.stamp === stamp;
      if (!isUntouched || !holding.cache.has(held)) continue;
      const lease = listed.get(held.key);
      if (lease !== undefined && isSame(lease, held)) continue;
      holding.letGo(held);
      if (lease !== undefined) holding.release(lease);
      this.#o.stats.leasesReleased++;
      this.#o.log("warn", `instance "${held.id}" in memory is not what the store holds: dropped`, {
        ...instanceFields(loggedInstance(held)),
      });
      this.alert();
      this.#o.onReleased();
    }
  }

  #release(instances: readonly InstanceLease[], tasks: readonly TaskLease[]): void {
    const { instances: held, stats, log, onReleased } = this.#o;
    // The outcome of a task may wait for the next turn of its instance. Such a task is looked at again later.
    const isPending = ({ key }: TaskLease): boolean => {
      const instance = held.heldByKey(key);
      if (instance === undefined) return false;
      return instance.state !== "idle" || instance.outcomes.length > 0;
    };
    const free = tasks.filter((task) => !isPending(task));
    if (instances.length + tasks.length > 0) this.alert();
    if (instances.length + free.length === 0) return;
    for (const lease of instances) held.holding.release(lease);
    held.holding.handBack(free);
    stats.leasesReleased += instances.length + free.length;
    const counts = { instances: instances.length, tasks: free.length };
    log(
      "warn",
      "released leases that the store lists for this worker and the worker does not hold; the database may have lost its last commits",
      counts,
    );
    onReleased();
  }
}

function isSame(lease: InstanceLease, held: HeldInstance): boolean {
  return (
    lease.token === held.token &&
    lease.execution === held.execution &&
    lease.lastEvent === held.lastEvent
  );
}
