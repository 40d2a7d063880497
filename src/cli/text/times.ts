// Parses and formats times and durations.

import { formatDuration, parseDuration, type Duration } from "../../core/time/duration.ts";
import { CliError } from "../exit-codes.ts";

/** Parses a date and time, or an age: "2026-01-31", "2026-01-31T12:00Z", "2h". */
export function parsePast(option: string, given: string, now = Date.now()): Date {
  if (/^[\d.]+[a-z]+$/.test(given)) return new Date(now - parseTimeSpan(option, given));
  return parseMoment(option, given);
}

export function parseMoment(option: string, given: string): Date {
  const moment = new Date(given);
  if (/^\d{4}-\d{2}-\d{2}/.test(given) && !Number.isNaN(moment.getTime())) return moment;
  const message = `${option} must be a date such as 2026-01-31 or 2026-01-31T12:00:00Z; got ${JSON.stringify(given)}.`;
  throw new CliError("USAGE", message);
}

/** Parses a duration to milliseconds. */
export function parseTimeSpan(option: string, given: string): number {
  return parseDuration(given as Duration, option); // parseDuration validates any text
}

/** Local time, to the second. */
export function showTime(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export function showAge(date: Date, now = Date.now()): string {
  const ms = now - date.getTime();
  if (ms < 0) return `in ${formatDuration(roundToSecond(-ms))}`;
  return `${formatDuration(roundToSecond(ms))} ago`;
}

export function showSpan(ms: number): string {
  return formatDuration(
    ms < 1_000 ? Math.round(ms) : ms < 60_000 ? Math.round(ms / 100) * 100 : ms,
  );
}

function roundToSecond(ms: number): number {
  return Math.round(ms / 1_000) * 1_000;
}
