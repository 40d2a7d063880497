// One activity that runs in this runtime: its task, its last heartbeat, and the deadline of its slot.

import { DescribedAttempt, type ActivityReports } from "../../core/attempts/attempt-context.ts";
import { RunningAttempt, type AttemptClock } from "../../core/attempts/running-attempt.ts";
import type { LeasedTask, TaskAddress } from "../../core/provider/tasks.ts";
import type { TimerHandle } from "../../core/time/environment.ts";
import type { AttemptStreams } from "../streams/attempt-streams.ts";
import type { StreamAppends } from "../streams/stream-appends.ts";
import type { ProgressReports } from "./progress-reports.ts";

export interface RunningActivityOptions extends AttemptClock {
  readonly workerId: string;
  readonly progressReports: ProgressReports;
  readonly streamAppends: StreamAppends;
}

export class RunningActivity extends RunningAttempt implements ActivityReports {
  readonly task: LeasedTask;
  readonly address: string;
  /** Encoded details of the last heartbeat. A retry stores them for the next attempt. */
  details: string | null = null;
  /** When its code began, by the store's clock; null: it has not. */
  began: number | null = null;
  /** Whether its code was entered in this process. */
  isHere = false;
  /** The end of the grace period, or of the time for which the task is withheld. */
  slotTimer: TimerHandle | null = null;
  readonly #progressReports: ProgressReports;
  readonly #streamAppends: StreamAppends;
  #streams: AttemptStreams | null = null;

  constructor(task: LeasedTask, options: RunningActivityOptions) {
    const { workerId: worker } = options;
    super(new DescribedAttempt("activity", task, { attempt: task.attempt + 1, worker }), options);
    this.task = task;
    this.address = addressKey(task);
    this.#progressReports = options.progressReports;
    this.#streamAppends = options.streamAppends;
  }

  /** What the attempt writes to streams. */
  get streams(): AttemptStreams {
    return (this.#streams ??= this.#streamAppends.streamsOf(this));
  }
  /** How many values that the attempt wrote to streams the store has acknowledged. */
  get streamValues(): number {
    return this.#streams?.written ?? 0;
  }
  get usesStreams(): boolean {
    return this.#streams !== null;
  }

  heartbeat(details: string | null): void {
    if (!this.beat() || details === null) return;
    this.details = details;
    this.#progressReports.details(this.task, details);
  }

  progress(value: string): void {
    if (this.beat()) this.#progressReports.progress(this.task, value);
  }
}

export function addressKey({ key, execution, sequence }: TaskAddress): string {
  return `${key}:${execution}:${sequence}`;
}
