// Adds the optional binaries of platforms that npm did not install to package-lock.json, or to another lock file given
// as an argument: `node scripts/lock/complete-lock.ts bench/peers/package-lock.json`.
// npm leaves them out of a lock file that it writes from an existing node_modules or an incomplete registry, and `npm
// ci` then rejects the file. Run this script after `npm install` has changed the lock file.
//   - Entries are added, never replaced: npm's own entries have checksums and are better.
//   - An entry without a checksum gets the registry's checksum, if the registry has the package.
//   - Platform and version come from the package that depends on the binary: exact version, descriptive name.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FILE = process.argv[2] ?? "package-lock.json";
const LOCK = join(import.meta.dirname, "../..", FILE);

interface LockEntry {
  readonly integrity?: string;
  readonly link?: boolean;
  readonly optional?: boolean;
  readonly version?: string;
  readonly dev?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}
interface Lock {
  packages: Record<string, LockEntry>;
}

const lock = JSON.parse(readFileSync(LOCK, "utf8")) as Lock;
const added = missingBinaries(lock);
const sorted = Object.entries({ ...lock.packages, ...added });
sorted.sort(([a], [b]) => a.localeCompare(b, "en"));
const completed = sorted.map(([path, entry]) => [path, withChecksum(path, entry)] as const);
const filled = completed.filter(([, entry], index) => entry !== sorted[index]?.[1]);
lock.packages = Object.fromEntries(completed);
if (Object.keys(added).length + filled.length > 0) {
  writeFileSync(LOCK, JSON.stringify(lock, null, 2) + "\n");
}
console.log(`${Object.keys(added).length} entries and ${filled.length} checksums added to ${FILE}`);

function missingBinaries({ packages }: Lock): Record<string, LockEntry> {
  const missing: Record<string, LockEntry> = {};
  for (const [path, { dev, optionalDependencies = {} }] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies)) {
      const known =
        `${path}/node_modules/${name}` in packages || `node_modules/${name}` in packages;
      if (known) continue;
      const platform = platformOf(name);
      if (platform === undefined || !/^\d+\.\d+\.\d+$/.test(version)) {
        throw new Error(`cannot determine the platform or version of ${name}@${version}`);
      }
      const development = dev === true ? { dev } : {};
      missing[`node_modules/${name}`] = { version, ...development, optional: true, ...platform };
    }
  }
  return missing;
}

function withChecksum(path: string, entry: LockEntry): LockEntry {
  const [, name] = /.*node_modules\/(.+)$/.exec(path) ?? [];
  if (name === undefined || entry.link === true || entry.integrity !== undefined) return entry;
  const { version, ...rest } = entry;
  const checksum = checksumOf(`${name}@${version}`);
  return checksum === "" ? entry : ({ version, integrity: checksum, ...rest } as LockEntry);
}

/** Empty: the registry does not have the package. */
function checksumOf(name: string): string {
  try {
    const found = execFileSync("npm", ["view", name, "dist.integrity"], { stdio: "pipe" });
    return found.toString().trim();
  } catch {
    return "";
  }
}

/** `{ os, cpu, libc }` derived from the name: `@scope/binding-linux-arm64-musl`. */
function platformOf(name: string): object | undefined {
  if (name.endsWith("-wasm32-wasi")) return { cpu: ["wasm32"] };
  const match =
    /[-/](?<os>android|darwin|freebsd|linux|openharmony|win32)-(?<cpu>[a-z0-9]+)(?:-(?<abi>[a-z]+))?$/.exec(
      name,
    );
  const { os, cpu, abi = "" } = match?.groups ?? {};
  if (os === undefined || cpu === undefined) return undefined;
  const libc = abi.startsWith("musl") ? "musl" : "glibc";
  return { cpu: [cpu], os: [os], ...(os === "linux" ? { libc: [libc] } : {}) };
}
