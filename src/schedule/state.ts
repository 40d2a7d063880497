// State: what a schedule hands from one execution to the next, what it shows of itself, and what it listens to.

import { event } from "../core/definitions.ts";
import { stateSchema } from "../core/state-schema.ts";
import type { ScheduleRule } from "./rule.ts";

/** What became of a time that was due, or of a trigger. */
export interface Fired {
  /** The time of the calendar; of a trigger, when it was taken. */
  readonly time: Date;
  /**
   * "started": the run `id` was. "skipped": the run `id`, started before, was still going on. "late": it was longer
   * ago than `maxLateness`. "failed": its input threw a `NonRetryableError`, or killed process after process; `error`
   * says what.
   */
  readonly outcome: "started" | "skipped" | "late" | "failed";
  readonly id?: string;
  readonly error?: string;
}

/** A schedule's input: made by `apply`, and by the schedule itself for its next execution. */
export interface ScheduleState {
  readonly rule: ScheduleRule;
  /** Times up to this one are done with; null: those before its first turn. */
  readonly after: Date | null;
  /** A rule that comes next, when all that is due by this one is done. */
  readonly change: ScheduleRule | null;
  readonly last: Fired | null;
  /** The run that was started last. */
  readonly run: string | null;
}

export const STATE = stateSchema<ScheduleState>(
  ["rule"],
  "a schedule is started by schedule.apply(client), not by its name",
);

/** A schedule's custom status: `describe().customStatus`. */
export interface ScheduleStatus {
  /** Null: the calendar has no further time. */
  readonly next: Date | null;
  readonly last: Fired | null;
  /** Why the schedule starts no runs: its rule is not valid. `apply` repairs it. */
  readonly problem?: string;
}

/** Another rule, from a process with newer code. */
export const CHANGE = event<ScheduleRule>("change");
/** One run more, now. */
export const TRIGGER = event("trigger");
/** The key under which a schedule shows its rule. */
export const RULE = "rule";
