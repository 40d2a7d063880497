// The calendar: which times a rule has.
//   CA1. `nextTime` is later than what it is asked after, whatever the clocks of a zone do; null: there is none.
//   CA2. No clock is read: the same question has the same answer wherever the time zones are the same. They change,
//        with Node and with the world, so that answers are recorded and nobody who replays asks again (LO1).

import { Cron } from "croner";
import { PerdureError } from "../core/errors.ts";
import { showValue } from "../core/ids.ts";
import type { ScheduleRule } from "./rule.ts";

type Times = Pick<ScheduleRule, "cron" | "timezone" | "everyMs" | "from" | "until">;

const NICKNAME = /^@(hourly|daily|midnight|weekly|monthly|yearly|annually)$/;
const FIELDS = /^\S+(?: +\S+){4,5}$/;
const SOME_TIME = Date.UTC(2024, 0, 1);
/** How far back the latest time is looked for at first; eight times as far each time that there is none. */
const LOOK_BACK_MS = 60_000;

/** The first time after that moment. */
export function nextTime(rule: Times, after: number): number | null {
  const start = rule.from === null ? after : Math.max(after, rule.from.getTime() - 1);
  const time = rule.everyMs === null ? cronTime(rule, start) : everyTime(rule, start);
  return time === null || (rule.until !== null && time > rule.until.getTime()) ? null : time;
}

/**
 * Of the times from `first`, which is one, up to `now`: which one is made up for. Null: none, all are longer ago than
 * the rule allows.
 */
export function timeToMakeUp(
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

/** The last time that is not after `moment`, and not before `first`, which is a time of this rule. */
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

/** Refuses what is no cron expression, and one that no day fulfils. */
export function checkCron(cron: string, timezone: string, what: string): void {
  const given: unknown = cron;
  const why = typeof given === "string" ? problemOf(given, timezone) : "it is no text";
  if (why === null) return;
  const message = `cron of ${what}: ${showValue(given)} cannot be read: ${why}.`;
  throw new PerdureError("INVALID_ARGUMENT", message);
}

/** Refuses what is no time zone that this Node knows. */
export function checkTimezone(timezone: string, what: string): void {
  const given: unknown = timezone;
  if (typeof given === "string" && isTimezone(given)) return;
  const message = `timezone of ${what} is an IANA name such as "Europe/Berlin", not ${showValue(given)}.`;
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

/** Why it is no cron expression; null: it is one. */
function problemOf(cron: string, timezone: string): string | null {
  if (!NICKNAME.test(cron) && !FIELDS.test(cron)) {
    return "it has five fields, six with seconds, or is one of @hourly, @daily, @weekly, @monthly and @yearly";
  }
  try {
    const first = read(cron, timezone).nextRun(new Date(SOME_TIME));
    return first === null ? "no day fulfils it" : null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
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
