// Lifecycle: starts and stops the three loops of one context (context.ts creates its parts).
//   - Work is leased only between start and shutdown. Shutdown resolves as soon as everything is done or
//     the grace period is over. It hands the rest back, and that does not count as an attempt.
//   - The lifecycle does not close the provider.
//   States: new → running → stopping → stopped.

import type { OpenedStore } from "../core/define/definitions.ts";
import type { News } from "../core/provider/notifications.ts";
import { makeLogger } from "../core/telemetry/log.ts";
import type { RuntimeFigures } from "../core/telemetry/telemetry.ts";
import type { RuntimeContext } from "./context.ts";
import { installGuards } from "./guards/guards.ts";
import { watchRejections } from "./guards/rejections.ts";
import { observe } from "./health/observation.ts";
import { warnOfRunTimeLimits } from "./health/run-time-limits.ts";
import type { RuntimeCounts } from "./health/stats.ts";

/** The pauses between two looks at running work. They grow, because an activity may take the whole grace period. */
const PAUSE_MIN_MS = 2;
const PAUSE_GROWTH = 1.25;
const PAUSE_MAX_MS = 50;

export class Lifecycle {
  readonly context: RuntimeContext;
  readonly #stopped = Promise.withResolvers<void>();
  #cleanups: (() => void)[] = [];
  #watches: (() => void)[] = [];
  #isRowRemoved = true;

  constructor(context: RuntimeContext) {
    this.context = context;
  }

  /** Resolves when the loops have stopped. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  /** False: the store may still list the runtime and its leases. */
  get isRowRemoved(): boolean {
    return this.#isRowRemoved;
  }

  stats(): RuntimeCounts {
    const { stats, activities, heldInstances } = this.context;
    return {
      ...stats,
      activities: { ...activities.stats, active: activities.active },
      cachedInstances: heldInstances.cache.size,
    };
  }

  /** Registers with the store and begins to lease work. */
  async start(): Promise<void> {
    const { provider, options, guards, attempts, queues, instances, upkeep } = this.context;
    this.context.state = "running";
    warnOfRunTimeLimits();
    await this.context.signer?.open();
    await attempts.start();
    this.#isRowRemoved = false;
    await upkeep.start();
    await queues.start();
    instances.start();
    // Kept until the very end, because user code still runs within the grace period of a shutdown.
    this.#watches = [watchRejections(options.log), installGuards(guards)];
    this.#cleanups = [provider.subscribe((changes) => this.#onChanges(changes)), this.#observe()];
    await upkeep.begin();
  }

  /** Calls `onOpen` of the registered definitions that have one. */
  async openDefinitions(): Promise<void> {
    const { id, provider, registry, wiring, options, callbacks } = this.context;
    const { codec, limits, telemetry, keepFor, log } = options;
    const hooks = registry.orchestrations.flatMap(({ onOpen }) => onOpen ?? []);
    if (hooks.length === 0) return;
    const settings = { codec, limits, telemetry, keepFor, ...callbacks };
    const client = wiring.makeClient(provider, settings);
    const opened: OpenedStore = { client, log: makeLogger(log), runtimeId: id };
    await Promise.all(hooks.map((onOpen) => onOpen(opened)));
  }

  #observe(): () => void {
    const { id, provider, options, committer } = this.context;
    const { telemetry } = options;
    if (telemetry === null) return () => undefined;
    const figures = (): RuntimeFigures => {
      const { activities, cachedInstances, ...counts } = this.stats();
      const { refusedTurns, evictions, blocked, loopStalls, loopStallMaxMs } = counts;
      const held = { activeActivities: activities.active, cachedInstances };
      const counted = { refusedTurns, evictions, blocked, loopStalls, loopStallMaxMs };
      return { runtimeId: id, ...held, ...counted };
    };
    return observe({ telemetry, committer, provider, figures });
  }

  /** Stops leasing work, lets running work finish within the grace period, and hands the rest back. */
  async shutdown(graceMs: number): Promise<void> {
    const { context } = this;
    const { instances, attempts, upkeep } = context;
    if (context.state === "stopping" || context.state === "stopped") return this.stopped;
    const wasRunning = context.state === "running";
    context.state = "stopping";
    if (wasRunning) {
      for (const cleanup of this.#cleanups.splice(0)) cleanup();
      instances.stop();
      attempts.stop();
      upkeep.stop();
      await this.#quiet(graceMs);
      await attempts.end();
      instances.end();
      for (const unwatch of this.#watches.splice(0)) unwatch();
      this.#isRowRemoved = await upkeep.end();
    }
    context.wheel.clear();
    context.state = "stopped";
    this.#stopped.resolve();
  }

  /** Waits until nothing runs. Instances that became idle in the meantime are released, too. */
  async #quiet(graceMs: number): Promise<void> {
    const { environment, attempts, instances, heldInstances } = this.context;
    const until = environment.monotonic() + graceMs;
    const isQuiet = (): boolean => attempts.isQuiet && instances.isQuiet;
    for (let pauseMs = PAUSE_MIN_MS; ; pauseMs = Math.min(pauseMs * PAUSE_GROWTH, PAUSE_MAX_MS)) {
      if (isQuiet()) heldInstances.evictAll();
      const leftMs = until - environment.monotonic();
      if (isQuiet() || leftMs <= 0) return;
      const waitMs = Math.min(pauseMs, leftMs);
      await new Promise<void>((resolve) => void environment.setTimer(waitMs, resolve));
    }
  }

  #onChanges(changes: News): void {
    const { intake, lostLeases } = this.context;
    if (changes.elsewhere) {
      intake.wake();
      void lostLeases.checkTasks();
      return;
    }
    intake.onChanges(changes);
    lostLeases.onChanged(changes.changed);
  }
}
