// Activity results: what becomes of an attempt that has ended. The retry policy of the call decides, and the outcome
// leaves through TaskOutcomes.

import { DescribedAttempt } from "../../core/attempts/attempt-context.ts";
import { decide } from "../../core/attempts/decide.ts";
import type { ActivityResult, AttemptResult } from "../../core/attempts/run-attempt.ts";
import {
  poisonFailure,
  threadDiedFailure,
  timeoutFailure,
} from "../../core/errors/built-in-failures.ts";
import type { AttemptTimes } from "../../core/history/events.ts";
import type { LeasedTask } from "../../core/provider/tasks.ts";
import { logFailedAttempt } from "../../core/telemetry/failure-lines.ts";
import { attemptFields } from "../../core/telemetry/log-fields.ts";
import type { LogSink } from "../../core/telemetry/log.ts";
import type { RunningActivity } from "./running-activity.ts";
import type { TaskOutcomes } from "./task-outcomes.ts";

export interface ActivityResultsOptions {
  readonly workerId: string;
  readonly log: LogSink;
  readonly random: () => number;
  readonly storeNow: () => number;
  readonly outcomes: Pick<TaskOutcomes, "over" | "retry" | "defer">;
}

/** An attempt that has ended. */
type Ended = Pick<RunningActivity, "task" | "description" | "details" | "streamValues" | "began">;
/** A task without settings of callbacks is withheld (activity-runner.2). */
type Reported = Exclude<ActivityResult, { readonly kind: "unconfigured" }>;

export class ActivityResults {
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
  readonly #options: ActivityResultsOptions;

  constructor(options: ActivityResultsOptions) {
    this.#options = options;
  }

  report(running: RunningActivity, result: Reported): void {
    const { task, description, details: heartbeat } = running;
    const { outcomes, log } = this.#options;
    const { name } = task;
    if (result.kind === "undecodable") {
      const what = `the input or the context of activity ${name}`;
      return this.poison(task, `${what} cannot be read: ${result.why}`);
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
      return outcomes.defer(withValues(task, running.streamValues), {
        ...running.left(task.options ?? {}),
        ...details,
      });
    }
    this.#decide(running, result);
  }

  /** The attempt has waited too long for its completion from outside (provider.callbacks.3). Its code does not run. */
  timedOut(task: LeasedTask, over: NonNullable<LeasedTask["deferred"]>): void {
    const failure = timeoutFailure(over === "timeout" ? "activity" : "activity heartbeat");
    const description = this.#described(task);
    const ended = { task, description, details: null, streamValues: 0, began: null };
    this.#decide(ended, { kind: "failed", failure, retryAfterMs: null });
  }

  #decide({ task, description, details, streamValues, began }: Ended, result: AttemptResult): void {
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
      return outcomes.retry(task, {
        delayMs,
        failure: JSON.stringify(failure),
        heartbeat: details,
      });
    }
    this.stats[decision.kind]++;
    const now = this.#options.storeNow();
    const times: AttemptTimes = began === null ? {} : { ran: [began, Math.max(0, now - began)] };
    if (decision.kind === "failed") {
      const { failure } = decision;
      return outcomes.over(task, {
        kind: "ActivityFailed",
        scheduled,
        failure,
        attempts,
        ...times,
      });
    }
    const { output } = decision;
    outcomes.over(withValues(task, streamValues), {
      kind: "ActivityCompleted",
      scheduled,
      output,
      attempts,
      ...times,
    });
  }

  poison(task: LeasedTask, why: string): void {
    this.stats.poisoned++;
    const message = `poison: ${why}`;
    this.warn(task, `${task.name}, ${task.instanceId}: ${message}`);
    const failure = poisonFailure(message);
    const { sequence: scheduled, attempt: attempts } = task;
    this.#options.outcomes.over(task, { kind: "ActivityFailed", scheduled, attempts, failure });
  }

  warn(task: LeasedTask, message: string): void {
    this.#options.log("warn", message, attemptFields(this.#described(task)));
  }

  #described(task: LeasedTask): DescribedAttempt {
    const { workerId: worker } = this.#options;
    return new DescribedAttempt("activity", task, { attempt: task.attempt + 1, worker });
  }
}

function withValues(task: LeasedTask, streamValues: number): LeasedTask {
  return streamValues === 0 ? task : { ...task, streamValues };
}
