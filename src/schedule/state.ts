// The state of a schedule between executions, its status, and the events that it receives.

import { event } from "../core/define/definitions.ts";
import { stateSchema } from "../core/define/state-schema.ts";
import type { ScheduleRule } from "./rule.ts";

/** The outcome of a scheduled time or of a trigger. */
export interface Fired {
  /** The scheduled time. For a trigger: when the schedule handled it. */
  readonly time: Date;
  /**
   * "started": the run `id` was started. "skipped": the previous run `id` was still running. "late": the
   * time was longer ago than `maxLateness`. "failed": the input threw a `NonRetryableError`, or killed
   * every process that ran it; `error` has the message.
   */
  readonly outcome: "started" | "skipped" | "late" | "failed";
  readonly id?: string;
  readonly error?: string;
}

/** The input of a schedule's execution. `apply` creates the first; the schedule creates the next ones. */
export interface ScheduleState {
  readonly rule: ScheduleRule;
  /** Times up to this one are finished. Null: times before the first turn are. */
  readonly after: Date | null;
  /** A new rule, which takes effect after all times that are due under the current one. */
  readonly change: ScheduleRule | null;
  readonly last: Fired | null;
  /** The id of the last started run. */
  readonly run: string | null;
}

export const STATE = stateSchema<ScheduleState>(
  ["rule"],
  "a schedule must be started with schedule.apply(client), not by its name",
);

/** A schedule's custom status: `describe().customStatus`. */
export interface ScheduleStatus {
  /** Null: the rule has no further time. */
  readonly next: Date | null;
  readonly last: Fired | null;
  /** Why the schedule starts no runs: its rule is not valid. `apply` repairs it. */
  readonly problem?: string;
}

/** A new rule, sent by `apply`. */
export const CHANGE = event<ScheduleRule>("change");
/** An additional run, now. */
export const TRIGGER = event("trigger");
/** The key of the key-value that holds the schedule's current rule. */
export const RULE = "rule";
