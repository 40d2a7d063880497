// The sessions of this runtime: which have running tasks, how many more may be claimed, and their
// renewal.
//   - A session is in use while a task of it runs here. At capacity, only tasks of sessions in use are
//     taken (semantics 15).
//   - The main loop renews sessions, so a stalled loop loses them, like leases with an expiry time. A
//     task that runs longer than the idle time keeps its session (sessions.4).
//   - attempts.sessions.1: A task of a session that this runtime holds is pre-leased if the session is in
//     use, or if this runtime may serve one more session and no other session may be waiting. The store
//     checks the claim (sessions.5). A claim that was not used for a lease time is not used again.
//   - A runtime that never took a task with a session sends no requests from here, except for the
//     cleanup.
//   - Runtimes with the same workerNodeId own sessions together. A runtime that leaves releases them only
//     if no other runtime with that id is registered.

import type { TimerHandle } from "../../core/time/environment.ts";
import type { SessionClaim, SessionRequest } from "../../core/provider/tasks.ts";
import type { RuntimeContext } from "../context.ts";

/** How many claims are remembered (I12). */
const CLAIMS_MAX = 1_000;

interface KnownClaim {
  readonly claim: SessionClaim;
  readonly usedAt: number;
}

export class Sessions {
  readonly #runtime: RuntimeContext;
  /** The number of tasks of each session that run here or are being pre-leased. */
  readonly #inUse = new Map<string, number>();
  /** The claims of this runtime by session; the first was not used for the longest time. */
  readonly #claims = new Map<string, KnownClaim>();
  /** Runs while this runtime may hold sessions. */
  #timer: TimerHandle | null = null;
  #cleanedAt: number;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
    this.#cleanedAt = runtime.monotonic();
  }

  get owner(): string {
    return this.#runtime.options.workerNodeId ?? this.#runtime.id;
  }
  get isFull(): boolean {
    return this.#inUse.size >= this.#runtime.options.maxSessionsPerRuntime;
  }

  /** A task of the session runs here, under this claim. */
  enter(session: string, claim: SessionClaim | undefined): void {
    if (this.#timer === null) this.#schedule();
    this.#count(session);
    if (claim === undefined) return;
    this.#claims.delete(session); // moves the claim to the end of the order
    this.#claims.set(session, { claim, usedAt: this.#runtime.monotonic() });
    if (this.#claims.size > CLAIMS_MAX) this.#forgetOldest();
  }
  leave(session: string): void {
    const left = (this.#inUse.get(session) ?? 1) - 1;
    if (left === 0) this.#inUse.delete(session);
    else this.#inUse.set(session, left);
  }

  /**
   * Counts a task that is about to be pre-leased as one of the session, and returns the claim. Null: the task
   * must go through the queue (attempts.sessions.1).
   */
  reserve(session: string): SessionClaim | null {
    const { options, monotonic, intake } = this.#runtime;
    const known = this.#claims.get(session);
    if (known === undefined || monotonic() - known.usedAt >= options.sessionLeaseMs) return null;
    if (!this.#inUse.has(session) && (this.isFull || intake.sessionsWait)) return null;
    this.#count(session);
    return known.claim;
  }

  /** The task was not pre-leased. The store may have refused the claim, so the next task is queued. */
  takeBack(session: string): void {
    this.leave(session);
    this.#claims.delete(session);
  }

  #count(session: string): void {
    this.#inUse.set(session, (this.#inUse.get(session) ?? 0) + 1);
  }

  #forgetOldest(): void {
    for (const session of this.#claims.keys()) {
      this.#claims.delete(session);
      break;
    }
  }

  /** What a request for tasks may claim; null: this runtime takes no tasks with a session. */
  request(token: number): SessionRequest | null {
    const { sessionLeaseMs: leaseMs, maxSessionsPerRuntime: max } = this.#runtime.options;
    if (max === 0) return null;
    const inFlight = [...this.#inUse.keys()];
    const newMax = Math.max(max - inFlight.length, 0);
    return { owner: this.owner, token, leaseMs, newMax, inFlight };
  }

  /** Cleans up expired sessions if a cleanup is due. */
  async tick(now: number): Promise<void> {
    const { provider, options } = this.#runtime;
    if (now - this.#cleanedAt < options.sessionCleanupMs) return;
    this.#cleanedAt = now;
    await provider.cleanSessions();
  }

  #schedule(): void {
    const { wheel, monotonic, options, onStoreError } = this.#runtime;
    this.#timer = wheel.schedule(monotonic() + options.sessionLeaseMs / 3, () => {
      this.#schedule(); // the next renewal, even if this one fails
      this.#renew().catch(onStoreError);
    });
  }

  async #renew(): Promise<void> {
    const { provider, options, activities } = this.#runtime;
    const { sessionLeaseMs: leaseMs, sessionIdleMs: idleMs, taskLeaseMs } = options;
    const claims = activities.claims.filter((task) => task.session !== null);
    if (claims.length > 0) {
      const lost = await provider.renewTasks(claims, taskLeaseMs ?? leaseMs);
      for (const claim of lost) activities.lose(claim);
    }
    const renewed = await provider.renewSessions({ owner: this.owner, leaseMs, idleMs });
    if (renewed > 0 || this.#inUse.size > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
    this.#claims.clear();
  }

  /** Releases the sessions of this runtime, at shutdown. */
  async release(): Promise<void> {
    if (this.#timer === null) return;
    this.#timer.cancel();
    const { provider, id: runtimeId, options } = this.#runtime;
    if (options.workerNodeId !== undefined) {
      const others = await provider.listRuntimes();
      if (others.some(({ id, nodeId }) => nodeId === this.owner && id !== runtimeId)) return;
    }
    await provider.releaseSessions(this.owner);
  }
}
