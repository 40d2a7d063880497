// The activities that run in this runtime: slots, cancellation, outcomes.
//   - An activity holds its slot from its reservation or lease until its handler or its grace period ends.
//   - A failed attempt counts. A task that was handed back does not count as an attempt (semantics 13).
//   - activity-runner.1: After `stop` nothing begins. Tasks that still arrive are handed back.
//   - activity-runner.2: If this worker lacks the key of the input, or the settings of callbacks, the task is held for WITHHOLD_MS without
//     a slot and then handed back. Another worker may have the key. This does not count as an attempt.
//   - activity-runner.3: Tasks that run in this process are entered one after the other, and the event
//     loop turns in between (entries.ts). A task that waits for its entry holds its slot and its lease.

import { ChurningMap, ChurningSet } from "../../core/collections/churning-map.ts";
import {
  ActivityAttempt,
  DescribedAttempt,
  type ActivityServices,
} from "../../core/attempts/attempt-context.ts";
import { callActivity, decodeInput } from "../../core/attempts/call-activity.ts";
import { decide } from "../../core/attempts/decide.ts";
import { laterCall, laterResult } from "../../core/attempts/later.ts";
import type { ActivityResult, AttemptResult } from "../../core/attempts/run-attempt.ts";
import type { AttemptHandle } from "../../core/attempts/running-attempt.ts";
import type { WorkFrame } from "../../core/context/async-context.ts";
import type { CallbackAddress, CallbackSigner } from "../../core/define/callback.ts";
import type { Activity } from "../../core/define/definitions.ts";
import type { Executor, ExecutorFunction, Threads } from "../../core/define/executor.ts";
import {
  poisonFailure,
  threadDiedFailure,
  timeoutFailure,
} from "../../core/errors/built-in-failures.ts";
import { PerdureError } from "../../core/errors/errors.ts";
import { CancelledError } from "../../core/errors/outcome-errors.ts";
import type { LeasedTask, TaskAddress, TaskClaim } from "../../core/provider/tasks.ts";
import { logFailedAttempt } from "../../core/telemetry/failure-lines.ts";
import { attemptFields } from "../../core/telemetry/log-fields.ts";
import type { AttemptOutcome } from "../../core/telemetry/telemetry.ts";
import type { TimerHandle } from "../../core/time/environment.ts";
import { activitySpan } from "../health/observation.ts";
import type { SuspectSlot } from "../instances/suspect-slot.ts";
import type { ThreadJob } from "../threads/pool-thread.ts";
import { executorOf } from "../threads/thread-pools.ts";
import { enterAttempt, observeAttempt, type RunnerOptions } from "./enter-attempt.ts";
import { addressKey, RunningActivity, type RunningActivityOptions } from "./running-activity.ts";
import type { Sessions } from "./sessions.ts";
import type { TaskOutcomes } from "./task-outcomes.ts";

/** How long a task is held back whose key is missing here, before any worker may take it again. */
const WITHHOLD_MS = 30_000;

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
}

/** An attempt that has ended. */
type Decided = Pick<RunningActivity, "task" | "description" | "details">;
/** A task without settings of callbacks is withheld (activity-runner.2). */
type Reported = Exclude<ActivityResult, { readonly kind: "unconfigured" }>;

export class ActivityRunner {
  readonly #options: ActivityRunnerOptions;
  readonly #running = new ChurningMap<string, RunningActivity>();
  /** Aborted attempts whose code may still run. Each uses a slot until its code or its grace period ends. */
  readonly #lingering = new ChurningSet<RunningActivity>();
  /** The attempts in `#running` that are withheld (activity-runner.2). They use no slot. */
  readonly #withheld = new ChurningSet<RunningActivity>();
  #reserved = 0;
  #isStopped = false;
  readonly stats = {
    started: 0,
    completed: 0,
    failed: 0,
    retried: 0,
    died: 0,
    deferred: 0,
    cancelled: 0,
    poisoned: 0,
  };

  constructor(options: ActivityRunnerOptions) {
    this.#options = options;
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

  start(task: LeasedTask): void {
    const { attemptsMax, find } = this.#options;
    if (this.#isStopped) return this.#options.outcomes.release(task);
    if (task.suspect) this.#options.suspects.enter(addressKey(task));
    if (task.undecodable === true) {
      return this.#poison(task, `the options of activity ${task.name} cannot be read`);
    }
    if (task.deaths >= attemptsMax) {
      const times = `exceeded ${task.deaths} attempts (max ${attemptsMax})`;
      const what = `activity ${task.name}#${task.sequence}`;
      return this.#poison(task, `${what} ${times}: its process died each time`);
    }
    if (task.deferred !== undefined) return this.#timeOut(task, task.deferred);
    const definition = find(task.name);
    if (definition === undefined)
      throw new Error(`Leased an activity that is not registered: ${task.name}`);
    this.stats.started++;
    const running = new RunningActivity(task, this.#options);
    if (task.session !== null) this.#options.sessions.enter(task.session, task.sessionClaim);
    // An attempt under an earlier token is still running: the database lost commits, or that lease
    // expired.
    const earlier = this.#running.get(running.address);
    if (earlier !== undefined) this.lose(earlier.task);
    this.#running.set(running.address, running);
    const executor = executorOf(definition, this.#options.executor);
    if (typeof executor === "object") return this.#runInThread(running, executor);
    const run = executor === "process" ? null : executor;
    this.#options.entries.add(task.name, () => this.#enter(running, definition, run));
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
    observeAttempt(running, () => activitySpan(task), this.#options);
    this.#begin(running);
    const input = decodeInput(task.input, this.#options.codec);
    if (input.kind === "undecodable") return this.#ended(running, input);
    const own = { lastHeartbeat: task.heartbeat, reports: running, later: this.#laterOf(task) };
    const context = new ActivityAttempt(description, this.#options, own);
    running.handle = context;
    running.isHere = true;
    enterAttempt(
      running,
      () => callActivity(definition, input.value, context, executor),
      this.#options,
      (result) => this.#ended(running, laterResult(result, context)),
      () => context.later === "deferred",
    );
  }

  #laterOf(task: LeasedTask): (() => CallbackAddress) | null {
    const { signer } = this.#options;
    return signer === null ? null : () => signer.sign(laterCall(task));
  }

  /** The attempt has waited too long for its completion from outside (provider.callbacks.3). Its code does not run. */
  #timeOut(task: LeasedTask, over: NonNullable<LeasedTask["deferred"]>): void {
    if (task.session !== null) {
      this.#options.sessions.enter(task.session, task.sessionClaim);
      this.#options.sessions.leave(task.session);
    }
    const failure = timeoutFailure(over === "timeout" ? "activity" : "activity heartbeat");
    const description = this.#described(task);
    const result = { kind: "failed", failure, retryAfterMs: null } as const;
    this.#decided({ task, description, details: null }, result);
  }

  #runInThread(running: RunningActivity, threads: Threads): void {
    const { task } = running;
    const { name, input, heartbeat } = task;
    const { kind, attempt, key, info } = running.description;
    observeAttempt(running, () => activitySpan(task), this.#options);
    const later = this.#laterOf(task)?.() ?? null;
    const { promise, resolve } = Promise.withResolvers<ActivityResult>();
    running.handle = this.#options.toThread(threads, {
      order: { kind, attempt, key, info, name, input, lastHeartbeat: heartbeat, later },
      reports: running,
      entered: () => this.#begin(running),
      ended: resolve,
    });
    const ended = running.watch?.enter(() => promise) ?? promise;
    void ended.then((result) => this.#ended(running, result));
  }

  #begin(running: RunningActivity): void {
    running.begin(running.task.options, (result) => {
      this.#linger(running);
      this.#report(running, result);
    });
  }

  #ended(running: RunningActivity, result: ActivityResult): void {
    if (running.isOver) return this.#freeSlot(running);
    if (result.kind === "undecodable" && result.keyMissing) {
      return this.#withhold(running, result.kind, `can read its input: ${result.why}`);
    }
    if (result.kind === "unconfigured") {
      return this.#withhold(running, result.kind, "was opened with callbacks");
    }
    running.end(result.kind);
    this.#unregister(running);
    this.#report(running, result);
    this.#options.onFree();
  }

  /** Holds the task for a while (activity-runner.2). */
  #withhold(running: RunningActivity, kind: AttemptOutcome, worker: string): void {
    const { task } = running;
    this.#warn(task, `activity "${task.name}" waits for a worker that ${worker}`);
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

  #report(running: RunningActivity, result: Reported): void {
    const { task, description, details: heartbeat } = running;
    const { outcomes, log } = this.#options;
    const { name } = task;
    if (result.kind === "undecodable") {
      return this.#poison(task, `the input of activity ${name} cannot be read: ${result.why}`);
    }
    if (result.kind === "died") {
      this.stats.died++;
      const failure = threadDiedFailure(name, result.why);
      logFailedAttempt(log, { description, failure, next: { kind: "rerun" } });
      const again = {
        delayMs: 0,
        failure: JSON.stringify(failure),
        heartbeat,
        died: true,
      } as const;
      return outcomes.retry(task, again);
    }
    if (result.kind === "deferred") {
      this.stats.deferred++;
      const details = heartbeat === null ? {} : { heartbeat };
      return outcomes.defer(task, { ...running.left(task.options ?? {}), ...details });
    }
    this.#decided(running, result);
  }

  /** The retry policy of the call decides what follows. */
  #decided({ task, description, details: heartbeat }: Decided, result: AttemptResult): void {
    const { outcomes } = this.#options;
    const { sequence: scheduled } = task;
    const attempts = task.attempt + 1;
    // Deaths of the process do not use up the attempts that the retry policy allows.
    const failures = attempts - task.deaths;
    const attempt = { description, policy: task.options?.retry, failures };
    const decision = decide(result, attempt, this.#options);
    if (decision.kind === "retry") {
      this.stats.retried++;
      const { delayMs, failure } = decision;
      return outcomes.retry(task, { delayMs, failure: JSON.stringify(failure), heartbeat });
    }
    this.stats[decision.kind]++;
    outcomes.over(
      task,
      decision.kind === "completed"
        ? { kind: "ActivityCompleted", scheduled, output: decision.output, attempts }
        : { kind: "ActivityFailed", scheduled, failure: decision.failure, attempts },
    );
  }

  #poison(task: LeasedTask, why: string): void {
    this.stats.poisoned++;
    const message = `poison: ${why}`;
    this.#warn(task, `${task.name}, ${task.instanceId}: ${message}`);
    const failure = poisonFailure(message);
    const { sequence: scheduled, attempt: attempts } = task;
    this.#options.outcomes.over(task, { kind: "ActivityFailed", scheduled, attempts, failure });
  }

  #warn(task: LeasedTask, message: string): void {
    this.#options.log("warn", message, attemptFields(this.#described(task)));
  }

  #described(task: LeasedTask): DescribedAttempt {
    const { workerId: worker } = this.#options;
    return new DescribedAttempt("activity", task, { attempt: task.attempt + 1, worker });
  }

  /** The call was cancelled: the task's row is deleted. */
  cancel(address: TaskAddress, reason: string): void {
    const running = this.#running.get(addressKey(address));
    if (running === undefined) return;
    this.stats.cancelled++;
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
