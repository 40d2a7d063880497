// A rule: a schedule's options as plain data, checked, as they are recorded.
//   RU1. All that decides what the loop does next is in here: it is part of an execution's input, so that a deploy with
//        other options reaches an execution only as a message that it reads, and never diverges from its history.
//   RU2. Two rules of the same options are the same text as JSON, also when one of them has been in a store.
//   RU3. Any client can raise an event, so a rule that arrives as a message is checked before it is used.

import { parseDuration, type Duration } from "../core/duration.ts";
import { PerdureError } from "../core/errors.ts";
import { showValue } from "../core/ids.ts";
import { checkChoice } from "../core/known-members.ts";
import { checkCron, checkTimezone } from "./calendar.ts";

/** When, and what then: as data. */
export interface ScheduleRule {
  readonly cron: string | null;
  readonly timezone: string;
  readonly everyMs: number | null;
  readonly from: Date | null;
  readonly until: Date | null;
  readonly overlap: "skip" | "allow" | "cancel";
  readonly missed: "latest" | "all";
  readonly maxLatenessMs: number | null;
  readonly jitterMs: number;
}

/** When a schedule is due, and what happens to times that could not be kept. */
export interface RuleOptions {
  /**
   * Five fields, minute to weekday, or six with seconds before them; also `@hourly`, `@daily`, `@weekly`, `@monthly`
   * and `@yearly`. This or `every`.
   */
  readonly cron?: string;
  /** Whose clocks the fields of `cron` are read by: an IANA name. Default "UTC". */
  readonly timezone?: string;
  /** Each time this much has passed, counted from `from`, or else from the beginning of 1970 UTC. A second at least. */
  readonly every?: Duration;
  /** No time before this one. */
  readonly from?: Date;
  /** No time after this one; then the schedule completes. */
  readonly until?: Date;
  /**
   * When the run before is still going on: "skip" (default) leaves this time out, "allow" starts beside it, "cancel"
   * asks the other to end and starts.
   */
  readonly overlap?: "skip" | "allow" | "cancel";
  /**
   * Of several times that passed while nobody ran the schedule or it was paused: "latest" (default) makes up for the
   * last of them, "all" for each, in order.
   */
  readonly missed?: "latest" | "all";
  /** A time that could not be kept for longer than this is left out. Default: it is made up for, however late. */
  readonly maxLateness?: Duration;
  /** Each run starts by chance up to this much later than its time, so that many schedules do not start at once. */
  readonly jitter?: Duration;
}

const EVERY_MS_MIN = 1_000;

/** The rule that these options say; `what` names the schedule, for messages. */
export function ruleOf(options: RuleOptions, what: string): ScheduleRule {
  const { cron, every, timezone = "UTC", from, until, overlap, missed } = options;
  if ((cron === undefined) === (every === undefined)) {
    throw invalid(`${what} needs either cron or every.`);
  }
  if (every !== undefined && options.timezone !== undefined) {
    throw invalid(`timezone of ${what} goes with cron; every counts milliseconds.`);
  }
  checkTimezone(timezone, what);
  if (cron !== undefined) checkCron(cron, timezone, what);
  const everyMs = every === undefined ? null : parseDuration(every, `every of ${what}`);
  if (everyMs !== null && everyMs < EVERY_MS_MIN) {
    throw invalid(`every of ${what} is a second or more, not ${showValue(every)}.`);
  }
  checkChoice(overlap, ["skip", "allow", "cancel"], `overlap of ${what}`);
  checkChoice(missed, ["latest", "all"], `missed of ${what}`);
  const first = moment(from, `from of ${what}`);
  const last = moment(until, `until of ${what}`);
  if (first !== null && last !== null && last < first) {
    throw invalid(`until of ${what} is before its from.`);
  }
  return {
    cron: cron ?? null,
    timezone,
    everyMs,
    from: first,
    until: last,
    overlap: overlap ?? "skip",
    missed: missed ?? "latest",
    maxLatenessMs: duration(options.maxLateness, `maxLateness of ${what}`),
    jitterMs: duration(options.jitter, `jitter of ${what}`) ?? 0,
  };
}

type Check = (value: unknown) => boolean;

const isAmount: Check = (value) => Number.isFinite(value) && Number(value) >= 0;
const isDate: Check = (value) => value instanceof Date && !Number.isNaN(value.getTime());
const isText: Check = (value) => typeof value === "string";
const nullOr =
  (check: Check): Check =>
  (value) =>
    value === null || check(value);

const MEMBERS: { readonly [Name in keyof ScheduleRule]: Check } = {
  cron: nullOr(isText),
  timezone: isText,
  everyMs: nullOr((value) => isAmount(value) && Number(value) >= EVERY_MS_MIN),
  from: nullOr(isDate),
  until: nullOr(isDate),
  overlap: (value) => value === "skip" || value === "allow" || value === "cancel",
  missed: (value) => value === "latest" || value === "all",
  maxLatenessMs: nullOr(isAmount),
  jitterMs: isAmount,
};

/** Why a value does not have the form of a rule; null: it has. The same on every machine (RU3). */
export function formProblem(value: unknown): string | null {
  if (typeof value !== "object" || value === null) return `it is ${showValue(value)}`;
  const given: Readonly<Record<string, unknown>> = { ...value };
  for (const [name, check] of Object.entries(MEMBERS)) {
    if (!check(given[name])) return `${name} is ${showValue(given[name])}`;
  }
  return (given["cron"] === null) === (given["everyMs"] === null)
    ? "it must have either cron or everyMs"
    : null;
}

/** Why no times can be computed by a rule, on this machine; null: they can. */
export function ruleProblem(value: unknown): string | null {
  const problem = formProblem(value);
  if (problem !== null) return problem;
  const { cron, timezone } = value as ScheduleRule; // it has the form of one
  try {
    checkTimezone(timezone, "the rule");
    if (cron !== null) checkCron(cron, timezone, "the rule");
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Whether what a store holds is this rule. */
export function isSameRule(known: unknown, rule: ScheduleRule): boolean {
  return JSON.stringify(known) === JSON.stringify(rule); // RU2
}

function duration(value: Duration | undefined, what: string): number | null {
  return value === undefined ? null : parseDuration(value, what);
}

function moment(value: Date | undefined, what: string): Date | null {
  return value === undefined ? null : new Date(momentOf(value, what));
}

/** Refuses what is no date, and one that is invalid. */
export function momentOf(date: Date, what: string): number {
  const given: unknown = date;
  const time = given instanceof Date ? given.getTime() : NaN;
  if (!Number.isNaN(time)) return time;
  throw invalid(`${what} is a valid Date, not ${showValue(given)}.`);
}

function invalid(message: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", message);
}
