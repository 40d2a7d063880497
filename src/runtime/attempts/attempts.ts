// The attempts loop: the runners of activities and steps, the threads they run in, and the paths of their
// outcomes.
//   - The runtime takes no tasks before every thread pool has loaded its activities (thread-pools.ts).
//   - Shutdown does not wait for an unreachable store or a hanging thread. Tasks that were not handed
//     back are freed when the runtime's row is removed, and a thread does not keep the process alive.

import { PerdureError } from "../../core/errors/errors.ts";
import { limitedCodec } from "../../core/values/limited-codec.ts";
import type { RuntimeContext } from "../context.ts";
import { ActivityRunner } from "./activity-runner.ts";
import { LoopWatch } from "../health/loop-watch.ts";
import { StepRunner } from "./step-runner.ts";
import { TaskOutcomes } from "./task-outcomes.ts";
import { ProgressReports } from "./progress-reports.ts";
import { StreamAppends } from "../streams/stream-appends.ts";
import { ThreadPools } from "../threads/thread-pools.ts";

/** How long the end waits for the store to take unfinished tasks back, and then for the threads. */
const END_MS = 2_000;

export class Attempts {
  readonly activities: ActivityRunner;
  readonly steps: StepRunner;
  readonly #runtime: RuntimeContext;
  readonly #threads: ThreadPools;
  readonly #loop: LoopWatch;
  readonly #outcomes: TaskOutcomes;

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
    const { provider, environment, registry, wheel, wiring, monotonic, onStoreError } = runtime;
    const { callbacks } = runtime;
    const { codec, log, logToStream, limits, executor, telemetry, keepFor } = runtime.options;
    this.#threads = new ThreadPools({
      activities: registry.activities,
      options: runtime.options,
      environment,
      resources: {
        entry: wiring.threadEntry,
        provider,
        limits,
        keepFor,
        log,
        logToStream,
        ...callbacks,
      },
    });
    this.#loop = new LoopWatch({
      environment,
      log,
      running: () => [...this.activities.frames, ...this.steps.frames],
      wasSuspended: (ms) => runtime.liveness.thread?.wasSuspended?.(ms) ?? false,
      onStall: (stalledMs) => runtime.stats.countStall(stalledMs),
    });
    const progressReports = new ProgressReports({
      provider,
      wheel,
      monotonic,
      onLost: (claim) => this.activities.lose(claim),
      onStoreError,
    });
    const streamAppends = new StreamAppends({
      committer: runtime.committer,
      environment,
      onLost: (claim) => this.activities.lose(claim),
      telemetry,
    });
    this.#outcomes = new TaskOutcomes(runtime, progressReports);
    const common = {
      workerId: runtime.id,
      codec: limitedCodec(codec, limits),
      log,
      wheel,
      monotonic,
      random: () => environment.random(),
      entering: runtime.entering,
      entries: runtime.entries,
      loop: this.#loop,
      telemetry,
    };
    const { activityConcurrency, stepConcurrency, cancelGraceMs, attemptsMax } = runtime.options;
    this.activities = new ActivityRunner({
      ...common,
      concurrency: activityConcurrency,
      cancelGraceMs,
      attemptsMax,
      find: (name) => registry.activity(name),
      client: wiring.makeClient(provider, { codec, limits, telemetry, keepFor, ...callbacks }),
      signer: runtime.signer,
      executor,
      toThread: (threads, job) => this.#threads.send(threads, job),
      outcomes: this.#outcomes,
      progressReports,
      streamAppends,
      logToStream,
      storeNow: runtime.storeNow,
      sessions: runtime.sessions,
      onFree: () => runtime.intake.slotFree(),
      suspects: runtime.suspects,
    });
    this.steps = new StepRunner({
      ...common,
      provider,
      onStoreError,
      concurrency: stepConcurrency,
      storeNow: runtime.storeNow,
      onOutcome: (held, body) => runtime.instances.giveStepOutcome(held, body),
    });
  }

  get isQuiet(): boolean {
    return this.activities.active === 0 && this.steps.active === 0;
  }

  async start(): Promise<void> {
    await this.#threads.start();
    this.#loop.start();
  }

  /** Begins nothing more. Running attempts may end. */
  stop(): void {
    this.activities.stop();
    this.steps.stop();
  }

  /** The grace period is over: aborts running attempts and hands their tasks back. */
  async end(): Promise<void> {
    const reason = new PerdureError("SHUTTING_DOWN", "The runtime is shutting down.");
    await this.#atMost(this.#outcomes.handBack(this.activities.abandonAll(reason)));
    this.#loop.stop();
    await this.#atMost(this.#threads.stop());
  }

  async #atMost(promise: Promise<void>): Promise<void> {
    const { environment } = this.#runtime;
    const over = Promise.withResolvers<void>();
    const timer = environment.setTimer(END_MS, over.resolve);
    await Promise.race([promise, over.promise]);
    timer.cancel();
  }
}
