// npm run test:runtimes: runs four suites on Node 24, Node 26, Bun and Deno, and prints a table of the results.
//   - The run times are installed from the lock file of this folder, into this folder only. `npm ci` of the project stays
//       small, and `npm test` needs none of them.
//   - Vitest itself runs on the run time under test. Its test processes, and the workers that tests start and kill, are
//       started from `process.execPath`, so they run on it, too.
//   `-- bun deno` selects run times; `-- --suite demo` selects a suite.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

const FOLDER = import.meta.dirname;
const ROOT = join(FOLDER, "../..");
const BIN = join(FOLDER, "node_modules/.bin");
/** Records the installed lock file; it is inside node_modules, so that it is deleted together with the packages. */
const STAMP = join(FOLDER, "node_modules/.installed");
const VITEST = [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", "--project", "all"];

interface RunTime {
  readonly name: string;
  readonly program: string;
  readonly args: readonly string[];
}
const RUN_TIMES: readonly RunTime[] = [
  { name: "node24", program: process.execPath, args: [] },
  { name: "node26", program: join(BIN, "node"), args: [] },
  { name: "bun", program: join(BIN, "bun"), args: [] },
  { name: "deno", program: join(BIN, "deno"), args: ["run", "-A"] },
];

const SUITES: Readonly<Record<string, readonly string[]>> = {
  "conformance sqlite": [...VITEST, "test/stores/conformance/sqlite.test.ts"],
  "conformance postgres": [...VITEST, "test/stores/conformance/postgres.test.ts"],
  scenarios: [...VITEST, "test/scenarios"],
  kill: [...VITEST, "test/faults/kill/sigkill.test.ts", "test/faults/kill/sharing.test.ts"],
  demo: [join(ROOT, "demo/main.ts")],
};

interface Counts {
  readonly passed: number;
  readonly failed: number;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { suite: { type: "string" } },
});
const runTimes = RUN_TIMES.filter(
  ({ name }) => positionals.length === 0 || positionals.includes(name),
);
const suites = Object.entries(SUITES).filter(
  ([suite]) => values.suite === undefined || suite === values.suite,
);
if (runTimes.length === 0 || suites.length === 0) {
  const names = RUN_TIMES.map(({ name }) => name).join(", ");
  throw new Error(
    `Unknown run time or suite. Run times: ${names}. Suites: ${Object.keys(SUITES).join(", ")}.`,
  );
}

await install();
const lines: string[] = [];
let hasFailed = false;
for (const runTime of runTimes) {
  const { name, program } = runTime;
  const version = (await output(program, ["--version"])).text.split("\n")[0] ?? "";
  for (const [suite, args] of suites) {
    console.log(`${name} (${version}): ${suite} …`);
    const { passed, failed } = await counts(suite, runTime, args);
    hasFailed ||= failed > 0;
    lines.push(
      `${name.padEnd(8)}${suite.padEnd(22)}${passed} passed, ${failed} failed  (${version})`,
    );
  }
}
console.log(`\n${lines.join("\n")}`);
if (hasFailed) process.exitCode = 1;

/** A suite that prints no figures is one test: it passes if its process exits with 0. */
async function counts(suite: string, runTime: RunTime, args: readonly string[]): Promise<Counts> {
  const { text, code } = await output(runTime.program, [...runTime.args, ...args]);
  const found = [...text.matchAll(/^(?<passed>\d+) passed, (?<failed>\d+) failed/gm)].at(-1);
  const passed = Number(found?.groups?.["passed"] ?? (code === 0 ? 1 : 0));
  const failed = Number(found?.groups?.["failed"] ?? (code === 0 ? 0 : 1));
  // A file that cannot be loaded fails the run without a failed test.
  const isSilentFailure = code !== 0 && failed === 0;
  if (code !== 0) console.log(text);
  else if (found === undefined && suite !== "demo") throw new Error(`${suite} printed no figures`);
  return { passed, failed: isSilentFailure ? 1 : failed };
}

async function output(program: string, args: readonly string[]) {
  const child = spawn(program, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  const collect = (chunk: Buffer): void => void (text += chunk.toString());
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  const [code] = (await once(child, "close")) as [number | null];
  return { text, code };
}

async function install(): Promise<void> {
  const lock = readFileSync(join(FOLDER, "package-lock.json"));
  const wanted = createHash("sha256").update(lock).digest("hex");
  if (existsSync(STAMP) && readFileSync(STAMP, "utf8") === wanted) return;
  console.log("installing the run times in test/runtimes …");
  const child = spawn("npm", ["ci", "--no-audit", "--no-fund"], { cwd: FOLDER, stdio: "inherit" });
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`npm ci in test/runtimes exited with ${code}`);
  writeFileSync(STAMP, wanted);
}
