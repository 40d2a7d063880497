// Local starts: instances that this process starts and this runtime leases with the commit that inserts
// them.
//   - local-starts.1: A start is leased only if it can run at once: its orchestration is registered here,
//     it is not delayed, and there is capacity for its turn.
//   - local-starts.2: A start that the begin window holds back is written without a lease
//     (begin-window.ts).
//   - A start whose first turn can run now takes that turn along (first-turns.ts). The start of a job has its first turn
//     already; its task is leased if it can run at once (local-jobs.ts).
//   - local-starts.3: For a delayed start, a timer wakes the intake when it comes due, so it does not
//     wait for the next poll. The timer begins when the start is written: a wake before that finds nothing.

import { ChurningSet } from "../../core/collections/churning-map.ts";
import type { Lease, StartAdopter } from "../../core/commit/start-adopter.ts";
import type { StartItem, StartResult } from "../../core/provider/commit.ts";
import type { EnqueueItem, EnqueueManyItem } from "../../core/provider/enqueue.ts";
import { startTarget } from "../../core/ids/targets.ts";
import type { RuntimeContext } from "../context.ts";
import { leasedFrom } from "./first-turns.ts";
import { isJobStart } from "./local-jobs.ts";

export interface LocalStartsContext extends Pick<
  RuntimeContext,
  "id" | "registry" | "isRunning" | "newToken" | "storeNow"
> {
  readonly options: Pick<
    RuntimeContext["options"],
    "stickyCacheMax" | "turnConcurrency" | "instanceLeaseMs"
  >;
  readonly heldInstances: Pick<RuntimeContext["heldInstances"], "busy" | "isTryingSuspect">;
  readonly window: Pick<RuntimeContext["window"], "isFull">;
  readonly intake: Pick<RuntimeContext["intake"], "wakeInstancesIn">;
  readonly instances: Pick<RuntimeContext["instances"], "take">;
  readonly firstTurns: Pick<RuntimeContext["firstTurns"], "accepts" | "run" | "settled">;
  readonly localJobs: Pick<RuntimeContext["localJobs"], "lease" | "settled">;
  readonly unclaimed: Pick<RuntimeContext["unclaimed"], "requested">;
}

export class LocalStarts implements StartAdopter {
  readonly #runtime: LocalStartsContext;
  /** Tokens of starts whose replies have not arrived yet. */
  readonly #expected = new ChurningSet<number>();

  constructor(runtime: LocalStartsContext) {
    this.#runtime = runtime;
  }

  adopt(item: StartItem, write: (adopted: StartItem) => void): boolean {
    if (isJobStart(item)) {
      const job = this.#runtime.localJobs.lease(item);
      if (job !== null) write(job);
      return job !== null;
    }
    const { registry, firstTurns } = this.#runtime;
    const definition = registry.orchestration(item.name, item.version);
    if (isDelayed(item)) {
      if (definition === undefined) return false;
      write(item); // local-starts.3
      return true;
    }
    const lease = this.#lease(item);
    if (lease === null) return false;
    const start = { ...item, lease };
    if (definition === undefined || !firstTurns.accepts(item, definition)) write(start);
    else firstTurns.run(start, definition, write);
    return true;
  }

  #lease(item: StartItem): Lease | null {
    const { id: owner, registry, options, window, unclaimed } = this.#runtime;
    const { name, version } = item;
    if (registry.orchestration(name, version) === undefined) {
      const oldestAt = this.#runtime.storeNow();
      unclaimed.requested({ kind: "instance", target: startTarget(name, version), oldestAt });
      return null;
    }
    if (this.#freeTurns <= this.#expected.size) return null;
    if (window.isFull(name, item.priority)) return null; // local-starts.2
    const token = this.#runtime.newToken();
    this.#expected.add(token);
    const { instanceLeaseMs: leaseMs } = options;
    return leaseMs === undefined ? { owner, token } : { owner, token, leaseMs };
  }

  /** How many more instances may begin a turn. */
  get #freeTurns(): number {
    const { isRunning, heldInstances, options } = this.#runtime;
    if (!isRunning || heldInstances.isTryingSuspect || options.stickyCacheMax === 0) return 0;
    return options.turnConcurrency - heldInstances.busy;
  }

  /** The tokens of starts whose replies have not arrived yet. */
  get expected(): Iterable<number> {
    return this.#expected;
  }
  /** Whether the token is one of them. */
  isExpected(token: number): boolean {
    return this.#expected.has(token);
  }

  /** local-starts.3 */
  enqueued(item: EnqueueItem | EnqueueManyItem): void {
    const { intake, storeNow } = this.#runtime;
    if (item.kind === "enqueueMany") {
      let soonest = Infinity;
      for (const start of item.starts) soonest = Math.min(soonest, delayOf(start, storeNow));
      if (soonest < Infinity) intake.wakeInstancesIn(soonest);
      return;
    }
    const delayMs = delayOf(item, storeNow);
    if (delayMs < Infinity) intake.wakeInstancesIn(delayMs);
  }

  settled(item: StartItem, result: StartResult): void {
    if (isJobStart(item)) return this.#runtime.localJobs.settled(item, result);
    const { firstTurns, instances, intake, storeNow } = this.#runtime;
    const { lease, delayMs, dueAt = 0 } = item;
    if (isDelayed(item)) intake.wakeInstancesIn(delayMs ?? dueAt - storeNow());
    if (lease === null) return;
    const start = { ...item, lease };
    this.#expected.delete(lease.token);
    if (firstTurns.settled(start, result)) return;
    if (result.kind !== "started" || result.leased === null) return;
    const { key, execution, leased } = result;
    instances.take({ ...leasedFrom(start, key), execution, messages: [leased] });
  }
}

/** After which time the start becomes due; Infinity: at once, or by the end of another instance. */
function delayOf(item: StartItem | EnqueueItem, storeNow: () => number): number {
  if (item.kind === "start") {
    const { delayMs, dueAt } = item;
    return delayMs ?? (dueAt === undefined ? Infinity : dueAt - storeNow());
  }
  const { key, start } = item;
  if (key.kind === "debounce") return key.waitMs;
  return key.kind === "throttle" ? key.perMs : delayOf(start, storeNow);
}

function isDelayed({ delayMs, dueAt }: StartItem): boolean {
  return delayMs !== undefined || dueAt !== undefined;
}
