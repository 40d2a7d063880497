// The runtime: the life of the process-side engine, from its start to its shutdown. Its parts: parts.ts.
//   RT1. Work is taken only between start and shutdown; shutdown resolves as soon as everything is done or its
//        grace is over, and hands back the rest without counting anything against it.
//   RT2. The provider is not the runtime's to close.
//   States: new → running → stopping → stopped.

import type { Environment } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import { checkMembers, checkWhole } from "../core/known-members.ts";
import type { News } from "../core/provider/notifications.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { RuntimeFigures } from "../core/telemetry.ts";
import { installGuards } from "./guards.ts";
import { observe } from "./observation.ts";
import { assemble, type Parts } from "./parts.ts";
import type { Registry } from "./registry.ts";
import { watchRejections } from "./rejections.ts";
import type { RuntimeStart, RuntimeWiring } from "./wiring.ts";

export class Runtime {
  readonly id: string;
  readonly #provider: Provider;
  readonly #environment: Environment;
  readonly #parts: Parts;
  readonly #stopped = Promise.withResolvers<void>();
  #state: "new" | "running" | "stopping" | "stopped" = "new";
  #cleanups: (() => void)[] = [];
  #watches: (() => void)[] = [];

  constructor(provider: Provider, options: RuntimeStart, wiring: RuntimeWiring) {
    this.#provider = provider;
    this.#environment = provider.environment;
    this.#parts = assemble(provider, options, wiring, () => this.#state === "running");
    this.id = this.#parts.runtimeId;
  }

  /** Resolves when the runtime has shut down. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  registered(): ReturnType<Registry["list"]> {
    return this.#parts.registry.list();
  }

  stats() {
    const { stats, work, instances } = this.#parts;
    const { activities } = work;
    return {
      ...stats,
      activities: { ...activities.stats, active: activities.active },
      cachedInstances: instances.size,
    };
  }

  /** Registers with the store and begins to take work. */
  async start(): Promise<void> {
    if (this.#state !== "new") {
      throw new PerdureError("INVALID_ARGUMENT", "A runtime starts once; make a new one.");
    }
    const { work, liveness, committer, adoption, trouble, intake, net } = this.#parts;
    const { options, guards } = this.#parts;
    this.#state = "running";
    await work.start();
    await liveness.start();
    committer.adopters.add(adoption);
    committer.onTrouble.add(trouble);
    // Held to the very end: what runs within the grace of a shutdown is user code like any other.
    this.#watches = [watchRejections(options.log), installGuards(guards)];
    this.#cleanups = [
      this.#provider.subscribe((news) => this.#hear(news)),
      () => void committer.adopters.delete(adoption),
      () => void committer.onTrouble.delete(trouble),
      this.#observe(),
    ];
    await this.#provider.listRuntimes().then((list) => liveness.reap(list), trouble);
    intake.wake();
    net.start();
  }

  #observe(): () => void {
    const { options, committer } = this.#parts;
    const { telemetry } = options;
    if (telemetry === null) return () => undefined;
    const figures = (): RuntimeFigures => {
      const { activities, cachedInstances, ...counts } = this.stats();
      const { refusedTurns, evictions, blocked, loopStalls, loopStallMaxMs } = counts;
      const figures = { refusedTurns, evictions, blocked, loopStalls, loopStallMaxMs };
      return {
        runtimeId: this.id,
        activeActivities: activities.active,
        cachedInstances,
        ...figures,
      };
    };
    return observe({ telemetry, committer, provider: this.#provider, figures });
  }

  /** Stops taking work, lets what runs finish within its grace, hands back the rest. */
  async shutdown(options: { readonly graceMs?: number } = {}): Promise<void> {
    checkMembers(options, { graceMs: true }, "shutdown");
    checkWhole(options.graceMs, 0, "graceMs");
    const { graceMs = 10_000 } = options;
    if (this.#state === "stopping" || this.#state === "stopped") return this.stopped;
    const { intake, housekeeping, instances, work, net, liveness, trouble, wheel } = this.#parts;
    const wasRunning = this.#state === "running";
    this.#state = "stopping";
    if (wasRunning) {
      intake.stop();
      housekeeping.stop();
      for (const cleanup of this.#cleanups.splice(0)) cleanup();
      instances.stop();
      work.stop();
      await this.#quiet(graceMs);
      await work.end();
      instances.holding.dropAll();
      for (const takeOff of this.#watches.splice(0)) takeOff();
      net.stop();
      await liveness.stop();
      await this.#provider.removeRuntime(this.id).catch(trouble);
    }
    wheel.clear();
    this.#state = "stopped";
    this.#stopped.resolve();
  }

  async #quiet(graceMs: number): Promise<void> {
    const until = this.#environment.monotonic() + graceMs;
    while (!this.#isQuiet() && this.#environment.monotonic() < until) {
      await new Promise<void>((resolve) => void this.#environment.setTimer(2, resolve));
    }
  }

  #isQuiet(): boolean {
    const { work, instances, pump, committer } = this.#parts;
    return work.isQuiet && instances.holding.busy === 0 && pump.isIdle && committer.isIdle;
  }

  #hear(news: News): void {
    const { intake, lostWork } = this.#parts;
    if (news.elsewhere) {
      intake.wake();
      void lostWork.checkTasks();
      return;
    }
    intake.hear(news);
    lostWork.heard(news.changed);
  }
}
