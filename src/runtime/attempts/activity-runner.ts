// The activities that run in this runtime: slots, cancellation, outcomes.
//   - An activity holds its slot from its reservation or lease until its handler or its grace period ends.
//   - A failed attempt counts. A task that was handed back does not count as an attempt (semantics 13).
//   - activity-runner.1: After `stop` nothing begins. Tasks that still arrive are handed back.
//   - activity-runner.2: If this worker lacks the key of the input, or the settings of callbacks, the task is held
//     for WITHHOLD_MS without a slot and then handed back. Another worker may have them. This does not count as an
//     attempt.
//   - activity-runner.3: Tasks that run in this process are entered one after the other, and the event
//     loop turns in between (entries.ts). A task that waits for its entry holds its slot and its lease.
//   - activity-runner.4: An admitted task is entered in time, or released (queues.3). This does not count as an attempt. A
//     thread counts as entered when the task is handed to its pool.

import { ChurningMap, ChurningSet } from "../../core/collections/churning-map.ts";
import {
  ActivityAttempt,
  type ActivityServices,
  type OwnOfActivity,
} from "../../core/attempts/attempt-context.ts";
import { callActivity, decodeCall, type DecodedCall } from "../../core/attempts/call-activity.ts";
import { laterCall, laterResult } from "../../core/attempts/later.ts";
import type { ActivityResult } from "../../core/attempts/run-attempt.ts";
import type { AttemptHandle } from "../../core/attempts/running-attempt.ts";
import type { WorkFrame } from "../../core/context/async-context.ts";
import type { CallbackAddress, CallbackSigner } from "../../core/define/callback.ts";
import type { Activity } from "../../core/define/definitions.ts";
import type { Executor, ExecutorFunction, Threads } from "../../core/define/executor.ts";
import { toFailure } from "../../core/errors/failure.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { CancelledError } from "../../core/errors/outcome-errors.ts";
import { runsAlone } from "../../core/provider/shared/blame.ts";
import type { LeasedTask, TaskAddress, TaskClaim } from "../../core/provider/tasks.ts";
import type { AttemptOutcome } from "../../core/telemetry/telemetry.ts";
import type { TimerHandle } from "../../core/time/environment.ts";
import { activitySpan } from "../health/observation.ts";
import type { SuspectSlot } from "../instances/suspect-slot.ts";
import type { ThreadJob } from "../threads/pool-thread.ts";
import { executorOf } from "../threads/thread-pools.ts";
import { streamedLog } from "../streams/log-lines.ts";
import { ActivityResults } from "./activity-results.ts";
import { enterAttempt, observeAttempt, type RunnerOptions } from "./enter-attempt.ts";
import { addressKey, RunningActivity, type RunningActivityOptions } from "./running-activity.ts";
import type { Admissions } from "./queues.ts";
import type { Sessions } from "./sessions.ts";
import type { TaskOutcomes } from "./task-outcomes.ts";

/** How long a task is held back whose key is missing here, before any worker may take it again. */
const WITHHOLD_MS = 30_000;
const NOT_ADMITTED: Admissions = { mayEnter: () => false, entered: () => undefined };

export interface ActivityRunnerOptions
  extends RunnerOptions, ActivityServices, RunningActivityOptions {
  readonly cancelGraceMs: number;
  readonly attemptsMax: number;
  readonly find: (name: string) => Activity<never, unknown> | undefined;
  /** The executor of activities that do not name one. */
  readonly executor: Executor;
  /** Hands an attempt to a thread. */
  readonly toThread: (threads: Threads, job: ThreadJob) => AttemptHandle;
  readonly outcomes: Pick<TaskOutcomes, "over" | "retry" | "release" | "defer">;
  /** Signs the addresses of `completeLater`. */
  readonly signer: CallbackSigner | null;
  /** Counts the running tasks of each session. */
  readonly sessions: Pick<Sessions, "enter" | "leave">;
  /** Called when a slot is free. */
  readonly onFree: () => void;
  readonly suspects: SuspectSlot;
  /** Whether the log lines of activities also go to the stream of log lines. */
  readonly logToStream: boolean;
  readonly storeNow: () => number;
}

export class ActivityRunner {
  readonly #options: ActivityRunnerOptions;
  readonly #running = new ChurningMap<string, RunningActivity>();
  /** Aborted attempts whose code may still run. Each uses a slot until its code or its grace period ends. */
  readonly #lingering = new ChurningSet<RunningActivity>();
  /** The attempts in `#running` that are withheld (activity-runner.2). They use no slot. */
  readonly #withheld = new ChurningSet<RunningActivity>();
  #reserved = 0;
  #isStopped = false;
  readonly #results: ActivityResults;

  constructor(options: ActivityRunnerOptions) {
    this.#options = options;
    this.#results = new ActivityResults(options);
  }

  get stats(): ActivityResults["stats"] {
    return this.#results.stats;
  }
  get free(): number {
    const used = this.active + this.#reserved + this.#lingering.size;
    return Math.max(this.#options.concurrency - used, 0);
  }
  get active(): number {
    return this.#running.size - this.#withheld.size;
  }
  /** Whether any of these instances has an activity that runs here. */
  runsFor(instanceIds: readonly string[]): boolean {
    if (this.#running.size === 0) return false;
    const ids = new Set(instanceIds);
    for (const { task } of this.#running.values()) if (ids.has(task.instanceId)) return true;
    return false;
  }
  /** The attempts that run in this process. */
  get frames(): readonly WorkFrame[] {
    return [...this.#running.values()].flatMap(({ isHere, frame }) => (isHere ? frame : []));
  }
  get claims(): readonly LeasedTask[] {
    return [...this.#running.values()].map((running) => running.task);
  }

  reserve(count = 1): boolean {
    if (this.free < count) return false;
    this.#reserved += count;
    return true;
  }
  unreserve(count: number): void {
    this.#reserved -= count;
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** `admissions`: those of the request that leased the task. */
  start(task: LeasedTask, admissions?: Admissions): void {
    const { attemptsMax, find } = this.#options;
    if (this.#isStopped) return this.#options.outcomes.release(task);
    if (task.suspect) this.#options.suspects.enter(addressKey(task), runsAlone(task.deaths));
    if (task.undecodable === true) {
      return this.#results.poison(task, `the options of activity ${task.name} cannot be read`);
    }
    if (task.deaths >= attemptsMax) {
      const times = `exceeded ${task.deaths} attempts (max ${attemptsMax})`;
      const what = `activity ${task.name}#${task.sequence}`;
      return this.#results.poison(task, `${what} ${times}: its process died each time`);
    }
    if (task.deferred !== undefined) return this.#timeOut(task, task.deferred);
    const definition = find(task.name);
    if (definition === undefined)
      throw new Error(`Leased an activity that is not registered: ${task.name}`);
    this.#results.stats.started++;
    const running = new RunningActivity(task, this.#options);
    if (task.session !== null) this.#options.sessions.enter(task.session, task.sessionClaim);
    // An attempt under an earlier token is still running: the database lost commits, or that lease
    // expired.
    const earlier = this.#running.get(running.address);
    if (earlier !== undefined) this.lose(earlier.task);
    this.#running.set(running.address, running);
    const executor = executorOf(definition, this.#options.executor);
    // activity-runner.4
    const admission = task.admittedUntil === undefined ? null : (admissions ?? NOT_ADMITTED);
    if (typeof executor === "object") {
      if (admission?.mayEnter() === false) return this.#enterTooLate(running);
      this.#runInThread(running, executor);
      return admission?.entered(task);
    }
    const run = executor === "process" ? null : executor;
    this.#options.entries.add(task.name, () => {
      const isLate = admission?.mayEnter() === false;
      if (isLate && !running.isOver && !this.#isStopped) return this.#enterTooLate(running);
      this.#enter(running, definition, run);
      if (!isLate) admission?.entered(task);
    });
  }

  #enterTooLate(running: RunningActivity): void {
    this.#results.stats.started--;
    this.#handBack(running, "cancelled");
    this.#options.onFree();
  }

  /** Enters the attempt (activity-runner.3). By now the task may be cancelled, or the runtime stopped. */
  #enter(
    running: RunningActivity,
    definition: Activity<never, unknown>,
    executor: ExecutorFunction | null,
  ): void {
    if (running.isOver) return this.#freeSlot(running);
    if (this.#isStopped) {
      this.#handBack(running, "cancelled");
      return this.#options.onFree();
    }
    const { task, description } = running;
    const { layers } = this.#options;
    observeAttempt(running, () => activitySpan(task), this.#options);
    this.#begin(running);
    const input = decodeCall(task.input, task.options?.context, this.#options.codec);
    if (input.kind === "undecodable") return this.#ended(running, input);
    const context = new ActivityAttempt(description, this.#options, this.#ownOf(running, input));
    running.handle = context;
    running.isHere = true;
    enterAttempt(
      running,
      () => callActivity(definition, input.value, context, executor, layers.activity),
      this.#options,
      (result) => this.#ended(running, laterResult(result, context)),
      () => context.later === "deferred",
    );
  }

  #ownOf(running: RunningActivity, { context }: DecodedCall): OwnOfActivity {
    const { codec, logToStream, storeNow } = this.#options;
    return {
      context,
      lastHeartbeat: running.task.heartbeat,
      reports: running,
      streams: () => running.streams,
      later: this.#laterOf(running.task),
      logged: logToStream ? streamedLog(() => running.streams, codec, storeNow) : null,
    };
  }

  #laterOf(task: LeasedTask): (() => CallbackAddress) | null {
    const { signer } = this.#options;
    return signer === null ? null : () => signer.sign(laterCall(task));
  }

  /** The code of the attempt does not run again, but its session counts as used. */
  #timeOut(task: LeasedTask, over: NonNullable<LeasedTask["deferred"]>): void {
    if (task.session !== null) {
      this.#options.sessions.enter(task.session, task.sessionClaim);
      this.#options.sessions.leave(task.session);
    }
    this.#results.timedOut(task, over);
  }

  #runInThread(running: RunningActivity, threads: Threads): void {
    const { task } = running;
    const { name, input, heartbeat, options } = task;
    const context = options?.context ?? null;
    const { kind, attempt, key, info } = running.description;
    observeAttempt(running, () => activitySpan(task), this.#options);
    const later = this.#laterOf(task)?.() ?? null;
    const { promise, resolve } = Promise.withResolvers<ActivityResult>();
    running.handle = this.#options.toThread(threads, {
      order: { kind, attempt, key, info, name, input, context, lastHeartbeat: heartbeat, later },
      reports: running,
      streams: () => running.streams,
      entered: () => this.#begin(running),
      ended: resolve,
    });
    const ended = running.watch?.enter(() => promise) ?? promise;
    void ended.then((result) => this.#ended(running, result));
  }

  #begin(running: RunningActivity): void {
    running.began = this.#options.storeNow();
    running.begin(running.task.options, (result) => {
      this.#linger(running);
      this.#results.report(running, result);
    });
  }

  /** What the attempt wrote to streams is in the store before its outcome is. */
  #ended(running: RunningActivity, result: ActivityResult): void {
    if (!running.usesStreams || running.isOver) return this.#over(running, result);
    running.streams.flushAll().then(
      () => this.#over(running, result),
      (error: unknown) => this.#over(running, withStreamError(result, error)),
    );
  }

  #over(running: RunningActivity, result: ActivityResult): void {
    if (running.isOver) return this.#freeSlot(running);
    if (result.kind === "undecodable" && result.keyMissing) {
      return this.#withhold(running, result.kind, `can read its input: ${result.why}`);
    }
    if (result.kind === "unconfigured") {
      return this.#withhold(running, result.kind, "was opened with callbacks");
    }
    running.end(result.kind);
    this.#unregister(running);
    this.#results.report(running, result);
    this.#options.onFree();
  }

  /** Holds the task for a while (activity-runner.2). */
  #withhold(running: RunningActivity, kind: AttemptOutcome, worker: string): void {
    const { task } = running;
    this.#results.warn(task, `activity "${task.name}" waits for a worker that ${worker}`);
    this.#withheld.add(running);
    running.stopTimeouts();
    running.slotTimer = this.#after(WITHHOLD_MS, () => this.#handBack(running, kind));
    this.#options.onFree();
  }

  /** Hands the task back; this does not count as an attempt. */
  #handBack(running: RunningActivity, outcome: AttemptOutcome): void {
    running.end(outcome);
    this.#unregister(running);
    this.#options.outcomes.release(running.task);
    this.settled(running.task);
  }

  /** The call was cancelled: the task's row is deleted. */
  cancel(address: TaskAddress, reason: string): void {
    const running = this.#running.get(addressKey(address));
    if (running === undefined) return;
    this.#results.stats.cancelled++;
    this.#abort(running, new CancelledError(reason));
    this.settled(running.task);
  }

  /** The lease is lost: another worker owns the task, or the task is deleted. */
  lose(claim: TaskClaim): void {
    const running = this.#running.get(addressKey(claim));
    if (running === undefined || running.task.token !== claim.token) return;
    this.#abort(running, new PerdureError("LEASE_LOST", "Another worker owns this task now."));
    this.settled(running.task);
  }

  /** Aborts every running attempt. The caller hands the tasks back. */
  abandonAll(reason: Error): readonly LeasedTask[] {
    const abandoned = [...this.#running.values()];
    for (const running of abandoned) this.#abort(running, reason);
    return abandoned.map((running) => running.task);
  }

  #abort(running: RunningActivity, reason: Error): void {
    running.abort(reason);
    this.#linger(running);
  }

  /**
   * The attempt was aborted. A handler that ignores its signal loses its slot after the grace period, even
   * if it still runs. Its thread, if any, is terminated.
   */
  #linger(running: RunningActivity): void {
    this.#unregister(running);
    this.#lingering.add(running);
    running.slotTimer = this.#after(this.#options.cancelGraceMs, () => {
      running.handle.giveUp?.();
      this.#freeSlot(running);
    });
  }

  #freeSlot(running: RunningActivity): void {
    if (!this.#lingering.delete(running)) return;
    running.slotTimer?.cancel();
    this.#options.onFree();
  }

  #unregister(running: RunningActivity): void {
    running.slotTimer?.cancel();
    this.#running.delete(running.address);
    this.#withheld.delete(running);
    if (running.task.session !== null) this.#options.sessions.leave(running.task.session);
  }

  #after(delayMs: number, fn: () => void): TimerHandle {
    return this.#options.wheel.schedule(this.#options.monotonic() + delayMs, fn);
  }

  /** The outcome is durable, or there is none. Only now the next suspect, which may kill this process, may run. */
  settled(task: LeasedTask): void {
    if (!task.suspect) return;
    this.#options.suspects.leave(addressKey(task));
  }
}

/** A success whose last values could not be written is a failure: the stream is closed. */
function withStreamError(result: ActivityResult, error: unknown): ActivityResult {
  if (result.kind !== "completed" && result.kind !== "deferred") return result;
  return { kind: "failed", failure: toFailure(error), retryAfterMs: null };
}
