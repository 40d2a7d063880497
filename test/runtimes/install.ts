// Installs the packages of this folder's lock file, once per lock file.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runBounded } from "./bounded-process.ts";
import { FOLDER } from "./run-times.ts";

/** Records the installed lock file; it is inside node_modules, so that it is deleted together with the packages. */
const STAMP = join(FOLDER, "node_modules/.installed");
const SECONDS_MAX = 600;

export async function install(): Promise<void> {
  const lock = readFileSync(join(FOLDER, "package-lock.json"));
  const wanted = createHash("sha256").update(lock).digest("hex");
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === wanted) return;
  console.log("installing the run times in test/runtimes …");
  const args = ["ci", "--no-audit", "--no-fund"];
  const { text, code } = await runBounded("npm", args, { cwd: FOLDER, seconds: SECONDS_MAX });
  if (code !== 0) throw new Error(`npm ci in test/runtimes exited with ${code}:\n${text}`);
  writeFileSync(STAMP, wanted);
}
