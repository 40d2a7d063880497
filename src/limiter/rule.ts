// The rule of a limiter: its options, checked, as plain data.
//   - Every message to a limiter carries the rule of its sender, and the history records it. The limiter decides by
//        recorded rules only and never reads the options of the running code. So a deploy with other options cannot
//        make a replay diverge.

import { parseDuration, type Duration } from "../core/time/duration.ts";
import { showValue } from "../core/ids/ids.ts";
import { checkMembers, type Members, invalidArgument } from "../core/checks.ts";

/** The limits of a limiter: `concurrency`, `rate` or both. */
export interface LimiterOptions {
  /** How many callers may hold a slot at the same time, across all processes. At most 1,000. */
  readonly concurrency?: number;
  /** The limiter admits at most `count` callers within any period of the length `per`. `count` is at most 10,000. */
  readonly rate?: { readonly count: number; readonly per: Duration };
}

/** The limits of a limiter as data. Null: there is no such limit. */
export interface LimiterRule {
  readonly concurrency: number | null;
  readonly rate: { readonly count: number; readonly perMs: number } | null;
}

/**
 * A rule as messages and histories hold it. Here `concurrency` has the name `atOnce`: stores hold rules that were
 * written under this name before limiters got their present names (decision 0020).
 */
export interface StoredRule {
  readonly atOnce: number | null;
  readonly rate: LimiterRule["rate"];
}

/** The state of a limiter holds one ticket per slot and one time per admission of the rate; these bounds keep it small. */
const CONCURRENCY_MAX = 1_000;
const COUNT_MAX = 10_000;
const OPTIONS: Members<LimiterOptions> = { concurrency: true, rate: true };
const RATE: Members<NonNullable<LimiterOptions["rate"]>> = { count: true, per: true };

/** Checks the options. `what` names the limiter in error messages. */
export function ruleOf(options: LimiterOptions, what: string): LimiterRule {
  checkMembers(options, OPTIONS, what);
  const { concurrency, rate } = options;
  if (concurrency === undefined && rate === undefined) {
    throw invalidArgument(`${what}: set concurrency, rate or both.`);
  }
  if (concurrency !== undefined) {
    checkWithin(concurrency, CONCURRENCY_MAX, `${what}: concurrency`);
  }
  return { concurrency: concurrency ?? null, rate: rate === undefined ? null : rateOf(rate, what) };
}

function rateOf(rate: NonNullable<LimiterOptions["rate"]>, what: string): LimiterRule["rate"] {
  checkMembers(rate, RATE, `rate of ${what}`);
  checkWithin(rate.count, COUNT_MAX, `${what}: rate.count`);
  const perMs = parseDuration(rate.per, `${what}: rate.per`);
  if (perMs <= 0) {
    throw invalidArgument(
      `${what}: rate.per must be greater than zero; got ${showValue(rate.per)}.`,
    );
  }
  return { count: rate.count, perMs };
}

export function storedRule({ concurrency, rate }: LimiterRule): StoredRule {
  return { atOnce: concurrency, rate };
}

/** Whether a value from a message is a rule that `storedRule` could have returned. */
export function isStoredRule(value: unknown): value is StoredRule {
  if (typeof value !== "object" || value === null) return false;
  const { atOnce, rate } = value as Partial<Record<keyof StoredRule, unknown>>; // checked below
  if (atOnce === null && rate === null) return false;
  return (atOnce === null || isWithin(atOnce, CONCURRENCY_MAX)) && (rate === null || isRate(rate));
}

function isRate(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { count, perMs } = value as { readonly count?: unknown; readonly perMs?: unknown };
  return isWithin(count, COUNT_MAX) && Number.isFinite(perMs) && Number(perMs) > 0;
}

function isWithin(value: unknown, most: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= most;
}

function checkWithin(value: number, most: number, what: string): void {
  if (isWithin(value, most)) return;
  throw invalidArgument(
    `${what} must be a whole number from 1 to ${most}; got ${showValue(value)}.`,
  );
}
