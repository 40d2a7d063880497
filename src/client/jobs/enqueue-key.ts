// The key of an enqueued job: checks `unique`, `debounce` and `throttle`, before anything is written.

import {
  checkChoice,
  checkFlag,
  checkMembers,
  invalidArgument,
  type Members,
} from "../../core/checks.ts";
import { checkStorable, showValue } from "../../core/ids/ids.ts";
import type { EnqueueKey } from "../../core/provider/enqueue.ts";
import { parseDuration, type Duration } from "../../core/time/duration.ts";

/** At most one job of the key is pending or running. */
export interface UniqueJob {
  /** 1 to 256 bytes. Keys of different jobs are separate. */
  readonly key: string;
  /**
   * What a call does while a job of the key is pending or running. "useExisting" (default): it returns that job. "fail":
   * it raises `INSTANCE_EXISTS`. "replace": a job whose activity has not begun starts again with the new input; if it has
   * begun, the new job runs after it.
   */
  readonly onConflict?: "useExisting" | "fail" | "replace";
}
/** Calls that follow each other closely start one job, with the input of the last call. */
export interface Debounce {
  /** 1 to 256 bytes. Keys of different jobs are separate. */
  readonly key: string;
  /** The job begins when no call came for this long. */
  readonly wait: Duration;
  /** The job begins at the latest this long after the first call. Default: no bound. */
  readonly max?: Duration;
}
/** The first call starts a job; further calls within `per` do not. */
export interface Throttle {
  /** 1 to 256 bytes. Keys of different jobs are separate. */
  readonly key: string;
  readonly per: Duration;
  /** Calls within `per` start one more job at its end, with the input of the last call. Default false. */
  readonly trailing?: boolean;
}
/** Which calls of `enqueue` belong together. At most one of them, and not together with `tx`. */
export interface KeyOptions {
  /** A text is short for `{ key }`. */
  readonly unique?: string | UniqueJob;
  /** Not together with `delay` or `at`. */
  readonly debounce?: Debounce;
  /** Not together with `delay` or `at`. */
  readonly throttle?: Throttle;
}

const UNIQUE: Members<UniqueJob> = { key: true, onConflict: true };
const DEBOUNCE: Members<Debounce> = { key: true, wait: true, max: true };
const THROTTLE: Members<Throttle> = { key: true, per: true, trailing: true };
const KINDS = ["unique", "debounce", "throttle"] as const;
const KEY_BYTES_MAX = 256;

/** The key of a call; `what` names the call in error messages. Null: the call has no key. */
export function enqueueKey(
  options: KeyOptions & {
    readonly delay?: Duration;
    readonly at?: Date;
    readonly tx?: object;
  },
  what: string,
): EnqueueKey | null {
  const given = KINDS.filter((kind) => options[kind] !== undefined);
  const [kind, second] = given;
  if (kind === undefined) return null;
  if (second !== undefined) {
    throw invalidArgument(`${what}: give ${kind} or ${second}, not both.`);
  }
  if (options.tx !== undefined) {
    throw invalidArgument(
      `${what}: ${kind} cannot be used with tx, because the store decides about keys in a separate transaction. Enqueue after your commit.`,
    );
  }
  if (kind !== "unique" && (options.delay !== undefined || options.at !== undefined)) {
    const other = options.delay === undefined ? "at" : "delay";
    throw invalidArgument(
      `${what}: ${kind} cannot be used with ${other}; ${kind} itself decides when the job begins.`,
    );
  }
  if (options.unique !== undefined) return uniqueKey(options.unique, `unique of ${what}`);
  if (options.debounce !== undefined) return debounceKey(options.debounce, `debounce of ${what}`);
  if (options.throttle !== undefined) return throttleKey(options.throttle, `throttle of ${what}`);
  return null;
}

function uniqueKey(unique: string | UniqueJob, what: string): EnqueueKey {
  if (typeof unique === "string") {
    return { kind: "unique", key: parseKey(unique, what), onConflict: "useExisting" };
  }
  checkMembers(unique, UNIQUE, what);
  const { key, onConflict } = unique;
  checkChoice(onConflict, ["useExisting", "fail", "replace"], `onConflict in ${what}`);
  const parsed = parseKey(key, `key in ${what}`);
  return { kind: "unique", key: parsed, onConflict: onConflict ?? "useExisting" };
}

function debounceKey(debounce: Debounce, what: string): EnqueueKey {
  checkMembers(debounce, DEBOUNCE, what);
  const { key, wait, max } = debounce;
  const parsed = parseKey(key, `key in ${what}`);
  const waitMs = positive(wait, `wait in ${what}`);
  const maxMs = max === undefined ? null : positive(max, `max in ${what}`);
  if (maxMs !== null && maxMs < waitMs) {
    const waits = showValue(wait);
    throw invalidArgument(
      `max in ${what} must be at least wait (${waits}); got ${showValue(max)}.`,
    );
  }
  return { kind: "debounce", key: parsed, waitMs, maxMs };
}

function throttleKey(throttle: Throttle, what: string): EnqueueKey {
  checkMembers(throttle, THROTTLE, what);
  const { key, per, trailing = false } = throttle;
  const parsed = parseKey(key, `key in ${what}`);
  const perMs = positive(per, `per in ${what}`);
  checkFlag(trailing, `trailing in ${what}`);
  return { kind: "throttle", key: parsed, perMs, trailing };
}

function positive(duration: Duration, what: string): number {
  const ms = parseDuration(duration, what);
  if (ms > 0) return ms;
  throw invalidArgument(`${what} must be greater than 0; got ${showValue(duration)}.`);
}

function parseKey(key: unknown, what: string): string {
  if (typeof key !== "string") {
    throw invalidArgument(`${what} must be a text; got ${showValue(key)}.`);
  }
  checkStorable(key, what);
  const bytes = Buffer.byteLength(key);
  if (bytes >= 1 && bytes <= KEY_BYTES_MAX) return key;
  throw invalidArgument(`${what} must have 1 to ${KEY_BYTES_MAX} bytes; got ${bytes}.`);
}
