// The runtime: start and shutdown of the engine in one process. context.ts creates its parts.
//   - It starts and stops the three loops: instances, attempts and upkeep.
//   - Work is leased only between start and shutdown. Shutdown resolves as soon as everything is done or
//     the grace period is over. It hands the rest back, and that does not count as an attempt.
//   - The runtime does not close the provider.
//   States: new → running → stopping → stopped.

import type { OpenedStore } from "../core/define/definitions.ts";
import { makeLogger } from "../core/telemetry/log.ts";
import { checkMembers, checkInteger, invalidArgument } from "../core/checks.ts";
import type { News } from "../core/provider/notifications.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { RuntimeFigures } from "../core/telemetry/telemetry.ts";
import { installGuards } from "./guards/guards.ts";
import { observe } from "./health/observation.ts";
import { RuntimeContext } from "./context.ts";
import type { Registry } from "./registry.ts";
import { watchRejections } from "./guards/rejections.ts";
import type { RuntimeStart, RuntimeWiring } from "./wiring.ts";

export class Runtime {
  readonly id: string;
  readonly #context: RuntimeContext;
  readonly #stopped = Promise.withResolvers<void>();
  #cleanups: (() => void)[] = [];
  #watches: (() => void)[] = [];

  constructor(provider: Provider, options: RuntimeStart, wiring: RuntimeWiring) {
    this.#context = new RuntimeContext(provider, options, wiring);
    this.id = this.#context.id;
  }

  /** Resolves when the runtime has shut down. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  registered(): ReturnType<Registry["list"]> {
    return this.#context.registry.list();
  }

  stats() {
    const { stats, activities, heldInstances } = this.#context;
    return {
      ...stats,
      activities: { ...activities.stats, active: activities.active },
      cachedInstances: heldInstances.cache.size,
    };
  }

  /** Registers with the store, begins to lease work and calls `onOpen` of the registered definitions. */
  async start(): Promise<void> {
    const { provider, options, guards, attempts, instances, upkeep } = this.#context;
    if (this.#context.state !== "new") {
      throw invalidArgument("A runtime can start only once; create a new one.");
    }
    this.#context.state = "running";
    await this.#context.signer?.open();
    await attempts.start();
    await upkeep.start();
    instances.start();
    // Kept until the very end, because user code still runs within the grace period of a shutdown.
    this.#watches = [watchRejections(options.log), installGuards(guards)];
    this.#cleanups = [provider.subscribe((changes) => this.#onChanges(changes)), this.#observe()];
    await upkeep.begin();
    try {
      await this.#openDefinitions();
    } catch (error) {
      await this.shutdown({ graceMs: 0 });
      throw error;
    }
  }

  /** Calls `onOpen` of the registered definitions that have one. */
  async #openDefinitions(): Promise<void> {
    const { provider, registry, wiring, options, callbacks } = this.#context;
    const { codec, limits, telemetry, keepFor, log } = options;
    const hooks = registry.orchestrations.flatMap(({ onOpen }) => onOpen ?? []);
    if (hooks.length === 0) return;
    const settings = { codec, limits, telemetry, keepFor, ...callbacks };
    const client = wiring.makeClient(provider, settings);
    const opened: OpenedStore = { client, log: makeLogger(log), runtimeId: this.id };
    await Promise.all(hooks.map((onOpen) => onOpen(opened)));
  }

  #observe(): () => void {
    const { provider, options, committer } = this.#context;
    const { telemetry } = options;
    if (telemetry === null) return () => undefined;
    const figures = (): RuntimeFigures => {
      const { activities, cachedInstances, ...counts } = this.stats();
      const { refusedTurns, evictions, blocked, loopStalls, loopStallMaxMs } = counts;
      const held = { activeActivities: activities.active, cachedInstances };
      const counted = { refusedTurns, evictions, blocked, loopStalls, loopStallMaxMs };
      return { runtimeId: this.id, ...held, ...counted };
    };
    return observe({ telemetry, committer, provider, figures });
  }

  /** Stops leasing work, lets running work finish within the grace period, and hands the rest back. */
  async shutdown(options: { readonly graceMs?: number } = {}): Promise<void> {
    checkMembers(options, { graceMs: true }, "shutdown");
    checkInteger(options.graceMs, 0, "graceMs");
    const { graceMs = 10_000 } = options;
    const context = this.#context;
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
      await upkeep.end();
    }
    context.wheel.clear();
    context.state = "stopped";
    this.#stopped.resolve();
  }

  async #quiet(graceMs: number): Promise<void> {
    const { environment, attempts, instances } = this.#context;
    const until = environment.monotonic() + graceMs;
    while (!(attempts.isQuiet && instances.isQuiet) && environment.monotonic() < until) {
      await new Promise<void>((resolve) => void environment.setTimer(2, resolve));
    }
  }

  #onChanges(changes: News): void {
    const { intake, lostLeases } = this.#context;
    if (changes.elsewhere) {
      intake.wake();
      void lostLeases.checkTasks();
      return;
    }
    intake.onChanges(changes);
    lostLeases.onChanged(changes.changed);
  }
}
