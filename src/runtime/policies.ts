// Options that are rules: versions, poison, unregistered names, retention.
//   - A rule that cannot be followed is INVALID_ARGUMENT when the runtime is created (options.1).

import { parseDuration, type Duration } from "../core/time/duration.ts";
import type { PerdureError } from "../core/errors/errors.ts";
import { checkMembers, invalidArgument, type Members } from "../core/checks.ts";
import { TERMINAL_STATUSES, type TerminalStatus } from "../core/provider/instances.ts";
import { showValue } from "../core/ids/ids.ts";
import { parseVersion } from "../core/ids/semver.ts";

/** duroxide's rule for work whose name no live runtime registers: it fails after these waits. */
export interface Unregistered {
  /**
   * The wait before the first try and the longest wait between two tries. Default 1 s and 60 s, doubling.
   */
  readonly backoff?: { readonly base?: Duration; readonly max?: Duration };
  /** The number of tries after which the work fails. Default 10. */
  readonly failAfter?: number;
}

/** How long ended instances are kept. Instances with a status that is not given are kept forever. */
export interface Retention {
  readonly completed?: Duration;
  readonly failed?: Duration;
  readonly cancelled?: Duration;
  readonly terminated?: Duration;
  /** How many executions of an instance that continues as new are kept, including the current one. */
  readonly keepExecutions?: number;
}

const UNREGISTERED: Members<Unregistered> = { backoff: true, failAfter: true };
const BACKOFF: Members<NonNullable<Unregistered["backoff"]>> = { base: true, max: true };
const RETENTION: Members<Retention> = {
  completed: true,
  failed: true,
  cancelled: true,
  terminated: true,
  keepExecutions: true,
};

export interface ResolvedRetention {
  readonly keepMs: Readonly<Partial<Record<TerminalStatus, number>>>;
  readonly keepExecutions: number | undefined;
}

export function resolveRetention(retention: Retention | undefined): ResolvedRetention | null {
  if (retention === undefined) return null;
  checkMembers(retention, RETENTION, "retention");
  const keepMs: Partial<Record<TerminalStatus, number>> = {};
  for (const status of TERMINAL_STATUSES) {
    const duration = retention[status];
    if (duration !== undefined) keepMs[status] = parseDuration(duration, `retention.${status}`);
  }
  const { keepExecutions } = retention;
  if (keepExecutions !== undefined) atLeastOne(keepExecutions, "retention.keepExecutions");
  return { keepMs, keepExecutions };
}

/** The total time that work may wait, or null: forever. */
export function resolveUnregistered(unregistered: Unregistered | undefined): number | null {
  if (unregistered === undefined) return null;
  checkMembers(unregistered, UNREGISTERED, "unregistered");
  const { backoff = {}, failAfter = 10 } = unregistered;
  checkMembers(backoff, BACKOFF, "unregistered.backoff");
  const base = parseDuration(backoff.base ?? "1s", "unregistered.backoff.base");
  const max = parseDuration(backoff.max ?? "60s", "unregistered.backoff.max");
  atLeastOne(failAfter, "unregistered.failAfter");
  let waitMs = 0;
  for (let attempt = 0; attempt < failAfter; attempt++) {
    waitMs += Math.min(base * 2 ** Math.min(attempt, 52), max);
  }
  return waitMs;
}

export function checkVersions(versions: unknown): void {
  if (typeof versions !== "object" || versions === null || Array.isArray(versions)) {
    const got = showValue(versions);
    throw invalid(`versions must be an object that maps names to versions; got ${got}`);
  }
  for (const [name, version] of Object.entries(versions as Record<string, unknown>)) {
    if (typeof version !== "string") {
      const got = showValue(version);
      throw invalid(`versions: the version of "${name}" must be a string; got ${got}`);
    }
    parseVersion(version);
  }
}

export function checkPoison(poison: unknown): void {
  if (poison === "throw" || poison === "fail") return;
  throw invalid(`poison must be "throw" or "fail"; got ${showValue(poison)}`);
}

function atLeastOne(value: unknown, what: string): void {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 1) return;
  throw invalid(`${what} must be an integer of at least 1; got ${String(value)}`);
}

export function invalid(why: string): PerdureError {
  return invalidArgument(`Runtime options: ${why}.`);
}
