// Versions of orchestrations: semantic versions, parsed strictly and ordered as semver.org defines.
//   Owns: parsing and ordering.  Does not own: which version a start takes (semantics 22; the registry
//   decides).
//   - A version must be exactly major.minor.patch[-pre-release][+build]: no "v", no ranges.
//   - Build metadata does not affect the order. The registry breaks ties by text, the same way in every
//       runtime.

import { invalidArgument } from "../checks.ts";
import { showValue } from "./ids.ts";

/** The version of every job (core/define/job.ts). No orchestration can have it. */
export const JOB_VERSION = "0.0.0-job";

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** Empty for a release. */
  readonly prerelease: readonly string[];
}

const LENGTH_MAX = 256;
const NUMERIC = /^\d+$/;
// The expression that semver.org suggests. No two of its repetitions can match the same text.
const FORM =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$/;

export function parseVersion(text: string): Version {
  // Typed as unknown, because JavaScript callers may pass any value.
  const value: unknown = text;
  const match = typeof value === "string" && value.length <= LENGTH_MAX ? FORM.exec(value) : null;
  if (match === null) {
    const form = 'major.minor.patch, such as "1.2.0" or "2.0.0-beta.1"';
    throw invalidArgument(`version must be a semantic version: ${form}; got ${showValue(text)}.`);
  }
  const [, major, minor, patch, prerelease] = match;
  return {
    major: partOf(text, major),
    minor: partOf(text, minor),
    patch: partOf(text, patch),
    prerelease: prerelease?.split(".") ?? [],
  };
}

/** Below zero if `a` is older, zero if semver ranks them the same, above zero if `a` is newer. */
export function compareVersions(a: Version, b: Version): number {
  return (
    a.major - b.major ||
    a.minor - b.minor ||
    a.patch - b.patch ||
    comparePrereleases(a.prerelease, b.prerelease)
  );
}

function partOf(text: string, digits: string | undefined): number {
  const part = Number(digits);
  if (Number.isSafeInteger(part)) return part;
  const max = Number.MAX_SAFE_INTEGER;
  const got = `version ${showValue(text)}`;
  throw invalidArgument(`Each number of a version must be at most ${max}; got ${got}.`);
}

/**
 * A release is newer than its pre-releases. If one list of identifiers begins with the other, the longer is
 * newer.
 */
function comparePrereleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  for (const [i, left] of a.entries()) {
    const right = b[i];
    if (right === undefined) break;
    const order = compareIdentifiers(left, right);
    if (order !== 0) return order;
  }
  return a.length - b.length;
}

/**
 * Numbers are ordered by value and before words. They have no leading zeros, so the longer number is larger.
 */
function compareIdentifiers(a: string, b: string): number {
  const aIsNumber = NUMERIC.test(a);
  if (aIsNumber !== NUMERIC.test(b)) return aIsNumber ? -1 : 1;
  if (aIsNumber && a.length !== b.length) return a.length - b.length;
  if (a === b) return 0;
  return a < b ? -1 : 1; // The texts are ASCII, so that comparing UTF-16 units is comparing bytes.
}
