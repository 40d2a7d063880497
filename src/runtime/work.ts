// The work of a runtime: activities and steps, the places they run in, and the way of their outcomes, wired together.
//   WO1. Nothing is begun while a place cannot run what it is meant for (thread-pools.ts).
//   WO2. The end waits neither for a store that is away nor for a thread that hangs: what is not handed back goes
//        with the runtime's row, and a thread keeps no process alive.

import type { Committer } from "../core/committer.ts";
import { PerdureError } from "../core/errors.ts";
import { limitedCodec } from "../core/limited-codec.ts";
import type { Provider } from "../core/provider/provider.ts";
import type { TimerWheel } from "../core/timer-wheel.ts";
import { ActivityRunner } from "./activity-runner.ts";
import type { Entries } from "./entries.ts";
import type { Instances } from "./instances.ts";
import { LoopWatch } from "./loop-watch.ts";
import type { ResolvedOptions } from "./options.ts";
import type { Registry } from "./registry.ts";
import type { Sessions } from "./sessions.ts";
import type { RuntimeStats } from "./stats.ts";
import { StepRunner } from "./step-runner.ts";
import type { SuspectSlot } from "./suspect-slot.ts";
import { TaskOutcomes } from "./task-outcomes.ts";
import { Tellings } from "./tellings.ts";
import { ThreadPools } from "./thread-pools.ts";
import type { RuntimeWiring } from "./wiring.ts";
import type { WorkIntake } from "./work-intake.ts";

/** How long an end waits for the store to take back what was not finished, and then for the threads. */
const END_MS = 2_000;

export interface WorkOptions {
  readonly runtimeId: string;
  readonly provider: Provider;
  readonly committer: Committer;
  readonly options: ResolvedOptions;
  readonly registry: Registry;
  readonly wheel: TimerWheel;
  readonly sessions: Sessions;
  readonly suspects: SuspectSlot;
  readonly wiring: RuntimeWiring;
  readonly stats: RuntimeStats;
  /** What is about to hold the loop; empty: nothing of ours. */
  readonly entering: (label: string) => void;
  /** Whether the whole process stood still for most of the last `ms`. */
  readonly wasSuspended: (ms: number) => boolean;
  readonly entries: Entries;
  /** Made after the work, which they are given. */
  readonly instances: () => Instances;
  readonly intake: () => WorkIntake;
  readonly trouble: (error: unknown) => void;
}

export class Work {
  readonly activities: ActivityRunner;
  readonly steps: StepRunner;
  readonly #o: WorkOptions;
  readonly #threads: ThreadPools;
  readonly #loop: LoopWatch;
  readonly #outcomes: TaskOutcomes;

  constructor(options: WorkOptions) {
    this.#o = options;
    const { provider, registry, wheel, wiring, sessions, stats, instances, intake } = options;
    const { environment } = provider;
    const { codec, log, limits, executor, telemetry } = options.options;
    const monotonic = (): number => environment.monotonic();
    this.#threads = new ThreadPools({
      activities: registry.activities,
      options: options.options,
      environment,
      making: { entry: wiring.threadEntry, provider, limits, log },
    });
    this.#loop = new LoopWatch({
      environment,
      log,
      running: () => [...this.activities.frames, ...this.steps.frames],
      wasSuspended: options.wasSuspended,
      onStall: (stalledMs) => stats.countStall(stalledMs),
    });
    const tellings = new Tellings({
      provider,
      wheel,
      monotonic,
      onLost: (claim) => this.activities.lose(claim),
      trouble: options.trouble,
    });
    this.#outcomes = new TaskOutcomes({
      committer: options.committer,
      give: (task, body) => instances().giveOutcome(task, body),
      settled: (task) => this.activities.settled(task),
      queuedFor: (delayMs) => intake().wakeTasksIn(delayMs),
      flushHeartbeats: () => tellings.flush(),
      releaseSessions: () => sessions.release(),
      trouble: options.trouble,
    });
    const common = {
      workerId: options.runtimeId,
      codec: limitedCodec(codec, limits),
      log,
      wheel,
      monotonic,
      random: () => environment.random(),
      entering: options.entering,
      entries: options.entries,
      loop: this.#loop,
      telemetry,
    };
    const { activityConcurrency, stepConcurrency, cancelGraceMs, attemptsMax } = options.options;
    this.activities = new ActivityRunner({
      ...common,
      concurrency: activityConcurrency,
      cancelGraceMs,
      attemptsMax,
      find: (name) => registry.activity(name),
      client: wiring.makeClient(provider, { codec, limits, telemetry }),
      executor,
      toThread: (threads, job) => this.#threads.send(threads, job),
      outcomes: this.#outcomes,
      tellings,
      sessions,
      onFree: () => intake().slotFree(),
      suspects: options.suspects,
    });
    this.steps = new StepRunner({
      ...common,
      provider,
      trouble: options.trouble,
      concurrency: stepConcurrency,
      storeNow: () => provider.now(),
      onOutcome: (held, body) => instances().giveStepOutcome(held, body),
    });
  }

  get isQuiet(): boolean {
    return this.activities.active === 0 && this.steps.active === 0;
  }

  async start(): Promise<void> {
    await this.#threads.start();
    this.#loop.start();
  }

  /** Begins nothing more; what runs may end. */
  stop(): void {
    this.activities.stop();
    this.steps.stop();
  }

  /** The grace is over: what still runs is aborted and handed back. */
  async end(): Promise<void> {
    const reason = new PerdureError("SHUTTING_DOWN", "The runtime is shutting down.");
    await this.#atMost(this.#outcomes.handBack(this.activities.abandonAll(reason)));
    this.#loop.stop();
    await this.#atMost(this.#threads.stop());
  }

  async #atMost(work: Promise<void>): Promise<void> {
    const { environment } = this.#o.provider;
    const over = Promise.withResolvers<void>();
    const timer = environment.setTimer(END_MS, over.resolve);
    await Promise.race([work, over.promise]);
    timer.cancel();
  }
}
