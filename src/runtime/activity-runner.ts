// Activities under way in this runtime: slots, time-outs, cancels, outcomes.
//   AC1. A slot is held from the reservation (or lease) until the handler has ended or its grace is over.
//   AC2. The first of {outcome, timeout, cancel, lost lease, shutdown} decides; everything later is ignored.
//   AC3. An attempt is counted when it failed; one that was handed back is not (semantics 13).
//   AC4. Once stopped nothing is begun: tasks that still come, with answers to earlier requests, are handed back.
//   AC5. One whose input is encrypted with a key that is missing here is kept for a while, without a slot, and handed
//        back: another worker may have the key, and nobody's attempt was made.
//   AC6. Tasks that run in this process are entered one after the other, and the loop turns in between
//        (entries.ts). A task that waits for its entry holds its slot and its lease.

import type { WorkFrame } from "../core/async-context.ts";
import type { Activity } from "../core/definitions.ts";
import { isPerdureError, PerdureError } from "../core/errors.ts";
import type { Executor, ExecutorFunction, Threads } from "../core/executor.ts";
import { CancelledError } from "../core/outcome-errors.ts";
import type { LeasedTask, TaskAddress, TaskClaim } from "../core/provider/tasks.ts";
import { normalizeRetry, retryDelay, shouldRetry } from "../core/retry-policy.ts";
import type { Telemetry } from "../core/telemetry.ts";
import type { TimerWheel } from "../core/timer-wheel.ts";
import { callActivity, describeAttempt } from "./activity-call.ts";
import { ActivityLines } from "./activity-lines.ts";
import {
  ActivityAttempt,
  deathFailure,
  poisonFailure,
  runAttempt,
  timeoutFailure,
  undecodable,
  type ActivityResult,
  type ActivityServices,
  type Undecodable,
} from "./activity-run.ts";
import type { Entries } from "./entries.ts";
import { whyNoRetry } from "../core/failure-lines.ts";
import type { LoopWatch } from "./loop-watch.ts";
import { activitySpan, AttemptWatch } from "./observation.ts";
import { RunningActivity, type RunningActivityOptions } from "./running-activity.ts";
import type { Sessions } from "./sessions.ts";
import type { SuspectSlot } from "./suspect-slot.ts";
import type { TaskOutcomes } from "./task-outcomes.ts";
import type { Tellings } from "./tellings.ts";
import type { PoolJob, Ticket } from "./thread-pool.ts";
import { executorOf } from "./thread-pools.ts";

/** How long a task is kept whose key is missing, before anybody may take it again. */
const WITHHOLD_MS = 30_000;

export interface ActivityRunnerOptions extends ActivityServices {
  readonly workerId: string;
  readonly concurrency: number;
  readonly cancelGraceMs: number;
  readonly attemptsMax: number;
  readonly wheel: TimerWheel;
  readonly monotonic: () => number;
  readonly random: () => number;
  /** What is about to hold the loop; empty: nothing of ours. */
  readonly entering: (label: string) => void;
  readonly find: (name: string) => Activity<never, unknown> | undefined;
  /** Where activities run that do not say. */
  readonly executor: Executor;
  /** Hands an attempt to threads. */
  readonly toThread: (threads: Threads, job: PoolJob) => Ticket;
  readonly loop: Pick<LoopWatch, "now" | "reached" | "ended">;
  readonly entries: Pick<Entries, "add">;
  readonly outcomes: Pick<TaskOutcomes, "over" | "retry" | "unbegun">;
  readonly tellings: Tellings;
  readonly telemetry: Telemetry | null;
  /** Told which sessions have tasks under way. */
  readonly sessions: Pick<Sessions, "enter" | "leave">;
  /** A slot became free. */
  readonly onFree: () => void;
  readonly suspects: SuspectSlot;
}

export class ActivityRunner {
  readonly #options: ActivityRunnerOptions;
  readonly #runningOptions: RunningActivityOptions;
  readonly #lines: ActivityLines;
  readonly #running = new Map<string, RunningActivity>();
  #reserved = 0;
  #winding = 0;
  /** Of those that run here (AC5). */
  #withheld = 0;
  #isStopped = false;
  readonly stats = {
    started: 0,
    completed: 0,
    failed: 0,
    retried: 0,
    died: 0,
    cancelled: 0,
    poisoned: 0,
  };

  constructor(options: ActivityRunnerOptions) {
    this.#options = options;
    this.#lines = new ActivityLines(options.log, options.workerId);
    const { wheel, monotonic, tellings } = options;
    this.#runningOptions = {
      wheel,
      monotonic,
      tellings,
      onTimeout: (running, what) => this.#timedOut(running, what),
    };
  }

  get free(): number {
    const used = this.active + this.#reserved + this.#winding;
    return Math.max(this.#options.concurrency - used, 0);
  }
  get active(): number {
    return this.#running.size - this.#withheld;
  }
  /** Whether any of these instances has an activity under way here. */
  runsFor(instanceIds: readonly string[]): boolean {
    if (this.#running.size === 0) return false;
    const ids = new Set(instanceIds);
    for (const { task } of this.#running.values()) if (ids.has(task.instanceId)) return true;
    return false;
  }
  /** What runs in this process. */
  get frames(): readonly WorkFrame[] {
    return [...this.#running.values()].flatMap(({ frame }) => frame ?? []);
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
    if (this.#isStopped) return this.#options.outcomes.unbegun(task);
    if (task.suspect) this.#options.suspects.enter(addressKey(task));
    if (task.undecodable === true) {
      return this.#poison(task, `poison: the options of activity ${task.name} cannot be read`);
    }
    if (task.deaths >= attemptsMax) {
      const times = `exceeded ${task.deaths} attempts (max ${attemptsMax})`;
      const what = `activity ${task.name}#${task.sequence}`;
      return this.#poison(task, `poison: ${what} ${times}: its process died each time`);
    }
    const definition = find(task.name);
    if (definition === undefined)
      throw new Error(`Leased an activity that is not registered: ${task.name}`);
    this.stats.started++;
    const running = new RunningActivity(task, this.#runningOptions);
    if (task.session !== null) this.#options.sessions.enter(task.session);
    // An attempt under an earlier token is still running: the store went back, or its lease ended by its time.
    const earlier = this.#running.get(addressKey(task));
    if (earlier !== undefined) this.lose(earlier.task);
    this.#running.set(addressKey(task), running);
    const executor = executorOf(definition, this.#options.executor);
    if (typeof executor === "object") return this.#runElsewhere(running, executor);
    const run = executor === "process" ? null : executor;
    this.#options.entries.add(() => this.#enter(running, definition, run));
  }

  /** AC6. Meanwhile the task may have been cancelled, or the runtime stopped. */
  #enter(
    running: RunningActivity,
    definition: Activity<never, unknown>,
    executor: ExecutorFunction | null,
  ): void {
    if (running.state !== "active") return this.#gone(running);
    if (!this.#isStopped) return void this.#run(running, definition, executor);
    this.#handBack(running);
    this.#options.onFree();
  }

  #observe(running: RunningActivity): void {
    const { telemetry, monotonic } = this.#options;
    if (telemetry === null) return;
    running.watch = new AttemptWatch(telemetry, activitySpan(running.task), monotonic);
  }

  async #run(
    running: RunningActivity,
    definition: Activity<never, unknown>,
    executor: ExecutorFunction | null,
  ): Promise<void> {
    const { codec, loop, workerId } = this.#options;
    const { task } = running;
    this.#observe(running);
    running.entered();
    let input: unknown;
    try {
      input = codec.decode(task.input);
    } catch (error) {
      return this.#ended(running, undecodable(error));
    }
    const its = { lastHeartbeat: task.heartbeat, voice: running };
    const context = new ActivityAttempt(describeAttempt(task, workerId), this.#options, its);
    const frame = { kind: "activity", name: task.name, instanceId: task.instanceId } as const;
    const call = (): unknown => callActivity(definition, input, context, executor);
    const { watch } = running;
    const fn = watch === null ? call : (): unknown => watch.enter(call);
    running.work = context;
    running.frame = frame;
    this.#options.entering(`activity "${task.name}" of ${task.instanceId}`);
    const since = loop.now();
    const ended = runAttempt({ frame, fn, codec });
    loop.reached(frame, since);
    this.#options.entering("");
    const result = await ended;
    loop.ended(frame);
    this.#ended(running, result);
  }

  #runElsewhere(running: RunningActivity, threads: Threads): void {
    const { task } = running;
    this.#observe(running);
    const { promise, resolve } = Promise.withResolvers<ActivityResult>();
    const { name, input, heartbeat } = task;
    const attempt = describeAttempt(task, this.#options.workerId);
    running.work = this.#options.toThread(threads, {
      order: { ...attempt, name, input, lastHeartbeat: heartbeat },
      voice: running,
      entered: () => running.entered(),
      ended: resolve,
    });
    const ended = running.watch?.enter(() => promise) ?? promise;
    void ended.then((result) => this.#ended(running, result));
  }

  #ended(running: RunningActivity, result: ActivityResult): void {
    if (running.state !== "active") return this.#gone(running);
    if (result.kind === "undecodable" && result.keyMissing) return this.#withhold(running, result);
    running.watch?.over(result.kind);
    this.#decide(running);
    running.state = "gone";
    this.#report(running, result);
    this.#options.onFree();
  }

  /** AC5. */
  #withhold(running: RunningActivity, { kind, why }: Undecodable): void {
    const { task } = running;
    const { monotonic, onFree } = this.#options;
    this.#lines.withheld(task, why);
    this.#withheld++;
    running.isWithheld = true;
    running.endsBy(monotonic() + WITHHOLD_MS, () => {
      running.watch?.over(kind);
      this.#handBack(running);
    });
    onFree();
  }

  /** No attempt was made. */
  #handBack(running: RunningActivity): void {
    this.#decide(running);
    running.state = "gone";
    this.#options.outcomes.unbegun(running.task);
    this.settled(running.task);
  }

  #report({ task, details }: RunningActivity, result: ActivityResult): void {
    const { name } = task;
    if (result.kind === "undecodable") {
      return this.#poison(
        task,
        `poison: the input of activity ${name} cannot be read: ${result.why}`,
      );
    }
    if (result.kind === "died") {
      this.stats.died++;
      const died = deathFailure(name, result.why);
      this.#lines.failed(task, died, { kind: "rerun" });
      const failure = JSON.stringify(died);
      const again = { delayMs: 0, failure, heartbeat: details, died: true } as const;
      return this.#options.outcomes.retry(task, again);
    }
    const attempts = task.attempt + 1;
    const scheduled = task.sequence;
    if (result.kind === "completed") {
      this.stats.completed++;
      this.#options.outcomes.over(task, {
        kind: "ActivityCompleted",
        scheduled,
        output: result.output,
        attempts,
      });
      return;
    }
    const { failure } = result;
    const policy = task.options?.retry ?? normalizeRetry(undefined);
    // Deaths are the host's doing and use up none of the attempts the user gave.
    const failures = attempts - task.deaths;
    const count = { failures, max: policy.maxAttempts };
    if (shouldRetry({ policy, failures, failure })) {
      this.stats.retried++;
      const delayMs = result.retryAfterMs ?? retryDelay(policy, failures, this.#options.random);
      const again = { delayMs, failure: JSON.stringify(failure), heartbeat: details };
      this.#lines.failed(task, failure, { kind: "retry", delayMs }, count);
      this.#options.outcomes.retry(task, again);
      return;
    }
    this.stats.failed++;
    this.#lines.failed(task, failure, { kind: "none", why: whyNoRetry(count) }, count);
    this.#options.outcomes.over(task, { kind: "ActivityFailed", scheduled, failure, attempts });
  }

  #timedOut(running: RunningActivity, what: string): void {
    if (running.state !== "active") return;
    const failure = timeoutFailure(what);
    this.#windUp(running, new PerdureError("TIMEOUT", failure.message));
    this.#report(running, { kind: "failed", failure, retryAfterMs: null });
  }

  #poison(task: LeasedTask, message: string): void {
    this.stats.poisoned++;
    this.#lines.poisoned(task, message);
    const failure = poisonFailure(message);
    const { sequence: scheduled, attempt: attempts } = task;
    this.#options.outcomes.over(task, { kind: "ActivityFailed", scheduled, attempts, failure });
  }

  /** The call was cancelled: its row is gone. */
  cancel(address: TaskAddress, reason: string): void {
    const running = this.#running.get(addressKey(address));
    if (running === undefined) return;
    this.stats.cancelled++;
    this.#windUp(running, new CancelledError(reason));
    this.settled(running.task);
  }

  /** Another worker owns the task now, or nobody does. */
  lose(claim: TaskClaim): void {
    const running = this.#running.get(addressKey(claim));
    if (running === undefined || running.task.token !== claim.token) return;
    this.#windUp(running, new PerdureError("LEASE_LOST", "Another worker owns this task now."));
    this.settled(running.task);
  }

  /** Everything still running, aborted and given up; the caller hands the tasks back. */
  abandonAll(reason: Error): readonly LeasedTask[] {
    const abandoned = [...this.#running.values()];
    for (const running of abandoned) this.#windUp(running, reason);
    return abandoned.map((running) => running.task);
  }

  #windUp(running: RunningActivity, reason: Error): void {
    running.watch?.over(isPerdureError(reason, "TIMEOUT") ? "timedOut" : "cancelled");
    this.#decide(running);
    running.state = "winding";
    this.#winding++;
    running.work.abort(reason);
    const at = this.#options.monotonic() + this.#options.cancelGraceMs;
    // A handler that ignores its signal loses its slot, whatever it still does; a thread is ended with it.
    running.endsBy(at, () => {
      running.work.giveUp?.();
      this.#gone(running);
    });
  }

  #gone(running: RunningActivity): void {
    if (running.state !== "winding") return;
    running.stopTimers();
    running.state = "gone";
    this.#winding--;
    this.#options.onFree();
  }

  #decide(running: RunningActivity): void {
    running.stopTimers();
    this.#running.delete(addressKey(running.task));
    if (running.isWithheld) this.#withheld--;
    if (running.task.session !== null) this.#options.sessions.leave(running.task.session);
  }

  /** The outcome is on disk, or there is none. A suspect counts until then: the next one may end this process. */
  settled(task: LeasedTask): void {
    if (!task.suspect) return;
    this.#options.suspects.leave(addressKey(task));
  }
}

function addressKey(address: TaskAddress): string {
  return `${address.key}:${address.execution}:${address.sequence}`;
}
