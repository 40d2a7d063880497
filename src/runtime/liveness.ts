// Liveness: says that this runtime is alive, and takes over from those that are not (architecture §4.7).
//   LV1. A death that is certain is acted on at once; any other only when the beat is stale by the store's clock
//        and our own beats went through for a whole stale time without a gap, so that a store that was away for a
//        while robs nobody. A heartbeat outweighs what the host says: one that arrives after the look saves the
//        runtime, and a runtime that heartbeats again after it was declared gone is left to its heartbeats from then on.
//   LV2. A runtime that was declared dead owns nothing any more: it drops everything and registers anew.
//   LV3. Nothing of it is registered once it has stopped: what was on its way has arrived before the goodbye.
//   LV4. While the liveness thread has no connection, the main loop sends the heartbeats over the store's pool.

import type { Environment } from "../core/environment.ts";
import type { LogSink } from "../core/log.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { Heart, RuntimeRecord, RuntimeRegistration } from "../core/provider/runtimes.ts";
import { isCertainlyGone } from "./process-identity.ts";

const STALE_WITH_HEART_MS = 5_000;
const STALE_WITHOUT_HEART_MS = 30_000;
/** A beat slower than usual moves the time after which a runtime counts as dead. */
const BEATS_TO_STALE = 5;
/** Processes declared gone that are remembered (I12). */
const DECLARED_MAX = 1_000;
/** A longer time between two of our own beats than this many intervals is a gap. */
const GAP_BEATS = 2.5;

export interface LivenessOptions {
  readonly provider: Provider;
  readonly environment: Environment;
  readonly registration: Omit<RuntimeRegistration, "registered">;
  readonly registered: object;
  readonly beatMs: number;
  readonly staleMs: number | undefined;
  readonly stallMs: number;
  readonly log: LogSink;
  /** Leases of a dead runtime were freed. */
  readonly onFreed: () => void;
  /** This runtime was declared dead. */
  readonly onLost: () => void;
}

export class Liveness {
  readonly #o: LivenessOptions;
  #heart: Heart | null = null;
  #steadySince = 0;
  /** When the main loop's own beat last went through; only without a heart. */
  #beatAt = 0;
  readonly #staleMs: number;
  /** Counts them, so that a beat's answer can be told from one about an earlier row. */
  #registrations = 0;
  #stopped = false;
  /** The last time that it registered anew, perhaps still under way: one at a time, so that `stop` waits for all. */
  #return: Promise<void> = Promise.resolve();
  #isReturning = false;
  /** Processes that were declared gone by what the host said (LV1). */
  readonly #declaredGone = new Set<string>();

  constructor(options: LivenessOptions) {
    this.#o = options;
    const usual =
      options.provider.startHeart === undefined ? STALE_WITHOUT_HEART_MS : STALE_WITH_HEART_MS;
    this.#staleMs = options.staleMs ?? Math.max(usual, BEATS_TO_STALE * options.beatMs);
  }

  get heart(): Heart | null {
    return this.#heart;
  }

  async start(): Promise<void> {
    const { provider, registration, beatMs, stallMs } = this.#o;
    await this.#register();
    this.#heart = provider.startHeart?.({ runtimeId: registration.id, beatMs, stallMs }) ?? null;
  }

  async #register(): Promise<void> {
    const { provider, registration, registered, environment } = this.#o;
    const text = JSON.stringify({ ...registered, staleMs: this.#staleMs });
    await provider.registerRuntime({ ...registration, registered: text });
    this.#registrations++;
    this.#steadySince = environment.monotonic();
    this.#beatAt = this.#steadySince;
  }

  /** Called once a beat by the main loop. */
  async beat(): Promise<void> {
    const { provider, registration, environment } = this.#o;
    const heart = this.#heart;
    heart?.turned();
    const asked = this.#registrations;
    let lost: boolean;
    if (heart === null) {
      try {
        lost = !(await provider.beat(registration.id));
        this.#steadyMs(); // notes the gap before the beat closes it
        this.#beatAt = environment.monotonic();
      } catch (error) {
        this.#steadySince = environment.monotonic();
        throw error;
      }
    } else {
      // The heart may speak of the row before we registered anew, or be dead itself: the store knows. One that cannot
      // connect, because the server is out of connections, must not let this runtime look dead (LV4).
      const isAsked = heart.lost() || heart.isSilent();
      lost = isAsked && !(await provider.beat(registration.id));
    }
    if (!lost || this.#stopped) return; // who says goodbye takes its own row away
    if (asked !== this.#registrations) return; // a late answer, about a row that was replaced since
    if (this.#isReturning) return; // it has no row yet
    this.#registrations++;
    this.#o.log("error", "declared dead by another runtime: everything here was given up", {
      runtime: registration.id,
    });
    this.#o.onLost();
    this.#return = this.#registerAnew();
    await this.#return;
  }

  async #registerAnew(): Promise<void> {
    const { provider, registration } = this.#o;
    this.#isReturning = true;
    try {
      // What the store may have given us meanwhile is not known here any more: nobody would work on it (LV2).
      await provider.removeRuntime(registration.id);
      if (!this.#stopped) await this.#register();
    } finally {
      this.#isReturning = false;
    }
  }

  /** Frees what dead runtimes hold. */
  async reap(runtimes: readonly RuntimeRecord[]): Promise<void> {
    const { provider, registration, log } = this.#o;
    for (const other of runtimes) {
      if (other.id === registration.id) continue;
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
      const how = certain ? "is gone" : "stopped beating";
      const isIdle = instances === 0 && tasks === 0;
      log(isIdle ? "debug" : "warn", `runtime ${other.id} ${how}; took over`, { instances, tasks });
      this.#o.onFreed();
    }
  }

  #isGone(other: RuntimeRecord): boolean {
    if (!isCertainlyGone(other.process, this.#o.registration.process)) return false;
    return !this.#declaredGone.has(processKey(other));
  }

  #noteGone(other: RuntimeRecord): void {
    if (this.#declaredGone.size >= DECLARED_MAX) this.#declaredGone.clear();
    this.#declaredGone.add(processKey(other));
  }

  #looksStale(other: RuntimeRecord): boolean {
    const { provider } = this.#o;
    return this.#steadyMs() >= this.#staleMs && provider.now() - other.beatAt > staleMsOf(other);
  }

  /** How long our own beats have gone through; none right after a gap, such as a process that stood still. */
  #steadyMs(): number {
    const { environment, beatMs } = this.#o;
    const now = environment.monotonic();
    const heart = this.#heart;
    if (heart !== null) this.#steadySince = Math.max(this.#steadySince, heart.steadySince());
    else if (now - this.#beatAt > beatMs * GAP_BEATS) this.#steadySince = now;
    return now - this.#steadySince;
  }

  /** From here on the row is not ours to renew; the caller removes it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#heart?.stop();
    this.#heart = null;
    await this.#return.catch(() => undefined); // whoever beat was told
  }
}

function processKey({ id, process }: RuntimeRecord): string {
  return JSON.stringify([id, process]);
}

/** How long that runtime may be silent, by its own word. */
export function staleMsOf(other: RuntimeRecord): number {
  try {
    const registered: unknown = JSON.parse(other.registered);
    if (typeof registered === "object" && registered !== null && "staleMs" in registered) {
      if (typeof registered.staleMs === "number") return registered.staleMs;
    }
  } catch {
    // an unreadable word counts as none
  }
  return STALE_WITHOUT_HEART_MS;
}
