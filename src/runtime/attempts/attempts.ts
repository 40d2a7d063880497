// The attempts loop: the runners of activities and steps, the threads they run in, and the paths of their
// outcomes.
//   - The runtime takes no tasks before every thread pool has loaded its activities (thread-pools.ts).
//   - Shutdown does not wait for an unreachable store or a hanging thread. Tasks that were not handed
//     back are freed when the runtime's row is removed, and a thread does not keep the process alive.

import { PerdureError } from "../../core/errors/errors.ts";
import type { LeasedTask } from "../../core/provider/tasks.ts";
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
  readonly #stopping = new AbortController();

  constructor(runtime: RuntimeContext) {
    this.#runtime = runtime;
    const { provider, environment, registry, wheel, wiring, monotonic, onStoreError } = runtime;
    const { callbacks, services, middleware, layers } = runtime;
    const { codec, log, logToStream, limits, executor, telemetry, keepFor } = runtime.options;
    this.#threads = new ThreadPools({
      activities: registry.activities,
      options: runtime.options,
      hasMiddleware: middleware.length > 0,
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
      onLost: (claim) => {
        this.activities.lose(claim);
        runtime.leaseCheck.alert(); // a store that lacks earlier values may still list the lease
      },
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
      services,
      layers,
    };
    const { activityConcurrency, stepConcurrency, cancelGraceMs, attemptsMax } = runtime.options;
    this.activities = new ActivityRunner({
      ...common,
      concurrency: activityConcurrency,
      cancelGraceMs,
      attemptsMax,
      find: (name) => registry.activity(name),
      client: wiring.makeClient(provider, {
        ...{ codec, limits, telemetry, keepFor, middleware },
        ...callbacks,
      }),
      host: { environment, stopping: this.#stopping.signal },
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

  /**
   * Begins nothing more. Running attempts may end. They learn about the shutdown in a later macrotask: without a grace
   * period, they are aborted first.
   */
  stop(): void {
    this.activities.stop();
    this.steps.stop();
    const reason = shuttingDown();
    this.#runtime.environment.immediate(() => this.#stopping.abort(reason));
  }

  /** The grace period is over: aborts running attempts and hands their tasks back. */
  async end(): Promise<void> {
    const abandoned = this.activities.abandonAll(shuttingDown());
    if (this.#runtime.isDrive && abandoned.length > 0) this.#warnOfCut(abandoned);
    await this.#atMost(this.#outcomes.handBack(abandoned));
    this.#loop.stop();
    await this.#atMost(this.#threads.stop());
  }

  /** An activity that is longer than every drive would begin again and again, and no attempt would be counted. */
  #warnOfCut(tasks: readonly LeasedTask[]): void {
    const names = [...new Set(tasks.map(({ name }) => name))].join(", ");
    const what = `the drive ended before ${tasks.length} running activities did, and handed them back: ${names}`;
    const way = "an activity must end within maxMs and cancelGraceMs of a drive";
    this.#runtime.log("warn", `${what}; ${way}`, { activities: tasks.length });
  }

  async #atMost(promise: Promise<void>): Promise<void> {
    const { environment } = this.#runtime;
    const over = Promise.withResolvers<void>();
    const timer = environment.setTimer(END_MS, over.resolve);
    await Promise.race([promise, over.promise]);
    timer.cancel();
  }
}

function shuttingDown(): PerdureError {
  return new PerdureError("SHUTTING_DOWN", "The runtime is shutting down.");
}
