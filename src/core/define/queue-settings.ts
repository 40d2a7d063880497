// Queue settings: the options `limit` and `fair` of an activity, and the key of a call.
//   - The recorded rule is plain JSON: the store compares and applies it (core/provider/queues.ts).
//   - The weight of a key is computed when a task is queued, and stored with the task.

import {
  checkFunction,
  checkInteger,
  checkMembers,
  invalidArgument,
  type Members,
} from "../checks.ts";
import { PerdureError } from "../errors/errors.ts";
import { checkStorable, showValue } from "../ids/ids.ts";
import type { QueueRule } from "../provider/queues.ts";
import { parseDuration, type Duration } from "../time/duration.ts";

/** Limits of an activity, over all processes and all callers. */
export interface QueueLimit {
  /** The maximum number of attempts that run at a time. */
  readonly concurrency?: number;
  /** The maximum number of attempts of one `key` that run at a time. Every call must give a `key` then. */
  readonly perKey?: number;
  /** At most `count` attempts begin within any window of `per`. Retries count. */
  readonly rate?: { readonly count: number; readonly per: Duration };
}
/** Fair order over the keys of calls: a key with many queued calls does not delay the calls of other keys. */
export interface Fairness {
  /**
   * The share of a key in relation to other keys; a finite number above 0. Default 1 for every key. Called when a call is
   * queued.
   */
  readonly weight?: (key: string) => number;
}
/** The options of an activity that concern its queue. */
export interface QueueOptions {
  readonly limit?: QueueLimit;
  readonly fair?: Fairness | true;
}
/** The settings of an activity's queue, checked. */
export interface QueueSettings {
  readonly rule: QueueRule;
  /** Null: not fair. */
  readonly weight: ((key: string) => number) | null;
}

const LIMIT: Members<QueueLimit> = { concurrency: true, perKey: true, rate: true };
const RATE: Members<NonNullable<QueueLimit["rate"]>> = { count: true, per: true };
const FAIR: Members<Fairness> = { weight: true };
const KEY_BYTES_MAX = 256;

/** Null: the activity has neither a limit nor fair order. */
export function queueSettings({ limit, fair }: QueueOptions, what: string): QueueSettings | null {
  const rule = { ...(limit === undefined ? {} : limitRule(limit, what)), ...fairRule(fair, what) };
  if (Object.keys(rule).length === 0) return null;
  if (fair === undefined) return { rule, weight: null };
  return { rule, weight: (fair === true ? undefined : fair.weight) ?? (() => 1) };
}

function limitRule(limit: QueueLimit, what: string): QueueRule {
  checkMembers(limit, LIMIT, `limit of ${what}`);
  const { concurrency, perKey, rate } = limit;
  if (concurrency === undefined && perKey === undefined && rate === undefined) {
    throw invalidArgument(`limit of ${what} must have concurrency, perKey or rate; it is empty.`);
  }
  checkInteger(concurrency, 1, `limit.concurrency of ${what}`);
  checkInteger(perKey, 1, `limit.perKey of ${what}`);
  return {
    ...(concurrency === undefined ? {} : { concurrency }),
    ...(perKey === undefined ? {} : { perKey }),
    ...(rate === undefined ? {} : { rate: rateRule(rate, what) }),
  };
}

function rateRule(rate: NonNullable<QueueLimit["rate"]>, what: string) {
  checkMembers(rate, RATE, `limit.rate of ${what}`);
  const { count, per } = rate;
  if (count === undefined || per === undefined) {
    const got = showValue(rate);
    throw invalidArgument(`limit.rate of ${what} must be { count, per }; got ${got}.`);
  }
  checkInteger(count, 1, `limit.rate.count of ${what}`);
  const perMs = parseDuration(per, `limit.rate.per of ${what}`);
  if (perMs > 0) return { count, perMs };
  const got = showValue(per);
  throw invalidArgument(`limit.rate.per of ${what} must be greater than 0; got ${got}.`);
}

function fairRule(fair: QueueOptions["fair"], what: string): QueueRule {
  if (fair === undefined) return {};
  if (fair !== true) {
    checkMembers(fair, FAIR, `fair of ${what}`);
    if (fair.weight !== undefined) checkFunction(fair.weight, `fair.weight of ${what}`);
  }
  return { fair: true };
}

/** The weight of a key. Throws if the function returns anything but a finite number above 0. */
export function weightOf({ weight }: QueueSettings, key: string, what: string): number | undefined {
  if (weight === null) return undefined;
  const value: unknown = weight(key);
  if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
  const got = showValue(value);
  throw invalidArgument(
    `fair.weight of ${what} must return a finite number above 0; for key ${showValue(key)} it returned ${got}.`,
  );
}

/** Throws if the queue limits attempts per key and the call gives no key. */
export function checkKeyGiven(
  settings: QueueSettings | null | undefined,
  key: string | undefined,
  what: string,
): void {
  if (key !== undefined || settings?.rule.perKey === undefined) return;
  throw invalidArgument(`${what} has limit.perKey, so every call must give a key; none was given.`);
}

/** The key of a call, checked. */
export function parseQueueKey(key: unknown, what: string): string {
  if (typeof key !== "string") {
    throw invalidArgument(`key of ${what} must be a text; got ${showValue(key)}.`);
  }
  checkStorable(key, `key of ${what}`);
  const bytes = Buffer.byteLength(key);
  if (bytes <= KEY_BYTES_MAX) return key;
  const message = `key of ${what} must have at most ${KEY_BYTES_MAX} bytes; got ${bytes}.`;
  throw new PerdureError("LIMIT_EXCEEDED", message);
}
