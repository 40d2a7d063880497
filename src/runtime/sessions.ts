// Sessions of this runtime: which are under way, how many more may be taken, and keeping what it holds.
//   SN1. Under way is a session with a running task here. At capacity only those are served (semantics 15).
//   SN2. Kept by the main loop: a loop that stands still loses its sessions, as it loses leases with a time. A
//        task that runs longer than the idle time keeps its session in use (SE4).
//   SN3. A runtime that never took a session's task asks nothing of the store here, but for the clean-up.
//   SN4. Runtimes with one workerNodeId own sessions together: who leaves gives up what no sibling is there to keep.

import type { TimerHandle } from "../core/environment.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { SessionRequest } from "../core/provider/tasks.ts";
import type { TimerWheel } from "../core/timer-wheel.ts";
import type { ActivityRunner } from "./activity-runner.ts";
import type { ResolvedOptions } from "./options.ts";

export interface SessionsOptions {
  readonly runtimeId: string;
  readonly provider: Provider;
  readonly options: ResolvedOptions;
  readonly wheel: TimerWheel;
  readonly monotonic: () => number;
  readonly trouble: (error: unknown) => void;
  /** Made after this, which it tells. */
  readonly activities: () => ActivityRunner;
}

export class Sessions {
  readonly #o: SessionsOptions;
  readonly #underWay = new Map<string, number>();
  /** Runs while sessions may be held here. */
  #timer: TimerHandle | null = null;
  #cleanedAt: number;

  constructor(options: SessionsOptions) {
    this.#o = options;
    this.#cleanedAt = options.monotonic();
  }

  get owner(): string {
    return this.#o.options.workerNodeId ?? this.#o.runtimeId;
  }
  get isFull(): boolean {
    return this.#underWay.size >= this.#o.options.maxSessionsPerRuntime;
  }

  enter(session: string): void {
    if (this.#timer === null) this.#schedule();
    this.#underWay.set(session, (this.#underWay.get(session) ?? 0) + 1);
  }
  leave(session: string): void {
    const left = (this.#underWay.get(session) ?? 1) - 1;
    if (left === 0) this.#underWay.delete(session);
    else this.#underWay.set(session, left);
  }

  /** What a lease of tasks may claim; null: this runtime takes no session's tasks. */
  request(token: number): SessionRequest | null {
    const { sessionLeaseMs: leaseMs, maxSessionsPerRuntime: max } = this.#o.options;
    if (max === 0) return null;
    const inFlight = [...this.#underWay.keys()];
    const newMax = Math.max(max - inFlight.length, 0);
    return { owner: this.owner, token, leaseMs, newMax, inFlight };
  }

  /** Cleans when it is time. */
  async tick(now: number): Promise<void> {
    const { provider, options } = this.#o;
    if (now - this.#cleanedAt < options.sessionCleanupMs) return;
    this.#cleanedAt = now;
    await provider.cleanSessions();
  }

  #schedule(): void {
    const { wheel, monotonic, options, trouble } = this.#o;
    this.#timer = wheel.schedule(monotonic() + options.sessionLeaseMs / 3, () => {
      this.#schedule(); // the next one, whatever becomes of this one
      this.#keep().catch(trouble);
    });
  }

  async #keep(): Promise<void> {
    const { provider, options } = this.#o;
    const { sessionLeaseMs: leaseMs, sessionIdleMs: idleMs, taskLeaseMs } = options;
    const activities = this.#o.activities();
    const claims = activities.claims.filter((task) => task.session !== null);
    if (claims.length > 0) {
      const lost = await provider.renewTasks(claims, taskLeaseMs ?? leaseMs);
      for (const claim of lost) activities.lose(claim);
    }
    const kept = await provider.renewSessions({ owner: this.owner, leaseMs, idleMs });
    if (kept > 0 || this.#underWay.size > 0) return;
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** Gives up what is held, at an orderly end. */
  async release(): Promise<void> {
    if (this.#timer === null) return;
    this.#timer.cancel();
    const { provider, runtimeId, options } = this.#o;
    if (options.workerNodeId !== undefined) {
      const others = await provider.listRuntimes();
      if (others.some(({ id, nodeId }) => nodeId === this.owner && id !== runtimeId)) return;
    }
    await provider.releaseSessions(this.owner);
  }
}
