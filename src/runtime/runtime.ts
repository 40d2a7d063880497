// The runtime: the process-side engine, wired together.
//   RT1. Work is taken only between start and shutdown; shutdown resolves as soon as everything is done or its
//        grace is over, and hands back the rest without counting anything against it.
//   RT2. The provider is not the runtime's to close.
//   States: new → running → stopping → stopped.

import { hostname } from "node:os";
import { Committer, type Lease } from "../core/committer.ts";
import type { RegisteredWork } from "../core/claimable.ts";
import type { Environment } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import { guardsOf, type GuardName } from "../core/guard-names.ts";
import type { News } from "../core/provider/notifications.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { Peek } from "../core/provider/runtimes.ts";
import type { RuntimeFigures } from "../core/telemetry.ts";
import { TimerWheel } from "../core/timer-wheel.ts";
import { Adoption } from "./adoption.ts";
import { unguarded } from "./guarded-run.ts";
import { installGuards } from "./guards.ts";
import { Housekeeping } from "./housekeeping.ts";
import { Instances } from "./instances.ts";
import { Liveness } from "./liveness.ts";
import { LostWork } from "./lost-work.ts";
import { resolveOptions, type ResolvedOptions, type RuntimeOptions } from "./options.ts";
import { observe } from "./observation.ts";
import { ownIdentity } from "./process-identity.ts";
import { Pump } from "./pump.ts";
import { Registry, type Registrable } from "./registry.ts";
import { Renewal } from "./renewal.ts";
import { Sessions } from "./sessions.ts";
import { SafetyNet } from "./safety-net.ts";
import { RuntimeStats } from "./stats.ts";
import { StoreTrouble } from "./store-trouble.ts";
import { watchRejections } from "./rejections.ts";
import type { RuntimeWiring } from "./wiring.ts";
import { WorkIntake } from "./work-intake.ts";
import { Work } from "./work.ts";

export interface RuntimeStart extends RuntimeOptions {
  readonly register: readonly Registrable[];
}

export class Runtime {
  readonly id: string;
  readonly #provider: Provider;
  readonly #environment: Environment;
  readonly #options: ResolvedOptions;
  readonly #guards: ReadonlySet<GuardName>;
  readonly #registry: Registry;
  readonly #committer: Committer;
  readonly #wheel: TimerWheel;
  readonly #pump: Pump;
  readonly #sessions: Sessions;
  readonly #work: Work;
  readonly #instances: Instances;
  readonly #liveness: Liveness;
  readonly #renewal: Renewal;
  readonly #lostWork: LostWork;
  readonly #adoption: Adoption;
  readonly #housekeeping: Housekeeping;
  readonly #intake: WorkIntake;
  readonly #net: SafetyNet;
  readonly #stats = new RuntimeStats();
  readonly #trouble: (error: unknown) => void;
  readonly #stopped = Promise.withResolvers<void>();
  #state: "new" | "running" | "stopping" | "stopped" = "new";
  #cleanups: (() => void)[] = [];
  #watches: (() => void)[] = [];

  constructor(provider: Provider, options: RuntimeStart, wiring: RuntimeWiring) {
    const { register, ...rest } = options;
    this.#committer = Committer.of(provider);
    this.#provider = provider;
    this.#environment = provider.environment;
    const isDevelopment = process.env["NODE_ENV"] !== "production";
    this.#options = resolveOptions(rest, isDevelopment);
    this.#registry = new Registry(register, this.#options);
    this.#guards = guardsOf(this.#options.guards, isDevelopment);
    this.id = this.#environment.randomHex(8);
    const environment = this.#environment;
    const monotonic = (): number => environment.monotonic();
    const storeNow = (): number => provider.now();
    this.#wheel = new TimerWheel({
      now: monotonic,
      setTimer: (delayMs, fn) => environment.setTimer(delayMs, fn),
    });
    const entering = (label: string): void => this.#liveness.heart?.entering(label);
    this.#pump = new Pump({
      environment,
      onIdle: () => this.#committer.flush(),
      entering,
    });
    const { codec, log, limits } = this.#options;
    const storeTrouble = new StoreTrouble({ environment, log, stats: this.#stats });
    this.#trouble = storeTrouble.tell;
    this.#sessions = new Sessions({
      runtimeId: this.id,
      provider,
      options: this.#options,
      wheel: this.#wheel,
      monotonic,
      trouble: this.#trouble,
      activities: () => this.#work.activities,
    });
    this.#work = new Work({
      runtimeId: this.id,
      provider,
      committer: this.#committer,
      options: this.#options,
      registry: this.#registry,
      wheel: this.#wheel,
      sessions: this.#sessions,
      wiring,
      stats: this.#stats,
      entering,
      instances: () => this.#instances,
      intake: () => this.#intake,
      trouble: this.#trouble,
    });
    const { activities, steps } = this.#work;
    this.#intake = new WorkIntake({
      runtimeId: this.id,
      provider,
      options: this.#options,
      registry: this.#registry,
      wheel: this.#wheel,
      sessions: this.#sessions,
      instances: () => this.#instances,
      activities: () => this.#work.activities,
      isRunning: () => this.#state === "running",
      newToken: () => this.#number(),
      avoidMs: () => this.#housekeeping.avoidMs,
      trouble: this.#trouble,
    });
    this.#instances = new Instances({
      runtimeId: this.id,
      environment,
      options: this.#options,
      registry: this.#registry,
      committer: this.#committer,
      pump: this.#pump,
      activities,
      steps,
      stats: this.#stats,
      storeNow,
      readHistory: (address) => provider.readHistory(address),
      runOptions: {
        codec: unguarded(codec),
        limits,
        guards: this.#guards,
        readKeyValue: async (id, key) => (await provider.readKeyValue(id, key))?.value,
      },
      mayLeaseAtBirth: () => !this.#intake.tasksWait,
      isExpected: (token) => this.#adoption.isExpected(token),
      onTimer: (delayMs) => this.#intake.wakeInstancesIn(delayMs),
      onQueued: () => this.#intake.queued(),
      onFree: () => this.#intake.turnFree(),
      onCalled: (key) => this.#intake.called(key),
      onContinued: (id) => this.#housekeeping.continued(id),
    });
    this.#renewal = new Renewal({
      provider,
      options: this.#options,
      instances: this.#instances,
      activities,
    });
    this.#lostWork = new LostWork({
      provider,
      runtimeId: this.id,
      instances: this.#instances,
      activities,
      trouble: this.#trouble,
    });
    this.#adoption = new Adoption({
      registry: this.#registry,
      room: () => this.#room(),
      newLease: () => this.#newLease(),
      take: (instance) => this.#instances.take(instance),
      storeNow,
      onDelayed: (delayMs) => this.#intake.wakeInstancesIn(delayMs),
    });
    const { tags, replayVersions } = this.#options;
    const work: RegisteredWork = { ...this.#registry.list(), tags, replayVersions };
    this.#housekeeping = new Housekeeping({
      runtimeId: this.id,
      provider,
      committer: this.#committer,
      options: this.#options,
      work,
      newToken: () => this.#number(),
      trouble: this.#trouble,
    });
    this.#liveness = new Liveness({
      provider,
      environment,
      registration: {
        id: this.id,
        nodeId: this.#options.workerNodeId ?? `${hostname()}:${process.pid}`,
        process: ownIdentity(),
        hostname: hostname(),
      },
      registered: { ...work, flows: this.#registry.flows },
      beatMs: this.#options.beatMs,
      staleMs: this.#options.staleMs,
      stallMs: this.#options.stallMs,
      log,
      onFreed: () => this.#intake.wake(),
      onLost: () => this.#lostEverything(),
    });
    this.#net = new SafetyNet({
      environment,
      options: this.#options,
      renewal: this.#renewal,
      isRunning: () => this.#state === "running",
      beat: () => this.#liveness.beat(),
      peek: () => provider.peek({ owner: this.id }),
      tidy: (now) => this.#tidy(now),
      found: (peek) => {
        storeTrouble.answered();
        return this.#found(peek);
      },
      trouble: this.#trouble,
    });
  }

  /** Resolves when the runtime has shut down. */
  get stopped(): Promise<void> {
    return this.#stopped.promise;
  }

  registered(): ReturnType<Registry["list"]> {
    return this.#registry.list();
  }

  stats() {
    return {
      ...this.#stats,
      activities: { ...this.#work.activities.stats, active: this.#work.activities.active },
      cachedInstances: this.#instances.size,
    };
  }

  /** Registers with the store and begins to take work. */
  async start(): Promise<void> {
    if (this.#state !== "new") {
      throw new PerdureError("INVALID_ARGUMENT", "A runtime starts once; make a new one.");
    }
    this.#state = "running";
    await this.#work.start();
    await this.#liveness.start();
    this.#committer.adopters.add(this.#adoption);
    this.#committer.onTrouble.add(this.#trouble);
    // Held to the very end: what runs within the grace of a shutdown is user code like any other.
    this.#watches = [watchRejections(this.#options.log), installGuards(this.#guards)];
    this.#cleanups = [
      this.#provider.subscribe((news) => this.#hear(news)),
      () => void this.#committer.adopters.delete(this.#adoption),
      () => void this.#committer.onTrouble.delete(this.#trouble),
      this.#observe(),
    ];
    await this.#provider.listRuntimes().then((list) => this.#liveness.reap(list), this.#trouble);
    this.#intake.wake();
    this.#net.start();
  }

  #observe(): () => void {
    const { telemetry } = this.#options;
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
    return observe({ telemetry, committer: this.#committer, provider: this.#provider, figures });
  }

  /** Stops taking work, lets what runs finish within its grace, hands back the rest. */
  async shutdown({ graceMs = 10_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    if (this.#state === "stopping" || this.#state === "stopped") return this.stopped;
    const wasRunning = this.#state === "running";
    this.#state = "stopping";
    if (wasRunning) {
      this.#intake.stop();
      this.#housekeeping.stop();
      for (const cleanup of this.#cleanups.splice(0)) cleanup();
      this.#instances.stop();
      this.#work.stop();
      await this.#quiet(graceMs);
      await this.#work.end();
      this.#instances.holding.dropAll();
      for (const takeOff of this.#watches.splice(0)) takeOff();
      this.#net.stop();
      await this.#liveness.stop();
      await this.#provider.removeRuntime(this.id).catch(this.#trouble);
    }
    this.#wheel.clear();
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
    return (
      this.#work.isQuiet &&
      this.#instances.holding.busy === 0 &&
      this.#pump.isIdle &&
      this.#committer.isIdle
    );
  }

  #hear(news: News): void {
    if (news.elsewhere) {
      this.#intake.wake();
      void this.#lostWork.checkTasks();
      return;
    }
    this.#intake.hear(news);
    this.#lostWork.heard(news.changed);
  }

  // ── beats, renewals, the safety net ────────────────────────────────────────────────────────────────────────

  async #tidy(now: number): Promise<void> {
    this.#instances.holding.sweep();
    this.#work.steps.tick();
    this.#housekeeping.tick(now);
    await this.#sessions.tick(now);
  }

  async #found(peek: Peek): Promise<void> {
    if (peek.instances || peek.tasks) this.#intake.wake();
    await this.#lostWork.checkTasks();
    await this.#liveness.reap(peek.runtimes);
    await this.#housekeeping.found(peek);
  }

  #lostEverything(): void {
    const { activities } = this.#work;
    for (const task of activities.claims) activities.lose(task);
    this.#instances.holding.dropAll();
    this.#intake.wake();
  }

  /** How many more instances may begin a turn. */
  #room(): number {
    const { turnConcurrency, stickyCacheMax } = this.#options;
    if (this.#state !== "running" || stickyCacheMax === 0) return 0;
    return turnConcurrency - this.#instances.holding.busy;
  }

  #newLease(): Lease {
    const { instanceLeaseMs } = this.#options;
    const lease = { owner: this.id, token: this.#number() };
    return instanceLeaseMs === undefined ? lease : { ...lease, leaseMs: instanceLeaseMs };
  }

  #number(): number {
    return Math.floor(this.#environment.random() * Number.MAX_SAFE_INTEGER);
  }
}
