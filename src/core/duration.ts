// Durations: "250ms", "30s", "5m", "2h", "7d" or a number of milliseconds, and back for people.
//   D1. A parsed duration is a whole number of milliseconds, 0 up to 100 years; it is never -0.
//   D2. A fraction is rounded up, exactly (no binary rounding): a timer may be late, never early.
//   D3. A number takes no more than two comparisons.

import { PerdureError } from "./errors.ts";
import { showValue } from "./ids.ts";

const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds, or text: `"250ms"`, `"30s"`, `"5m"`, `"2h"`, `"7d"`. At most 100 years. */
export type Duration = number | `${number}${keyof typeof UNITS}`;

/** 100 years of 365.25 days. */
export const DURATION_MS_MAX = 36_525 * UNITS.d;

// The digits are bounded so that the exact arithmetic below is too.
const FORM = /^(\d{1,15})(?:\.(\d{1,15}))?(ms|s|m|h|d)$/;

/** Milliseconds. `what` names the option that was given, for the message. */
export function parseDuration(value: Duration, what = "duration"): number {
  const ms = typeof value === "number" ? value : readText(value);
  // NaN fails both comparisons; adding 0 turns -0 into 0.
  if (ms >= 0 && ms <= DURATION_MS_MAX) return Math.ceil(ms) + 0;
  throw new PerdureError("INVALID_ARGUMENT", `${what} ${showValue(value)} ${ruleBrokenBy(ms)}`);
}

/** For people: the two largest units that matter, "2d 3h", "1m 30s", "1.5s", "250ms"; cut, not rounded. */
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

/** NaN if it is no duration. Typed as unknown because callers without types come here too. */
function readText(value: unknown): number {
  const match = typeof value === "string" ? FORM.exec(value) : null;
  if (match === null) return NaN;
  const [, whole = "", fraction, unit] = match;
  const unitMs = UNITS[unit as keyof typeof UNITS];
  if (fraction === undefined) return Number(whole) * unitMs;
  // "2.3m" times 60,000 in binary floating point is not 138,000; in integers it is (D2).
  const scale = 10n ** BigInt(fraction.length);
  const scaled = BigInt(whole + fraction) * BigInt(unitMs);
  return Number((scaled + scale - 1n) / scale);
}

function ruleBrokenBy(ms: number): string {
  if (ms > DURATION_MS_MAX) return "is longer than 100 years, the longest duration";
  return 'is not a duration: give "250ms", "30s", "5m", "2h", "7d" or milliseconds, 0 or more';
}
