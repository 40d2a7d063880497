// Liveness: sends the heartbeats of this runtime and takes over from dead runtimes (ARCHITECTURE.md,
// "Liveness").
//   - liveness.1: A runtime that is certainly dead is expired at once. Any other is expired only if its
//     heartbeat is stale by the store's clock and this runtime's own heartbeats have succeeded for a
//     whole `staleMs` without a gap. So an outage of the store causes no takeover. A heartbeat outweighs
//     what the host reports: a heartbeat that arrives after the check saves the runtime, and a runtime
//     that sends heartbeats after the host reported it gone is judged only by its heartbeats from then
//     on.
//   - liveness.2: A runtime that was declared dead owns nothing anymore. It drops everything and
//     registers again.
//   - liveness.3: After `stop` the runtime does not register again. A registration in flight completes
//     before its row is removed.
//   - liveness.4: While the liveness thread has no connection, the main loop sends the heartbeats over
//     the store's pool.
//   - liveness.5: A drive has no thread, and all its leases end by themselves. It counts as dead once its heartbeat is older
//     than any of its leases can be. That causes no takeover that the end of its leases would not cause, so another
//     runtime may expire it without having sent heartbeats for a while. A drive is often short: it expires another
//     runtime once its own heartbeats have succeeded for the stale time of that runtime.

import { hostname } from "node:os";
import type {
  LivenessThread,
  ProcessIdentity,
  RuntimeRecord,
} from "../../core/provider/runtimes.ts";
import type { RuntimeContext } from "../context.ts";
import type { ResolvedOptions } from "../options.ts";
import { isCertainlyGone, ownIdentity } from "./process-identity.ts";

const STALE_WITH_THREAD_MS = 5_000;
const STALE_WITHOUT_THREAD_MS = 30_000;
/**
 * With a slower heartbeat, the time after which a runtime counts as dead grows to this many intervals.
 */
const BEATS_TO_STALE = 5;
/** How many processes reported gone are remembered (I12). */
const DECLARED_MAX = 1_000;
/** A longer time between two of our own heartbeats than this many intervals is a gap. */
const GAP_BEATS = 2.5;

export type LivenessContext = Pick<
  RuntimeContext,
  "id" | "isDrive" | "provider" | "environment" | "log"
> & {
  readonly options: Pick<
    ResolvedOptions,
    "beatMs" | "staleMs" | "stallMs" | "workerNodeId" | "instanceLeaseMs" | "taskLeaseMs"
  >;
  readonly registered: object;
  readonly registry: Pick<RuntimeContext["registry"], "flows">;
  readonly intake: Pick<RuntimeContext["intake"], "wake">;
  readonly upkeep: Pick<RuntimeContext["upkeep"], "dropAllLeases">;
};

export class Liveness {
  readonly #runtime: LivenessContext;
  readonly #process: ProcessIdentity | null;
  #thread: LivenessThread | null = null;
  #steadySince = 0;
  /** When the main loop's last heartbeat succeeded; only used without a liveness thread. */
  #beatAt = 0;
  readonly #staleMs: number;
  /** The number of registrations, to recognise a reply that concerns an earlier row. */
  #registrations = 0;
  #stopped = false;
  /**
   * The last registration after a loss, perhaps still in flight. There is one at a time, and `stop` waits
   * for it.
   */
  #return: Promise<void> = Promise.resolve();
  #isReturning = false;
  /** Processes that were expired because the host reported them gone (liveness.1). */
  readonly #declaredGone = new Set<string>();

  constructor(runtime: LivenessContext, process = ownIdentity()) {
    this.#runtime = runtime;
    this.#process = process;
    const { isDrive } = runtime;
    const hasThread = !isDrive && runtime.provider.startLivenessThread !== undefined;
    const usual = hasThread ? STALE_WITH_THREAD_MS : STALE_WITHOUT_THREAD_MS;
    const { staleMs, beatMs, instanceLeaseMs = 0, taskLeaseMs = 0 } = runtime.options;
    const wanted = staleMs ?? Math.max(usual, BEATS_TO_STALE * beatMs);
    this.#staleMs = isDrive ? Math.max(wanted, instanceLeaseMs, taskLeaseMs) : wanted; // liveness.5
  }

  get thread(): LivenessThread | null {
    return this.#thread;
  }

  async start(): Promise<void> {
    const { id: runtimeId, isDrive, provider, options } = this.#runtime;
    const { beatMs, stallMs } = options;
    await this.#register();
    if (isDrive) return; // liveness.5
    this.#thread = provider.startLivenessThread?.({ runtimeId, beatMs, stallMs }) ?? null;
  }

  async #register(): Promise<void> {
    const { id, isDrive, provider, registered, registry, environment, options } = this.#runtime;
    const host = hostname();
    const liveness = { staleMs: this.#staleMs, ...(isDrive ? { isDrive } : {}) };
    await provider.registerRuntime({
      id,
      nodeId: options.workerNodeId ?? `${host}:${process.pid}`,
      process: this.#process,
      hostname: host,
      registered: JSON.stringify({ ...registered, flows: registry.flows, ...liveness }),
    });
    this.#registrations++;
    this.#steadySince = environment.monotonic();
    this.#beatAt = this.#steadySince;
  }

  /** Called by the main loop once per heartbeat interval. */
  async beat(): Promise<void> {
    const { id, provider, environment } = this.#runtime;
    const thread = this.#thread;
    thread?.turned();
    const registrations = this.#registrations;
    let lost: boolean;
    if (thread === null) {
      try {
        lost = !(await provider.beat(id));
        this.#steadyMs(); // records the gap, if any, before this heartbeat closes it
        this.#beatAt = environment.monotonic();
      } catch (error) {
        this.#steadySince = environment.monotonic();
        throw error;
      }
    } else {
      // The thread may report on the row of an earlier registration, or be dead itself, so the store is
      // asked. A thread that cannot connect, because the server is out of connections, must not make this
      // runtime look dead (liveness.4).
      const mustAskStore = thread.lost() || thread.isSilent();
      lost = mustAskStore && !(await provider.beat(id));
    }
    if (!lost || this.#stopped) return; // at shutdown the runtime removes its own row
    if (registrations !== this.#registrations) return; // a late reply about a row that was replaced since
    if (this.#isReturning) return; // a new registration is in flight
    this.#registrations++;
    const what = "declared dead by another runtime: dropped all leases, registering again";
    this.#runtime.log("error", what, { runtime: id });
    this.#runtime.upkeep.dropAllLeases();
    this.#return = this.#registerAgain();
    await this.#return;
  }

  async #registerAgain(): Promise<void> {
    const { id, provider } = this.#runtime;
    this.#isReturning = true;
    try {
      // The store may have given this runtime leases in the meantime that it does not know. Removing the
      // row frees them (liveness.2).
      await provider.removeRuntime(id);
      if (!this.#stopped) await this.#register();
    } finally {
      this.#isReturning = false;
    }
  }

  /** Frees the leases of dead runtimes. */
  async reap(runtimes: readonly RuntimeRecord[]): Promise<void> {
    const { id, provider, log, intake } = this.#runtime;
    for (const other of runtimes) {
      if (other.id === id) continue;
      const certain = this.#isGone(other);
      if (!certain && !this.#looksStale(other)) continue;
      const result = await provider.expireRuntime(
        certain
          ? { id: other.id, staleMs: null, beatAt: other.beatAt }
          : { id: other.id, staleMs: staleMsOf(other) },
      );
      if (!result.expired) continue;
      if (certain) this.#noteGone(other);
      const { instances, tasks } = result;
      const how = certain ? "is gone" : "stopped sending heartbeats";
      const isIdle = instances === 0 && tasks === 0;
      log(isIdle ? "debug" : "warn", `runtime ${other.id} ${how}; took over`, { instances, tasks });
      intake.wake();
    }
  }

  /** Whether the runtime is gone or silent for too long. It may not be expired yet (liveness.1). */
  seemsDead(other: RuntimeRecord, now: number): boolean {
    return other.id !== this.#runtime.id && (this.#isGone(other) || isSilent(other, now));
  }

  #isGone(other: RuntimeRecord): boolean {
    if (!isCertainlyGone(other.process, this.#process)) return false;
    return !this.#declaredGone.has(processKey(other));
  }

  #noteGone(other: RuntimeRecord): void {
    if (this.#declaredGone.size >= DECLARED_MAX) this.#declaredGone.clear();
    this.#declaredGone.add(processKey(other));
  }

  #looksStale(other: RuntimeRecord): boolean {
    const { provider } = this.#runtime;
    const { staleMs, isDrive } = livenessOf(other);
    const neededMs = this.#runtime.isDrive ? staleMs : this.#staleMs; // liveness.5
    return (isDrive || this.#steadyMs() >= neededMs) && isSilent(other, provider.now());
  }

  /**
   * For how long our own heartbeats have succeeded. Zero right after a gap, for example after the process
   * was suspended.
   */
  #steadyMs(): number {
    const { environment, options } = this.#runtime;
    const now = environment.monotonic();
    const thread = this.#thread;
    if (thread !== null) this.#steadySince = Math.max(this.#steadySince, thread.steadySince());
    else if (now - this.#beatAt > options.beatMs * GAP_BEATS) this.#steadySince = now;
    return now - this.#steadySince;
  }

  /** Ends the heartbeats. The caller removes the row. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#thread?.stop();
    this.#thread = null;
    await this.#return.catch(() => undefined); // the caller of `beat` got the error
  }
}

function processKey({ id, process }: RuntimeRecord): string {
  return JSON.stringify([id, process]);
}

function isSilent(other: RuntimeRecord, now: number): boolean {
  return now - other.beatAt > staleMsOf(other);
}

/** How long that runtime may be silent, as it registered it. */
export function staleMsOf(other: RuntimeRecord): number {
  return livenessOf(other).staleMs;
}

/** What that runtime registered about its heartbeats. */
function livenessOf({ registered }: RuntimeRecord): {
  readonly staleMs: number;
  readonly isDrive: boolean;
} {
  try {
    const { staleMs, isDrive } = JSON.parse(registered) as Readonly<Record<string, unknown>>;
    if (typeof staleMs === "number") return { staleMs, isDrive: isDrive === true };
  } catch {
    // a registration that cannot be parsed counts as none
  }
  return { staleMs: STALE_WITHOUT_THREAD_MS, isDrive: false };
}
