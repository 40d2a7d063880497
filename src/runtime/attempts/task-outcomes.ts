// Task outcomes: how the outcome of an activity leaves this runtime. It is delivered with the next turn
// of its instance, written to the inbox, returned to the queue for a retry, or handed back at shutdown.
//   - A suspect counts as running until its outcome is durable, because the next suspect may kill this
//     process.

import type { ActivityCompleted, ActivityFailed } from "../../core/history/events.ts";
import type { DeferItem } from "../../core/provider/callbacks.ts";
import type { LeasedTask } from "../../core/provider/tasks.ts";
import { defined } from "../../core/values/defined.ts";
import type { RuntimeContext } from "../context.ts";
import { endJob, isJobTask } from "./job-ends.ts";
import type { ProgressReports } from "./progress-reports.ts";

export class TaskOutcomes {
  readonly #runtime: RuntimeContext;
  readonly #progressReports: ProgressReports;

  constructor(runtime: RuntimeContext, progressReports: ProgressReports) {
    this.#runtime = runtime;
    this.#progressReports = progressReports;
  }

  over(task: LeasedTask, body: ActivityCompleted | ActivityFailed): void {
    const { instances, activities, committer, queues, leaseCheck, onStoreError } = this.#runtime;
    queues.count(task.name, body.kind === "ActivityCompleted" ? "completed" : "failed");
    // The outcome of a suspect is written alone, so that the runtime knows when it is durable. Only then
    // is the suspect over.
    if (!task.suspect && instances.giveOutcome(task, body)) return;
    const item = { kind: "completion", task, outcome: JSON.stringify(body) } as const;
    const submit = async (): Promise<void> => {
      leaseCheck.outcomeSettled(item, await committer.submit(item));
    };
    const isJob = body.kind === "ActivityCompleted" && isJobTask(task);
    const written = isJob
      ? endJob(this.#runtime, task, body).then((ended) => (ended ? undefined : submit()))
      : submit();
    written.catch(onStoreError).finally(() => activities.settled(task));
  }

  retry(
    task: LeasedTask,
    again: { delayMs: number; failure: string; heartbeat: string | null; died?: true },
  ): void {
    const { heartbeat, ...rest } = again;
    const retry = { kind: "retry", task, ...rest } as const;
    const item = heartbeat === null ? retry : { ...retry, heartbeat };
    const { committer, intake, activities, queues, onStoreError } = this.#runtime;
    queues.count(task.name, "retried");
    committer
      .submit(item)
      .then(() => intake.wakeTasksIn(again.delayMs), onStoreError)
      .finally(() => activities.settled(task));
  }

  /** The attempt has returned, and a call from outside completes the task. */
  defer(task: LeasedTask, left: Pick<DeferItem, "timeoutMs" | "heartbeatMs" | "heartbeat">): void {
    const { committer, intake, activities, leaseCheck, onStoreError } = this.#runtime;
    const progress = this.#progressReports.take(task);
    const wakeIn = Math.min(left.timeoutMs ?? Infinity, left.heartbeatMs ?? Infinity);
    const wake = (): void => {
      if (wakeIn < Infinity) intake.wakeTasksIn(wakeIn);
    };
    const item = { kind: "defer", task, ...left, ...defined({ progress }) } as const;
    committer
      .submit(item)
      .then((result) => {
        leaseCheck.outcomeSettled(item, result);
        wake();
      }, onStoreError)
      .finally(() => activities.settled(task));
  }

  /** The task was not begun. This does not count as an attempt. */
  release(task: LeasedTask): void {
    // If this fails, the task is freed when the runtime's row is removed.
    this.#runtime.committer.submit({ kind: "releaseTask", task }).catch(() => undefined);
  }

  /**
   * Writes heartbeats first, while the claims are valid; then releases the tasks, then their sessions.
   */
  async handBack(tasks: readonly LeasedTask[]): Promise<void> {
    const { committer, sessions, onStoreError } = this.#runtime;
    await this.#progressReports.flush();
    const items = tasks.map((task) => ({ kind: "releaseTask", task }) as const);
    await Promise.allSettled(items.map((item) => committer.submit(item)));
    await sessions.release().catch(onStoreError);
  }
}
