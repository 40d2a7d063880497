// npm run test:frameworks: builds, starts, uses and kills a real application of each framework, and prints a table.
//   - The frameworks are installed from the lock file of this folder, and the package from the tarball that would be
//       published, into this folder only. `npm ci` of the project stays small.
//   `-- express hono` selects frameworks. `-- --keep` uses the package that the last run has installed.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { pack } from "../../scripts/package/pack.ts";
import { openBrowser } from "../interfaces/ui/support/browser.ts";
import { CHECKS, checkFramework, checksOf, type Check } from "./checks.ts";
import { FRAMEWORKS, type Framework } from "./frameworks.ts";

const FOLDER = import.meta.dirname;
const ROOT = join(FOLDER, "../..");
/** Records the installed lock file; it is inside node_modules, so that it is deleted together with the packages. */
const STAMP = join(FOLDER, "node_modules/.installed");
const NAME_WIDTH = 20;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { keep: { type: "boolean", default: false } },
});
const names = FRAMEWORKS.map(({ name }) => name);
const unknown = positionals.find((name) => !names.includes(name));
if (unknown !== undefined) {
  throw new Error(`Unknown framework "${unknown}". Frameworks: ${names.join(", ")}.`);
}
const chosen = FRAMEWORKS.filter(
  ({ name }) => positionals.length === 0 || positionals.includes(name),
);

await installFrameworks();
if (!values.keep) await installPackage();

const lines = [
  ["framework".padEnd(NAME_WIDTH), ...CHECKS].join("  "),
  ["-".repeat(NAME_WIDTH), ...CHECKS.map((check) => "-".repeat(check.length))].join("  "),
];
await using browser = await openBrowser();
for (const framework of chosen) {
  const { name } = framework;
  const passed = new Set<Check>();
  await checkFramework(framework, browser, (check, error) => {
    console.log(`${name}: ${check}${error === null ? "" : " FAILED"}`);
    if (error === null) passed.add(check);
    else {
      console.error(error);
      process.exitCode = 1;
    }
  });
  const title = `${name} (${versionOf(framework)})`.padEnd(NAME_WIDTH);
  const applicable = checksOf(framework);
  const cells = CHECKS.map((check) => {
    const result = passed.has(check) ? "yes" : applicable.includes(check) ? "NO" : "–";
    return result.padEnd(check.length);
  });
  lines.push([title, ...cells].join("  "));
}
console.log(`\n${lines.join("\n")}`);

function versionOf(framework: Framework): string {
  const file = join(FOLDER, "node_modules", framework.package, "package.json");
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

async function installFrameworks(): Promise<void> {
  const lock = readFileSync(join(FOLDER, "package-lock.json"));
  const wanted = createHash("sha256").update(lock).digest("hex");
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === wanted) return;
  console.log("installing the frameworks in test/frameworks …");
  await npm("ci");
  writeFileSync(STAMP, wanted);
}

/** From the tarball, as a user does. The lock file stays as it is. */
async function installPackage(): Promise<void> {
  console.log("building, packing and installing the package …");
  const packed = await pack(ROOT);
  try {
    await npm("install", "--no-save", "--no-package-lock", packed.tarball);
  } finally {
    rmSync(packed.folder, { recursive: true, force: true });
  }
}

async function npm(...args: string[]): Promise<void> {
  const child = spawn("npm", [...args, "--no-audit", "--no-fund"], {
    cwd: FOLDER,
    stdio: "inherit",
  });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`npm ${args[0]} in test/frameworks exited with ${code}`);
}
