// npm run sabotage [-- --list bugs|sql] [--only N,M] [--json FILE]: the test of the tests. Each patch of
// test/faults/sabotage/patches.ts is a bug that other systems had, each patch of sql-patches.ts is a mutant of our SQL.
// A patch is applied to a copy of the sources, and the tests that must find it run there.
//   - The tests must first pass on the unchanged copy: a test that always fails finds nothing.
//   - A patch is found if a test fails or never ends. A patch that is not found fails the command.

import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { PATCHES, type Patch } from "../test/faults/sabotage/patches.ts";
import { SQL_PATCHES } from "../test/faults/sabotage/sql-patches.ts";

interface Verdict {
  readonly number: number;
  readonly bug: string;
  readonly file: string;
  readonly foundBy: string | null;
  readonly failed: number;
  readonly seconds: number;
}
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

const ROOT = join(import.meta.dirname, "..");
const COPIED = ["src", "test", "examples", "scripts", "docs", "demo", "ui/src"];
const FILES = ["package.json", "tsconfig.json", "vitest.config.ts", "README.md", "CHANGELOG.md"];
const LIMIT_MS = 240_000;
/** The time limit for all tests together, before any patch is applied. */
const SOUND_LIMIT_MS = 1_200_000;

const { values } = parseArgs({
  options: {
    list: { type: "string", default: "bugs" },
    only: { type: "string" },
    json: { type: "string" },
  },
});
const LISTS = new Map([
  ["bugs", PATCHES],
  ["sql", SQL_PATCHES],
]);
const patches = LISTS.get(values.list);
if (patches === undefined) throw new Error(`--list must be bugs or sql; got "${values.list}".`);
const chosen = values.only?.split(",").map(Number);
const numbered = patches.map((patch, index) => ({ patch, number: index + 1 }));
const wanted = numbered.filter(({ number }) => chosen === undefined || chosen.includes(number));

const folder = mkdtempSync(join(tmpdir(), "perdure-sabotage-"));
const verdicts: Verdict[] = [];
try {
  copyProject();
  for (const tests of allOf(wanted.map(({ patch }) => patch))) {
    const { failed, first } = await runTests(tests, SOUND_LIMIT_MS);
    if (failed > 0) throw new Error(`A test fails without a patch: ${first ?? "a file"}`);
  }
  for (const { patch, number } of wanted) {
    const verdict = await runPatch(patch, number);
    verdicts.push(verdict);
    const found = verdict.foundBy ?? "NOT FOUND";
    console.log(
      `${number}. ${patch.bug}\n   ${found} (${verdict.failed} failed, ${verdict.seconds} s)`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const missed = verdicts.filter(({ foundBy }) => foundBy === null);
console.log(`\n${verdicts.length - missed.length} of ${verdicts.length} found`);
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(verdicts, null, 2));
if (missed.length > 0) process.exitCode = 1;

function copyProject(): void {
  for (const name of [...COPIED, ...FILES]) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
}

async function runPatch(patch: Patch, number: number): Promise<Verdict> {
  const path = join(folder, patch.file);
  const sound = readFileSync(path, "utf8");
  const places = sound.split(patch.from).length - 1;
  if (places !== 1) throw new Error(`Patch ${number} matches ${places} places in ${patch.file}.`);
  const began = performance.now();
  writeFileSync(
    path,
    sound.replace(patch.from, () => patch.to),
  );
  try {
    const { failed, first } = await runTests(patch);
    const seconds = Math.round((performance.now() - began) / 1_000);
    return { number, bug: patch.bug, file: patch.file, foundBy: first, failed, seconds };
  } finally {
    writeFileSync(path, sound);
  }
}

type Tests = Pick<Patch, "tests" | "only">;

/** All tests that find one of the patches: whole files, and parts of files. */
function allOf(some: readonly Tests[]): readonly Tests[] {
  const narrow = some.filter(({ only }) => only !== undefined);
  const whole = some.filter(({ only }) => only === undefined);
  const filesOf = (those: readonly Tests[]) => [...new Set(those.flatMap(({ tests }) => tests))];
  const names = [...new Set(narrow.flatMap(({ only }) => only ?? []))];
  return [
    ...(whole.length === 0 ? [] : [{ tests: filesOf(whole) }]),
    ...(narrow.length === 0 ? [] : [{ tests: filesOf(narrow), only: names.join("|") }]),
  ];
}

async function runTests(
  { tests: files, only }: Tests,
  limitMs = LIMIT_MS,
): Promise<{ failed: number; first: string | null }> {
  const output = join(folder, "report.json");
  rmSync(output, { force: true });
  const args = [
    "run",
    "--project=all",
    ...files,
    ...(only === undefined ? [] : ["--testNamePattern", only]),
    "--reporter=json",
    `--outputFile=${output}`,
    "--bail=5",
  ];
  const vitest = join(folder, "node_modules/vitest/vitest.mjs");
  const options = { cwd: folder, timeout: limitMs, maxBuffer: 64 << 20 };
  const running = promisify(execFile)(process.execPath, [vitest, ...args], options);
  const end = await running.then(
    () => "passed",
    (error: unknown) => (isKilled(error) ? "never ended" : "failed"),
  );
  if (end === "never ended") return { failed: 1, first: `${files.join(", ")} never ended` };
  const report = JSON.parse(readFileSync(output, "utf8")) as Report;
  const failures = report.testResults.flatMap(({ name, status, assertionResults }) => {
    const file = name.slice(folder.length + 1);
    const tests = assertionResults.filter((test) => test.status === "failed");
    if (tests.length === 0 && status === "failed") return [`${file} as a whole`];
    return tests.map(({ fullName }) => `${file}: ${fullName}`);
  });
  const ran = report.testResults.flatMap(({ assertionResults }) =>
    assertionResults.filter(({ status }) => status === "passed" || status === "failed"),
  );
  if (failures.length === 0 && (end === "failed" || ran.length === 0)) {
    throw new Error(`No test of ${files.join(", ")} ran${only === undefined ? "" : `: ${only}`}.`);
  }
  return { failed: failures.length, first: failures[0] ?? null };
}

function isKilled(error: unknown): boolean {
  return error instanceof Error && "killed" in error && error.killed === true;
}
