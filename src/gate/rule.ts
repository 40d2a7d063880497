// A rule: how much a gate lets pass, as plain data.
//   GR1. It travels with the messages to a gate and is recorded with them: what decides is never read from the code at
//        hand, so that a deploy with other options makes no replay diverge.

import { parseDuration, type Duration } from "../core/duration.ts";
import { PerdureError } from "../core/errors.ts";
import { checkMembers, checkWhole, type Members } from "../core/known-members.ts";

/** How much a gate lets pass: at once, in a time, or both. */
export interface GateOptions {
  /** How many may be inside at once, over all processes. At most 1,000. */
  readonly atOnce?: number;
  /** At most `count` may enter within any time of the length `per`. `count` is at most 10,000. */
  readonly rate?: { readonly count: number; readonly per: Duration };
}

/** The same as data. */
export interface GateRule {
  readonly atOnce: number | null;
  readonly rate: { readonly count: number; readonly perMs: number } | null;
}

/** Who is inside and who has entered is handed from execution to execution: both are small. */
const AT_ONCE_MAX = 1_000;
const COUNT_MAX = 10_000;
const OPTIONS: Members<GateOptions> = { atOnce: true, rate: true };
const RATE: Members<NonNullable<GateOptions["rate"]>> = { count: true, per: true };

/** The rule that these options say; `what` names the gate, for messages. */
export function ruleOf(options: GateOptions, what: string): GateRule {
  checkMembers(options, OPTIONS, what);
  const { atOnce, rate } = options;
  if (atOnce === undefined && rate === undefined) {
    throw invalid(`${what} needs atOnce, rate or both.`);
  }
  if (atOnce !== undefined) checkWithin(atOnce, AT_ONCE_MAX, `atOnce of ${what}`);
  return { atOnce: atOnce ?? null, rate: rate === undefined ? null : rateOf(rate, what) };
}

function rateOf(rate: NonNullable<GateOptions["rate"]>, what: string): GateRule["rate"] {
  checkMembers(rate, RATE, `rate of ${what}`);
  checkWithin(rate.count, COUNT_MAX, `count of ${what}`);
  const perMs = parseDuration(rate.per, `per of ${what}`);
  if (perMs <= 0) throw invalid(`per of ${what} is longer than nothing.`);
  return { count: rate.count, perMs };
}

/** Whether a value that arrived in a message is a rule that `ruleOf` could have made. */
export function isGateRule(value: unknown): value is GateRule {
  if (typeof value !== "object" || value === null) return false;
  const { atOnce, rate } = value as Partial<Record<keyof GateRule, unknown>>; // checked below
  if (atOnce === null && rate === null) return false;
  return (atOnce === null || isWithin(atOnce, AT_ONCE_MAX)) && (rate === null || isRate(rate));
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
  checkWhole(value, 1, what);
  if (value > most) throw invalid(`${what} is at most ${most}, not ${value}.`);
}

function invalid(message: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", message);
}
