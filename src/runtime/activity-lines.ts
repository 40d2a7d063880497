// Log lines about attempts at activities that did not succeed.

import type { Failure } from "../core/failure.ts";
import { logFailedAttempt, type AfterFailure, type FailedAttempt } from "../core/failure-lines.ts";
import { attemptFields } from "../core/log-fields.ts";
import type { LogFields, LogSink } from "../core/log.ts";
import type { LeasedTask } from "../core/provider/tasks.ts";
import { describeAttempt } from "./activity-call.ts";

export class ActivityLines {
  readonly #log: LogSink;
  readonly #workerId: string;

  constructor(log: LogSink, workerId: string) {
    this.#log = log;
    this.#workerId = workerId;
  }

  failed(
    task: LeasedTask,
    failure: Failure,
    next: AfterFailure,
    count?: FailedAttempt["count"],
  ): void {
    const description = describeAttempt(task, this.#workerId);
    const failed = { kind: "activity", description, failure, next } as const;
    logFailedAttempt(this.#log, count === undefined ? failed : { ...failed, count });
  }

  poisoned(task: LeasedTask, message: string): void {
    this.#log("warn", `${task.name}, ${task.instanceId}: ${message}`, this.#fields(task));
  }

  withheld(task: LeasedTask, why: string): void {
    const message = `activity "${task.name}" waits for a worker that can read its input: ${why}`;
    this.#log("warn", message, this.#fields(task));
  }

  #fields(task: LeasedTask): LogFields {
    const { attempt, info } = describeAttempt(task, this.#workerId);
    return attemptFields("activity", attempt, info);
  }
}
