// Known vulnerabilities of the packages in a lock file, from a folder of advisories in the OSV format.
//   - advisories.1: A version that cannot be compared counts as affected: a person has to look.
//   - advisories.2: Withdrawn advisories and other ecosystems are ignored.

import { compareVersions, parseVersion, type Version } from "../../src/core/ids/semver.ts";

/** The part of an OSV document that matters here: https://ossf.github.io/osv-schema */
export interface Advisory {
  readonly id: string;
  readonly summary?: string;
  readonly withdrawn?: string;
  readonly affected?: readonly Affected[];
}
interface Affected {
  readonly package?: { readonly ecosystem: string; readonly name: string };
  readonly versions?: readonly string[];
  readonly ranges?: readonly { readonly type: string; readonly events: readonly RangeEvent[] }[];
}
interface RangeEvent {
  readonly introduced?: string;
  readonly fixed?: string;
  readonly last_affected?: string;
}

export interface Installed {
  readonly name: string;
  readonly version: string;
  /** Whether only the development of the project needs it. */
  readonly isDevelopment: boolean;
}
export interface Finding {
  readonly installed: Installed;
  readonly advisory: Advisory;
}

interface Lock {
  readonly packages: Readonly<Record<string, LockEntry>>;
}
interface LockEntry {
  readonly name?: string;
  readonly version?: string;
  readonly link?: boolean;
  readonly dev?: boolean;
  readonly devOptional?: boolean;
}

/** The packages of a lock file, without the project's own workspaces. */
export function installedPackages({ packages }: Lock): Installed[] {
  return Object.entries(packages).flatMap(([path, { name, version, link, dev, devOptional }]) => {
    const [, folder] = /.*node_modules\/(.+)$/.exec(path) ?? [];
    if (folder === undefined || version === undefined || link === true) return [];
    const isDevelopment = dev === true || devOptional === true;
    return [{ name: name ?? folder, version, isDevelopment }];
  });
}

export function findingsOf(installed: readonly Installed[], advisory: Advisory): Finding[] {
  if (advisory.withdrawn !== undefined) return []; // advisories.2
  const affected = (advisory.affected ?? []).filter(({ package: of }) => of?.ecosystem === "npm");
  return installed
    .filter(({ name, version }) =>
      affected.some((each) => each.package?.name === name && isAffected(version, each)),
    )
    .map((each) => ({ installed: each, advisory }));
}

function isAffected(version: string, { versions = [], ranges = [] }: Affected): boolean {
  if (versions.includes(version)) return true;
  return ranges.some(({ type, events }) => type !== "GIT" && isInRange(version, events));
}

/** The last event at or before the version decides. */
function isInRange(text: string, events: readonly RangeEvent[]): boolean {
  const version = parsed(text);
  if (version === null) return true; // advisories.1
  let isIn = false;
  for (const { introduced, fixed, last_affected: last } of events) {
    const bound = parsed(introduced ?? fixed ?? last ?? "");
    if (bound === null) return true; // advisories.1
    const order = compareVersions(version, bound);
    if (introduced !== undefined && order >= 0) isIn = true;
    if (fixed !== undefined && order >= 0) isIn = false;
    if (last !== undefined && order > 0) isIn = false;
  }
  return isIn;
}

/** OSV writes "0" for "from the first version on". */
function parsed(text: string): Version | null {
  try {
    return parseVersion(text === "0" ? "0.0.0-0" : text);
  } catch {
    return null;
  }
}
