// node scripts/lock/check-advisories.ts <folder> [lock file]: compares the lock file with advisories in the OSV format, where
// `npm audit` is not available: it needs an endpoint that many mirrors of the npm registry lack.
// GitHub's Advisory Database is such a folder: git clone --depth 1 https://github.com/github/advisory-database
// It lists every finding and exits with 1 if a runtime dependency is affected, or with `--dev` any package.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { findingsOf, installedPackages, type Advisory } from "./advisories.ts";

const { values: options, positionals } = parseArgs({
  options: { dev: { type: "boolean", default: false } },
  allowPositionals: true,
});
const [folder, lockFile = join(import.meta.dirname, "../../package-lock.json")] = positionals;
if (folder === undefined) {
  console.error(
    "usage: node scripts/lock/check-advisories.ts <folder of OSV files> [lock file] [--dev]",
  );
  process.exit(2);
}

const lock = JSON.parse(readFileSync(lockFile, "utf8")) as Parameters<typeof installedPackages>[0];
const installed = installedPackages(lock);
const advisories = globSync("**/*.json", { cwd: folder });
if (advisories.length === 0) {
  console.error(`${folder} has no JSON file, so nothing was checked`);
  process.exit(2);
}
const findings = advisories.flatMap((path) => {
  const text = readFileSync(join(folder, path), "utf8");
  return text.includes('"npm"') ? findingsOf(installed, JSON.parse(text) as Advisory) : [];
});
for (const { installed: found, advisory } of findings) {
  const kind = found.isDevelopment ? "development" : "runtime";
  console.log(`${found.name}@${found.version} (${kind}): ${advisory.id} ${advisory.summary ?? ""}`);
}
const serious = findings.filter(({ installed: found }) => options.dev || !found.isDevelopment);
const checked = `${installed.length} packages compared with ${advisories.length} advisories`;
console.log(`${checked}: ${findings.length} findings`);
if (serious.length > 0) process.exitCode = 1;
