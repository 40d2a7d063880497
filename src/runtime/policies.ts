// Options that are rules rather than numbers: versions, poison, names that nobody registers, retention.
//   PO1. A rule that cannot be followed is INVALID_ARGUMENT when the runtime is made (OP1).

import { parseDuration, type Duration } from "../core/duration.ts";
import { PerdureError } from "../core/errors.ts";
import { checkMembers, type Members } from "../core/known-members.ts";
import { parseVersion } from "../core/semver.ts";

/** duroxide's rule for names that no live runtime registers: after these waits, fail. */
export interface Unregistered {
  /** The wait before the first try and the longest between two. Default 1 s and 60 s, doubling. */
  readonly backoff?: { readonly base?: Duration; readonly max?: Duration };
  /** Tries after which it fails. Default 10. */
  readonly failAfter?: number;
}

/** How long ended instances are kept; what is not named is kept for ever. */
export interface Retention {
  readonly completed?: Duration;
  readonly failed?: Duration;
  readonly cancelled?: Duration;
  readonly terminated?: Duration;
  /** Executions kept of an instance that continues as new, the current one included. */
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

export const RETAINED = ["completed", "failed", "cancelled", "terminated"] as const;
export interface ResolvedRetention {
  readonly keepMs: Readonly<Partial<Record<(typeof RETAINED)[number], number>>>;
  readonly keepExecutions: number | undefined;
}

export function resolveRetention(retention: Retention | undefined): ResolvedRetention | null {
  if (retention === undefined) return null;
  checkMembers(retention, RETENTION, "retention");
  const keepMs: Partial<Record<(typeof RETAINED)[number], number>> = {};
  for (const status of RETAINED) {
    const duration = retention[status];
    if (duration !== undefined) keepMs[status] = parseDuration(duration, `retention.${status}`);
  }
  const { keepExecutions } = retention;
  if (keepExecutions !== undefined) atLeastOne(keepExecutions, "retention.keepExecutions");
  return { keepMs, keepExecutions };
}

/** For how long a name may wait in all, or null: for ever. */
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
    throw invalid("versions is an object");
  }
  for (const version of Object.values(versions as Record<string, unknown>)) {
    if (typeof version !== "string") throw invalid("versions maps names to versions");
    parseVersion(version);
  }
}

export function checkPoison(poison: unknown): void {
  if (poison === "throw" || poison === "fail") return;
  throw invalid(`poison is "throw" or "fail", not ${String(poison)}`);
}

function atLeastOne(value: unknown, what: string): void {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 1) return;
  throw invalid(`${what} is a whole number of at least 1, not ${String(value)}`);
}

function invalid(why: string): PerdureError {
  return new PerdureError("INVALID_ARGUMENT", `Runtime options: ${why}.`);
}
