// A rule: the options of a schedule as plain, checked data, as they are stored.
//   - The rule contains everything that decides what the loop does, and it is part of the execution's
//        input. A deploy with different options therefore reaches a running execution only as an event, and
//        replay does not diverge.
//   - rule.1: Rules with the same options have the same JSON text, also after a rule was stored and read
//        back.
//   - rule.2: Any client can raise an event. A rule that arrives as an event is checked before it is used.

import { parseDuration, type Duration } from "../core/time/duration.ts";
import { showValue } from "../core/ids/ids.ts";
import { checkChoice, invalidArgument, momentOf } from "../core/checks.ts";
import { checkCron, checkTimezone } from "./calendar.ts";
import { errorMessage } from "../core/errors/errors.ts";

/** The options of a schedule as plain data. */
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

/** The times of a schedule, and the handling of overlapping and missed runs. */
export interface RuleOptions {
  /**
   * Five fields, minute to weekday, or six with seconds first. Also `@hourly`, `@daily`, `@weekly`,
   * `@monthly` and `@yearly`. Give either `cron` or `every`.
   */
  readonly cron?: string;
  /** The time zone of `cron`, an IANA name. Default "UTC". */
  readonly timezone?: string;
  /**
   * The interval between runs, at least one second. Counted from `from`, or from 1970-01-01 UTC without
   * `from`.
   */
  readonly every?: Duration;
  /** No run before this date. */
  readonly from?: Date;
  /** No run after this date. The schedule's instance stays: it waits for a new rule or a trigger. */
  readonly until?: Date;
  /**
   * What happens if the previous run is still running. "skip" (default): skips this time. "allow": starts a
   * concurrent run. "cancel": requests cancellation of the previous run and starts the new one.
   */
  readonly overlap?: "skip" | "allow" | "cancel";
  /**
   * Which missed times run later, if no worker ran the schedule or it was paused. "latest" (default): only
   * the last one. "all": every one, in order.
   */
  readonly missed?: "latest" | "all";
  /** A time that is missed by more than this is skipped. Default: missed times run, however late. */
  readonly maxLateness?: Duration;
  /**
   * Delays each run by a random duration up to this, so that many schedules do not start at the same
   * moment.
   */
  readonly jitter?: Duration;
}

const EVERY_MS_MIN = 1_000;

/** Converts options to a rule. `what` names the schedule in error messages. */
export function ruleOf(options: RuleOptions, what: string): ScheduleRule {
  const { cron, every, timezone = "UTC", from, until, overlap, missed } = options;
  if ((cron === undefined) === (every === undefined)) {
    throw invalidArgument(`${what} must have either cron or every.`);
  }
  if (every !== undefined && options.timezone !== undefined) {
    throw invalidArgument(
      `timezone of ${what} must be used with cron; every does not depend on a time zone.`,
    );
  }
  checkTimezone(timezone, what);
  if (cron !== undefined) checkCron(cron, timezone, what);
  const everyMs = every === undefined ? null : parseDuration(every, `every of ${what}`);
  if (everyMs !== null && everyMs < EVERY_MS_MIN) {
    throw invalidArgument(`every of ${what} must be at least one second; got ${showValue(every)}.`);
  }
  checkChoice(overlap, ["skip", "allow", "cancel"], `overlap of ${what}`);
  checkChoice(missed, ["latest", "all"], `missed of ${what}`);
  const first = moment(from, `from of ${what}`);
  const last = moment(until, `until of ${what}`);
  if (first !== null && last !== null && last < first) {
    throw invalidArgument(`until of ${what} must not be before its from.`);
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

/**
 * Why a value does not have the form of a rule. Null: it has. The result is the same on every machine
 * (rule.2).
 */
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

/** Why this machine cannot compute times from a rule. Null: it can. */
export function ruleProblem(value: unknown): string | null {
  const problem = formProblem(value);
  if (problem !== null) return problem;
  const { cron, timezone } = value as ScheduleRule; // formProblem has checked its form.
  try {
    checkTimezone(timezone, "the rule");
    if (cron !== null) checkCron(cron, timezone, "the rule");
    return null;
  } catch (error) {
    return errorMessage(error);
  }
}

/** A rule for log messages: its members that are set. */
export function ruleText(rule: unknown): string {
  if (formProblem(rule) !== null) return showValue(rule);
  const members = Object.entries(rule as ScheduleRule).filter(([, value]) => value !== null); // it has the form
  return JSON.stringify(Object.fromEntries(members));
}

/** Whether a stored value equals the rule. */
export function isSameRule(known: unknown, rule: ScheduleRule): boolean {
  return JSON.stringify(known) === JSON.stringify(rule); // rule.1
}

function duration(value: Duration | undefined, what: string): number | null {
  return value === undefined ? null : parseDuration(value, what);
}

function moment(value: Date | undefined, what: string): Date | null {
  return value === undefined ? null : new Date(momentOf(value, what));
}
