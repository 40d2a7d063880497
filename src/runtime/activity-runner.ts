// Activities under way in this runtime: slots, time-outs, cancels, outcomes.
//   AC1. A slot is held from the reservation (or lease) until the handler has ended or its grace is over.
//   AC2. The first of {outcome, timeout, cancel, lost lease, shutdown} decides; everything later is ignored.
//   AC3. An attempt is counted when it failed; one that was handed back is not (semantics 13).

import type { ActivityContext } from "../core/activity-context.ts";
import type { Codec } from "../core/codec.ts";
import type { Activity } from "../core/definitions.ts";
import { PerdureError } from "../core/errors.ts";
import type { Failure } from "../core/failure.ts";
import type { ActivityCompleted, ActivityFailed } from "../core/history-events.ts";
import type { LogSink } from "../core/log.ts";
import { CancelledError } from "../core/outcome-errors.ts";
import type { LeasedTask, TaskAddress, TaskClaim } from "../core/provider/tasks.ts";
import { normalizeRetry, retryDelay, shouldRetry } from "../core/retry-policy.ts";
import { validate } from "../core/standard-schema.ts";
import type { TimerWheel } from "../core/timer-wheel.ts";
import type { TimerHandle } from "../core/environment.ts";
import type { Sessions } from "./sessions.ts";
import { Attempt, runAttempt, timeoutFailure, type AttemptResult } from "./activity-run.ts";

export interface ActivityRunnerOptions {
  readonly workerId: string;
  readonly concurrency: number;
  readonly cancelGraceMs: number;
  readonly attemptsMax: number;
  readonly codec: Codec;
  readonly log: LogSink;
  readonly wheel: TimerWheel;
  readonly monotonic: () => number;
  readonly random: () => number;
  /** What is about to hold the loop; empty: nothing of ours. */
  readonly entering: (label: string) => void;
  readonly find: (name: string) => Activity<never, unknown> | undefined;
  /** The call is over for good. */
  readonly onOutcome: (task: LeasedTask, body: ActivityCompleted | ActivityFailed) => void;
  /** The attempt failed and there is another one. */
  readonly onRetry: (
    task: LeasedTask,
    delayMs: number,
    failure: Failure,
    heartbeat: string | null,
  ) => void;
  readonly onHeartbeat: (task: LeasedTask, details: string) => void;
  /** Told which sessions have tasks under way. */
  readonly sessions: Pick<Sessions, "enter" | "leave">;
  /** A slot became free. */
  readonly onFree: () => void;
  /** The suspect is over: the next one may be taken. */
  readonly onSuspectOver: () => void;
}

interface Running {
  readonly task: LeasedTask;
  readonly attempt: Attempt;
  timer: TimerHandle | null;
  beatTimer: TimerHandle | null;
  /** The last heartbeat, or the beginning. */
  beatAt: number;
  /** The last heartbeat's, encoded; they go with a retry. */
  details: string | null;
  /** active → winding (decided; the handler may still end within its grace) → gone (its slot is free). */
  state: "active" | "winding" | "gone";
}

export class ActivityRunner {
  readonly #options: ActivityRunnerOptions;
  readonly #running = new Map<string, Running>();
  #reserved = 0;
  #winding = 0;
  #suspects = 0;
  readonly stats = { started: 0, completed: 0, failed: 0, retried: 0, cancelled: 0, poisoned: 0 };

  constructor(options: ActivityRunnerOptions) {
    this.#options = options;
  }

  get free(): number {
    const used = this.#running.size + this.#reserved + this.#winding;
    return Math.max(this.#options.concurrency - used, 0);
  }
  get active(): number {
    return this.#running.size;
  }
  /** One suspect at a time (semantics 13). */
  get mayTakeSuspect(): boolean {
    return this.#suspects === 0;
  }
  /** Whether any of these instances has an activity under way here. */
  runsFor(instanceIds: readonly string[]): boolean {
    if (this.#running.size === 0) return false;
    const ids = new Set(instanceIds);
    for (const { task } of this.#running.values()) if (ids.has(task.instanceId)) return true;
    return false;
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

  start(task: LeasedTask): void {
    const { attemptsMax, find, codec } = this.#options;
    if (task.suspect) this.#suspects++;
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
    const attempt = new Attempt({
      attempt: task.attempt + 1,
      key: `${task.runId}:${task.execution}:${task.sequence}`,
      info: {
        instanceId: task.instanceId,
        executionId: task.execution,
        orchestration: task.orchestration,
        orchestrationVersion: task.orchestrationVersion,
        activity: task.name,
        sequence: task.sequence,
        worker: this.#options.workerId,
        priority: task.priority,
        tags: task.tags ?? [],
        session: task.session ?? undefined,
      },
      sink: this.#options.log,
      beats: {
        beat: (details) => this.#beat(running, details),
        last: () => (task.heartbeat === null ? undefined : codec.decode(task.heartbeat)),
      },
    });
    const running: Running = {
      task,
      attempt,
      timer: null,
      beatTimer: null,
      beatAt: this.#options.monotonic(),
      details: null,
      state: "active",
    };
    if (task.session !== null) this.#options.sessions.enter(task.session);
    this.#running.set(addressKey(task), running);
    const timeoutMs = task.options?.timeoutMs;
    if (timeoutMs !== undefined) {
      const at = this.#options.monotonic() + timeoutMs;
      running.timer = this.#options.wheel.schedule(at, () => this.#timedOut(running, "activity"));
    }
    this.#watchBeats(running);
    void this.#run(running, definition);
  }

  #beat(running: Running, details: unknown): void {
    if (running.state !== "active") return;
    const { codec, monotonic, onHeartbeat } = this.#options;
    running.beatAt = monotonic();
    if (details === undefined) return; // it lives; there is nothing to keep
    running.details = codec.encode(details);
    onHeartbeat(running.task, running.details);
  }

  /** One timer at a time, moved on when it comes due: a beat costs nothing. */
  #watchBeats(running: Running): void {
    const timeoutMs = running.task.options?.heartbeatTimeoutMs;
    if (timeoutMs === undefined) return;
    const { wheel, monotonic } = this.#options;
    running.beatTimer = wheel.schedule(running.beatAt + timeoutMs, () => {
      if (monotonic() < running.beatAt + timeoutMs) this.#watchBeats(running);
      else this.#timedOut(running, "activity heartbeat");
    });
  }

  async #run(running: Running, definition: Activity<never, unknown>): Promise<void> {
    const { codec } = this.#options;
    const { task, attempt } = running;
    let input: unknown;
    try {
      input = codec.decode(task.input);
    } catch (error) {
      this.#decide(running);
      this.#poison(
        task,
        `poison: the input of activity ${task.name} cannot be read: ${String(error)}`,
      );
      this.#options.onFree();
      return;
    }
    const frame = { kind: "activity", name: task.name, instanceId: task.instanceId } as const;
    const fn = (): unknown => invoke(definition, input, attempt);
    this.#options.entering(`activity "${task.name}" of ${task.instanceId}`);
    const ended = runAttempt({ frame, fn, codec });
    this.#options.entering("");
    this.#ended(running, await ended);
  }

  #ended(running: Running, result: AttemptResult): void {
    if (running.state !== "active") return this.#gone(running);
    this.#decide(running);
    running.state = "gone";
    this.#report(running, result);
    this.#options.onFree();
  }

  #report({ task, details }: Running, result: AttemptResult): void {
    const attempts = task.attempt + 1;
    const scheduled = task.sequence;
    if (result.kind === "completed") {
      this.stats.completed++;
      this.#options.onOutcome(task, {
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
    if (shouldRetry({ policy, failures, failure })) {
      this.stats.retried++;
      const delay = result.retryAfterMs ?? retryDelay(policy, failures, this.#options.random);
      this.#options.onRetry(task, delay, failure, details);
      return;
    }
    this.stats.failed++;
    this.#options.onOutcome(task, { kind: "ActivityFailed", scheduled, failure, attempts });
  }

  #timedOut(running: Running, what: string): void {
    if (running.state !== "active") return;
    const failure = timeoutFailure(what);
    this.#windUp(running, new PerdureError("TIMEOUT", failure.message));
    this.#report(running, { kind: "failed", failure, retryAfterMs: null });
  }

  #poison(task: LeasedTask, message: string): void {
    this.stats.poisoned++;
    this.#options.onOutcome(task, {
      kind: "ActivityFailed",
      scheduled: task.sequence,
      attempts: task.attempt,
      failure: {
        category: "poison",
        name: "PoisonError",
        message,
        retryable: false,
      },
    });
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

  #windUp(running: Running, reason: Error): void {
    this.#decide(running);
    running.state = "winding";
    this.#winding++;
    running.attempt.abort(reason);
    const at = this.#options.monotonic() + this.#options.cancelGraceMs;
    // A handler that ignores its signal loses its slot, whatever it still does.
    running.timer = this.#options.wheel.schedule(at, () => this.#gone(running));
  }

  #gone(running: Running): void {
    if (running.state !== "winding") return;
    running.timer?.cancel();
    running.state = "gone";
    this.#winding--;
    this.#options.onFree();
  }

  #decide(running: Running): void {
    running.timer?.cancel();
    running.beatTimer?.cancel();
    this.#running.delete(addressKey(running.task));
    if (running.task.session !== null) this.#options.sessions.leave(running.task.session);
  }

  /** The outcome is on disk, or there is none. A suspect counts until then: the next one may end this process. */
  settled(task: LeasedTask): void {
    if (!task.suspect) return;
    this.#suspects--;
    this.#options.onSuspectOver();
  }
}

function addressKey(address: TaskAddress): string {
  return `${address.key}:${address.execution}:${address.sequence}`;
}

function invoke(definition: Activity<never, unknown>, input: unknown, attempt: Attempt): unknown {
  // The definition's types tie its function to its own input.
  const handler = definition.handler as (input: unknown, ctx: ActivityContext) => unknown;
  const { input: inputSchema, output: outputSchema } = definition.defaults;
  if (inputSchema === undefined && outputSchema === undefined) return handler(input, attempt);
  return invokeChecked(definition, (checked) => handler(checked, attempt), input);
}

async function invokeChecked(
  definition: Activity<never, unknown>,
  handler: (input: unknown) => unknown,
  input: unknown,
): Promise<unknown> {
  const { input: inputSchema, output: outputSchema } = definition.defaults;
  const what = `of activity "${definition.name}"`;
  const checked = inputSchema ? await validate(inputSchema, input, `input ${what}`) : input;
  const output = await handler(checked);
  return outputSchema ? validate(outputSchema, output, `output ${what}`) : output;
}
