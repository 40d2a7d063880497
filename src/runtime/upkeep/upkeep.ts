// The upkeep loop: what a runtime does periodically, with or without notifications.
//   - There is one timer. Heartbeats, renewals and the check of the store have their own periods, each a
//     multiple of the timer's period.
//   - The check is one statement. Further requests are sent only for what it found.
//   - An error of the store ends only the current tick.
//   - It does not begin turns or attempts: it wakes the intake.

import type { TimerHandle } from "../../core/time/environment.ts";
import type { RuntimeContext } from "../context.ts";
import { LeaseRenewal } from "../instances/lease-renewal.ts";

export class Upkeep {
  readonly #runtime: RuntimeContext;
  readonly #renewal: LeaseRenewal;
  readonly #periodMs: number;
  #timer: TimerHandle | null = null;
  #count = 0;
  #stopped = false;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
    this.#renewal = new LeaseRenewal(runtime);
    const { beatMs, pollIntervalMs } = runtime.options;
    this.#periodMs = Math.min(beatMs, pollIntervalMs, this.#renewal.everyMs ?? Infinity);
  }

  /** Registers the runtime with the store. */
  async start(): Promise<void> {
    const { liveness, committer, onStoreError } = this.#runtime;
    await liveness.start();
    committer.onCommitError.add(onStoreError);
  }

  /** Takes over from dead runtimes, then lets the intake begin and begins to tick. */
  async begin(): Promise<void> {
    const { provider, liveness, intake, onStoreError } = this.#runtime;
    await provider.listRuntimes().then((list) => liveness.reap(list), onStoreError);
    intake.wake();
    this.#schedule();
  }

  /** Ends the sweeps. Heartbeats continue until `end`, because running work may still finish. */
  stop(): void {
    this.#runtime.retention.stop();
    this.#runtime.queues.report();
    this.#runtime.committer.onCommitError.delete(this.#runtime.onStoreError);
  }

  /** Ends the heartbeats and removes the runtime's row. Returns whether the row is removed. */
  async end(): Promise<boolean> {
    const { id, provider, liveness, onStoreError } = this.#runtime;
    this.#stopped = true;
    this.#timer?.cancel();
    await liveness.stop();
    try {
      await provider.removeRuntime(id);
      return true;
    } catch (error) {
      onStoreError(error);
      return false;
    }
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#timer = this.#runtime.environment.setTimer(this.#periodMs, () => {
      void this.#tick(this.#count++).catch(this.#runtime.onStoreError);
      this.#schedule();
    });
  }

  async #tick(count: number): Promise<void> {
    const { id, provider, options, storeOutage, intake } = this.#runtime;
    const { heldInstances, steps, sessions, queues, retention, keptExpiry } = this.#runtime;
    const { liveness, leaseCheck, lostLeases, unclaimed } = this.#runtime;
    const every = (ms: number): boolean =>
      count % Math.max(Math.round(ms / this.#periodMs), 1) === 0;
    if (every(options.beatMs)) await liveness.beat();
    if (!this.#runtime.isRunning) return;
    await this.#renewal.tick(this.#runtime.monotonic());
    if (!every(options.pollIntervalMs)) return;

    const now = this.#runtime.monotonic();
    heldInstances.sweep();
    steps.tick();
    retention.tick(now);
    keptExpiry.tick(now);
    queues.tick(now);
    await sessions.tick(now);

    const summary = await provider.peek({ owner: id });
    storeOutage.answered();
    storeOutage.clockSetBack(summary.clockSetBackMs ?? 0);
    leaseCheck.serverIs(summary.server);
    queues.onSummary(summary);
    if (summary.instances || summary.tasks) intake.wake();
    await lostLeases.checkTasks();
    await liveness.reap(summary.runtimes);
    await unclaimed.onSummary(summary);
    await leaseCheck.tick();
  }

  /** This runtime was declared dead, so it owns nothing anymore (liveness.2). */
  dropAllLeases(): void {
    const { activities, heldInstances, intake } = this.#runtime;
    for (const task of activities.claims) activities.lose(task);
    heldInstances.dropAll();
    intake.wake();
  }
}
