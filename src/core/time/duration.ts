// Durations: parses "250ms", "30s", "5m", "2h", "7d" or a number of milliseconds, and formats milliseconds as
// text.
//   - duration.1: A parsed duration is a whole number of milliseconds from 0 to 100 years; it is never -0.
//   - duration.2: A fraction is rounded up, exactly (no binary rounding): a timer may be late, never early.
//   - Parsing a number takes two comparisons.

import { invalidArgument } from "../checks.ts";
import { showValue } from "../ids/ids.ts";

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds, or text: `"250ms"`, `"30s"`, `"5m"`, `"2h"`, `"7d"`. At most 100 years. */
export type Duration = number | `${number}${keyof typeof UNITS}`;

/** 100 years of 365.25 days. */
export const DURATION_MS_MAX = 36_525 * UNITS.d;

// A bounded number of digits bounds the cost of the exact arithmetic below.
const FORM = /^(\d{1,15})(?:\.(\d{1,15}))?(ms|s|m|h|d)$/;

/** The duration in milliseconds. `what` names the option, for the message. */
export function parseDuration(value: Duration, what = "duration"): number {
  const ms = typeof value === "number" ? value : readText(value);
  // NaN fails both comparisons; adding 0 turns -0 into 0.
  if (ms >= 0 && ms <= DURATION_MS_MAX) return Math.ceil(ms) + 0;
  throw invalidArgument(`${what} must be ${ruleBrokenBy(ms)}; got ${showValue(value)}.`);
}

/** The two largest units of a duration, truncated and not rounded: "2d 3h", "1m 30s", "1.5s", "250ms". */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return String(ms);
  if (ms < 0) return `-${formatDuration(-ms)}`;
  const whole = Math.floor(ms);
  if (whole < UNITS.s) return `${whole}ms`;
  if (whole < UNITS.m) return `${whole / UNITS.s}s`;
  if (whole < UNITS.h) return inTwoUnits(whole, "m", "s");
  if (whole < UNITS.d) return inTwoUnits(whole, "h", "m");
  return inTwoUnits(whole, "d", "h");
}

function inTwoUnits(ms: number, large: keyof typeof UNITS, small: keyof typeof UNITS): string {
  const rest = Math.floor((ms % UNITS[large]) / UNITS[small]);
  const first = `${Math.floor(ms / UNITS[large])}${large}`;
  return rest === 0 ? first : `${first} ${rest}${small}`;
}

/** NaN if the value is not a duration. Typed as unknown, because JavaScript callers may pass any value. */
function readText(value: unknown): number {
  const match = typeof value === "string" ? FORM.exec(value) : null;
  if (match === null) return NaN;
  const [, whole = "", fraction, unit] = match;
  const unitMs = UNITS[unit as keyof typeof UNITS];
  if (fraction === undefined) return Number(whole) * unitMs;
  // In binary floating point 2.3 times 60,000 is not 138,000; in integers it is (duration.2).
  const scale = 10n ** BigInt(fraction.length);
  const scaled = BigInt(whole + fraction) * BigInt(unitMs);
  return Number((scaled + scale - 1n) / scale);
}

function ruleBrokenBy(ms: number): string {
  if (ms > DURATION_MS_MAX) return "at most 100 years";
  return 'a duration such as "250ms", "30s", "5m", "2h", "7d", or a number of milliseconds, 0 or more';
}
