// The calendar: computes the times of a rule.
//   - `nextTime` is always later than its argument, also when the time zone's clocks change. Null: no
//        further time.
//   - It reads no clock: the same arguments give the same result with the same time zone data. That data
//        changes with Node versions, so results are recorded and a replay does not compute them again
//        (schedule.loop.1).

import { Cron } from "croner";
import { PerdureError, errorMessage } from "../core/errors/errors.ts";
import { showValue } from "../core/ids/ids.ts";
import type { ScheduleRule } from "./rule.ts";

type Times = Pick<ScheduleRule, "cron" | "timezone" | "everyMs" | "from" | "until">;

const NICKNAME = /^@(hourly|daily|midnight|weekly|monthly|yearly|annually)$/;
const FIELDS = /^\S+(?: +\S+){4,5}$/;
const SOME_TIME = Date.UTC(2024, 0, 1);
/**
 * How far back to search for the latest time at first. Each search without a result goes back eight times
 * as far.
 */
const LOOK_BACK_MS = 60_000;

/** The first time after `after`. */
export function nextTime(rule: Times, after: number): number | null {
  const start = rule.from === null ? after : Math.max(after, rule.from.getTime() - 1);
  const time = rule.everyMs === null ? cronTime(rule, start) : everyTime(rule, start);
  return time === null || (rule.until !== null && time > rule.until.getTime()) ? null : time;
}

/**
 * The missed time to run now, from the times between `first` (itself a time of the rule) and `now`. Null:
 * all exceed `maxLateness`.
 */
export function missedTimeToRun(
  rule: ScheduleRule,
  { first, now }: { readonly first: number; readonly now: number },
): number | null {
  const earliest = rule.maxLatenessMs === null ? first : now - rule.maxLatenessMs;
  if (rule.missed === "all") {
    const time = first >= earliest ? first : nextTime(rule, earliest - 1);
    return time === null || time > now ? null : time;
  }
  const latest = latestTime(rule, first, now);
  return latest < earliest ? null : latest;
}

/** The last time between `first`, itself a time of the rule, and `moment`. */
function latestTime(rule: Times, first: number, moment: number): number {
  for (let back = LOOK_BACK_MS; ; back *= 8) {
    const start = Math.max(first - 1, moment - back);
    let latest: number | null = null;
    for (let time = nextTime(rule, start); time !== null && time <= moment;) {
      latest = time;
      time = nextTime(rule, time);
    }
    if (latest !== null) return latest;
    if (start < first) return first;
  }
}

/** Throws for an invalid cron expression, and for one that never matches. */
export function checkCron(cron: string, timezone: string, what: string): void {
  const given: unknown = cron;
  const why = typeof given === "string" ? problemOf(given, timezone) : "it must be a string";
  if (why === null) return;
  const message = `cron of ${what}: ${showValue(given)} is not valid: ${why}.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

/** Throws for a time zone that this version of Node does not know. */
export function checkTimezone(timezone: string, what: string): void {
  const given: unknown = timezone;
  if (typeof given === "string" && isTimezone(given)) return;
  const message = `timezone of ${what} must be an IANA name such as "Europe/Berlin"; got ${showValue(given)}.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Why the expression is not valid. Null: it is valid. */
function problemOf(cron: string, timezone: string): string | null {
  if (!NICKNAME.test(cron) && !FIELDS.test(cron)) {
    return "it must have five fields, six with seconds, or be one of @hourly, @daily, @weekly, @monthly and @yearly";
  }
  try {
    const first = read(cron, timezone).nextRun(new Date(SOME_TIME));
    return first === null ? "no date matches it" : null;
  } catch (error) {
    return errorMessage(error);
  }
}

function read(cron: string, timezone: string): Cron {
  return new Cron(cron, { timezone, mode: "5-or-6-parts" });
}

function cronTime({ cron, timezone }: Times, after: number): number | null {
  return (
    read(cron ?? "", timezone)
      .nextRun(new Date(after))
      ?.getTime() ?? null
  );
}

function everyTime({ everyMs, from }: Times, after: number): number {
  const step = everyMs ?? 1;
  const base = from?.getTime() ?? 0;
  return base + Math.max(0, Math.floor((after - base) / step) + 1) * step;
}
