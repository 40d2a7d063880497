// The runtime: the process-side engine, wired together.
//   RT1. Work is taken only between start and shutdown; shutdown resolves as soon as everything is done or its
//        grace is over, and hands back the rest without counting anything against it.
//   RT2. The provider is not the runtime's to close.
//   States: new → running → stopping → stopped.

import { hostname } from "node:os";
import { Committer, type Lease } from "../core/committer.ts";
import type { Environment, TimerHandle } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import { guardsOf, type GuardName } from "../core/guard-names.ts";
import type { News } from "../core/provider/notifications.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { LeasedTask } from "../core/provider/tasks.ts";
import { TimerWheel } from "../core/timer-wheel.ts";
import { ActivityRunner } from "./activity-runner.ts";
import { Adoption } from "./adoption.ts";
import { installGuards } from "./guards.ts";
import { Heartbeats } from "./heartbeats.ts";
import { Instances } from "./instances.ts";
import { Liveness } from "./liveness.ts";
import { LostWork } from "./lost-work.ts";
import { resolveOptions, type ResolvedOptions, type RuntimeOptions } from "./options.ts";
import { ownIdentity } from "./process-identity.ts";
import { Pump } from "./pump.ts";
import { Registry, type Registrable } from "./registry.ts";
import { Renewal } from "./renewal.ts";
import { Sessions } from "./sessions.ts";
import { RuntimeStats } from "./stats.ts";
import { StepRunner } from "./step-runner.ts";
import { watchRejections } from "./rejections.ts";
import { WorkIntake } from "./work-intake.ts";

/** How long a shutdown waits for the store to take back what was not finished. */
const HAND_BACK_MS = 2_000;

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
  readonly #heartbeats: Heartbeats;
  readonly #activities: ActivityRunner;
  readonly #steps: StepRunner;
  readonly #instances: Instances;
  readonly #liveness: Liveness;
  readonly #renewal: Renewal;
  readonly #lostWork: LostWork;
  readonly #adoption: Adoption;
  readonly #intake: WorkIntake;
  readonly #stats = new RuntimeStats();
  readonly #stopped = Promise.withResolvers<void>();
  #state: "new" | "running" | "stopping" | "stopped" = "new";
  #ticker: TimerHandle | null = null;
  #cleanups: (() => void)[] = [];

  constructor(provider: Provider, options: RuntimeStart) {
    const { register, ...rest } = options;
    this.#committer = Committer.of(provider);
    this.#provider = provider;
    this.#environment = provider.environment;
    this.#options = resolveOptions(rest);
    this.#registry = new Registry(register);
    this.#guards = guardsOf(this.#options.guards, process.env["NODE_ENV"] !== "production");
    this.id = this.#environment.randomHex(8);
    const environment = this.#environment;
    const monotonic = (): number => environment.monotonic();
    const random = (): number => environment.random();
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
    const { codec, log } = this.#options;
    const common = {
      workerId: this.id,
      codec,
      log,
      wheel: this.#wheel,
      monotonic,
      random,
      entering,
    };
    this.#sessions = new Sessions({
      runtimeId: this.id,
      provider,
      options: this.#options,
      wheel: this.#wheel,
      monotonic,
      trouble: this.#trouble,
      activities: () => this.#activities,
    });
    this.#heartbeats = new Heartbeats({
      wheel: this.#wheel,
      monotonic,
      write: (heartbeats) => provider.heartbeatTasks(heartbeats),
      onLost: (claim) => this.#activities.lose(claim),
      trouble: this.#trouble,
    });
    this.#activities = new ActivityRunner({
      ...common,
      concurrency: this.#options.activityConcurrency,
      cancelGraceMs: this.#options.cancelGraceMs,
      attemptsMax: this.#options.attemptsMax,
      find: (name) => this.#registry.activity(name),
      onOutcome: (task, body) => this.#outcome(task, body),
      onRetry: (task, delayMs, failure, heartbeat) =>
        this.#retry(task, delayMs, JSON.stringify(failure), heartbeat),
      onHeartbeat: (task, details) => this.#heartbeats.note(task, details),
      sessions: this.#sessions,
      onFree: () => this.#intake.slotFree(),
      onSuspectOver: () => this.#intake.wakeTasks(),
    });
    this.#steps = new StepRunner({
      ...common,
      concurrency: this.#options.stepConcurrency,
      storeNow,
      onOutcome: (held, body) => this.#instances.giveStepOutcome(held, body),
    });
    this.#intake = new WorkIntake({
      runtimeId: this.id,
      provider,
      options: this.#options,
      registry: this.#registry,
      wheel: this.#wheel,
      sessions: this.#sessions,
      instances: () => this.#instances,
      activities: () => this.#activities,
      isRunning: () => this.#state === "running",
      newToken: () => this.#number(),
      trouble: this.#trouble,
    });
    this.#instances = new Instances({
      runtimeId: this.id,
      environment,
      options: this.#options,
      registry: this.#registry,
      committer: this.#committer,
      pump: this.#pump,
      activities: this.#activities,
      steps: this.#steps,
      stats: this.#stats,
      storeNow,
      readHistory: (address) => provider.readHistory(address),
      runOptions: {
        codec,
        guards: this.#guards,
        readKeyValue: async (id, key) => (await provider.readKeyValue(id, key))?.value,
      },
      mayLeaseAtBirth: () => !this.#intake.tasksWait,
      onTimer: (delayMs) => this.#intake.wakeInstancesIn(delayMs),
      onQueued: () => this.#intake.queued(),
      onFree: () => this.#intake.turnFree(),
      onCalled: (key) => this.#intake.called(key),
    });
    this.#renewal = new Renewal({
      provider,
      options: this.#options,
      instances: this.#instances,
      activities: this.#activities,
    });
    this.#lostWork = new LostWork({
      provider,
      runtimeId: this.id,
      instances: this.#instances,
      activities: this.#activities,
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
    this.#liveness = new Liveness({
      provider,
      environment,
      registration: {
        id: this.id,
        nodeId: this.#options.workerNodeId ?? `${hostname()}:${process.pid}`,
        process: ownIdentity(),
        hostname: hostname(),
      },
      registered: this.#registry.list(),
      beatMs: this.#options.beatMs,
      staleMs: this.#options.staleMs,
      stallMs: this.#options.stallMs,
      log,
      onFreed: () => this.#intake.wake(),
      onLost: () => this.#lostEverything(),
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
      activities: { ...this.#activities.stats, active: this.#activities.active },
      cachedInstances: this.#instances.size,
    };
  }

  /** Registers with the store and begins to take work. */
  async start(): Promise<void> {
    if (this.#state !== "new") {
      throw new PerdureError("INVALID_ARGUMENT", "A runtime starts once; make a new one.");
    }
    this.#state = "running";
    await this.#liveness.start();
    this.#committer.adopters.add(this.#adoption);
    this.#committer.onTrouble.add(this.#trouble);
    this.#cleanups = [
      this.#provider.subscribe((news) => this.#hear(news)),
      watchRejections(this.#options.log),
      installGuards({ io: this.#guards.has("io") }),
      () => void this.#committer.adopters.delete(this.#adoption),
      () => void this.#committer.onTrouble.delete(this.#trouble),
    ];
    await this.#provider.listRuntimes().then((list) => this.#liveness.reap(list), this.#trouble);
    this.#intake.wake();
    this.#tick(0);
  }

  /** Stops taking work, lets what runs finish within its grace, hands back the rest. */
  async shutdown({ graceMs = 10_000 }: { readonly graceMs?: number } = {}): Promise<void> {
    if (this.#state === "stopping" || this.#state === "stopped") return this.stopped;
    const wasRunning = this.#state === "running";
    this.#state = "stopping";
    if (wasRunning) {
      this.#intake.stop();
      for (const cleanup of this.#cleanups.splice(0)) cleanup();
      this.#instances.stop();
      this.#steps.stop();
      await this.#quiet(graceMs);
      const reason = new PerdureError("SHUTTING_DOWN", "The runtime is shutting down.");
      const handedBack = this.#activities.abandonAll(reason);
      // A store that is away cannot hold up the end: what is not handed back goes with the runtime's row.
      await Promise.race([
        this.#handBackAll(handedBack),
        new Promise<void>((resolve) => void this.#environment.setTimer(HAND_BACK_MS, resolve)),
      ]);
      this.#instances.holding.dropAll();
      this.#ticker?.cancel();
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
      this.#activities.active === 0 &&
      this.#steps.active === 0 &&
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

  // ── outcomes of activities ─────────────────────────────────────────────────────────────────────────────────

  #outcome(task: LeasedTask, body: Parameters<Instances["giveOutcome"]>[1]): void {
    // A suspect's goes alone, so that it is known when it is on disk: it is over then and not before.
    if (!task.suspect && this.#instances.giveOutcome(task, body)) return;
    const item = { kind: "completion", task, outcome: JSON.stringify(body) } as const;
    this.#committer
      .submit(item)
      .catch(this.#trouble)
      .finally(() => this.#activities.settled(task));
  }

  #retry(task: LeasedTask, delayMs: number, failure: string, heartbeat: string | null): void {
    const retry = { kind: "retry", task, delayMs, failure } as const;
    const item = heartbeat === null ? retry : { ...retry, heartbeat };
    this.#committer
      .submit(item)
      .then(() => this.#intake.wakeTasksIn(delayMs), this.#trouble)
      .finally(() => this.#activities.settled(task));
  }

  /** Heartbeats first, while the claims hold; then the tasks, then the sessions that they would be taken in. */
  async #handBackAll(tasks: readonly LeasedTask[]): Promise<void> {
    await this.#heartbeats.flush();
    const items = tasks.map((task) => ({ kind: "releaseTask", task }) as const);
    await Promise.allSettled(items.map((item) => this.#committer.submit(item)));
    await this.#sessions.release().catch(this.#trouble);
  }

  // ── beats, renewals, the safety net ────────────────────────────────────────────────────────────────────────

  #tick(count: number): void {
    if (this.#state === "stopped") return;
    const { beatMs, pollIntervalMs } = this.#options;
    const period = Math.min(beatMs, pollIntervalMs, this.#renewal.everyMs ?? Infinity);
    this.#ticker = this.#environment.setTimer(period, () => {
      void this.#beat(count, period).catch(this.#trouble);
      this.#tick(count + 1);
    });
  }

  async #beat(count: number, period: number): Promise<void> {
    const every = (ms: number): boolean => count % Math.max(Math.round(ms / period), 1) === 0;
    const { beatMs, pollIntervalMs } = this.#options;
    if (every(beatMs)) await this.#liveness.beat();
    if (this.#state !== "running") return;
    await this.#renewal.tick(this.#environment.monotonic());
    if (!every(pollIntervalMs)) return;
    this.#instances.holding.sweep();
    await this.#sessions.tick(this.#environment.monotonic());
    // One look a poll interval for everything: only what it finds is asked for.
    const { instances, tasks, runtimes } = await this.#provider.peek({ owner: this.id });
    if (instances || tasks) this.#intake.wake();
    await this.#lostWork.checkTasks();
    await this.#liveness.reap(runtimes);
  }

  #lostEverything(): void {
    for (const task of this.#activities.claims) this.#activities.lose(task);
    this.#instances.holding.dropAll();
    this.#intake.wake();
  }

  #lastTrouble = -Infinity;
  readonly #trouble = (error: unknown): void => {
    this.#stats.providerErrors++;
    const now = this.#environment.monotonic();
    if (now - this.#lastTrouble < 5_000) return;
    this.#lastTrouble = now;
    const message = error instanceof Error ? error.message : String(error);
    this.#options.log("warn", `the store is in trouble, trying on: ${message}`, {});
  };

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
