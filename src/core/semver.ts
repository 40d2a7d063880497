// Versions of orchestrations: semantic versions, read strictly, ordered as semver.org orders them.
//   Owns: reading and ordering.  Does not own: which version a start takes (rule 22, the registry).
//   V1. What is not exactly major.minor.patch[-pre-release][+build] is refused: no "v", no ranges.
//   V2. Build metadata carries no order; the registry breaks ties by text, the same way on every runtime.

import { PerdureError } from "./errors.ts";
import { showValue } from "./ids.ts";

export interface Version {
  /** As it was written, and as it is stored. */
  readonly text: string;
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** Empty for a release. */
  readonly prerelease: readonly string[];
  readonly build: readonly string[];
}

const LENGTH_MAX = 256;
const NUMERIC = /^\d+$/;
// The expression that semver.org suggests. No two of its repetitions can match the same text.
const FORM =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$/;

export function parseVersion(text: string): Version {
  // Typed as unknown because callers without types come here too.
  const value: unknown = text;
  const match = typeof value === "string" && value.length <= LENGTH_MAX ? FORM.exec(value) : null;
  if (match === null) {
    throw new PerdureError(
      "INVALID_ARGUMENT",
      `version ${showValue(text)} is not a semantic version: give major.minor.patch, such as "1.2.0" or "2.0.0-beta.1"`,
    );
  }
  const [, major, minor, patch, prerelease, build] = match;
  return {
    text,
    major: partOf(text, major),
    minor: partOf(text, minor),
    patch: partOf(text, patch),
    prerelease: prerelease?.split(".") ?? [],
    build: build?.split(".") ?? [],
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
  throw new PerdureError(
    "INVALID_ARGUMENT",
    `version ${showValue(text)} has a part above ${Number.MAX_SAFE_INTEGER}`,
  );
}

/** A release is newer than its pre-releases; of two that agree so far, the longer is newer. */
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

/** Numbers by value and before words. Neither has leading zeros, so the longer number is larger. */
function compareIdentifiers(a: string, b: string): number {
  const aIsNumber = NUMERIC.test(a);
  if (aIsNumber !== NUMERIC.test(b)) return aIsNumber ? -1 : 1;
  if (aIsNumber && a.length !== b.length) return a.length - b.length;
  return compareText(a, b);
}

/** All of it is ASCII, so that comparing units is comparing bytes. */
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
