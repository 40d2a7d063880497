// Mutation testing with Stryker: `npm run mutate` runs this once Stryker is installed.
//   - Results are kept in coverage/mutation and reused for unchanged code; --force runs everything again.
//   - A part below the threshold fails the command. Equivalent mutants that parts.ts lists do not count.

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import type { MutantResult } from "@stryker-mutator/api/core";
import { Stryker } from "@stryker-mutator/core";
import { filesOf, PARTS, partNamed, type Equivalent, type Part } from "../parts.ts";

const MARK = 88;
const FOLDER = "coverage/mutation";

const { values } = parseArgs({
  options: {
    part: { type: "string", multiple: true },
    concurrency: { type: "string", default: "2" },
    force: { type: "boolean", default: false },
    /** Stryker's own patterns, to mutate a file or a few lines of it; the results of such a run are not kept. */
    mutate: { type: "string", multiple: true },
  },
});
const parts = values.part === undefined ? PARTS : values.part.map(partNamed);
for (const { mutate, tests } of parts) filesOf([...mutate, ...tests]);

mkdirSync(FOLDER, { recursive: true });
const sandboxes = mkdtempSync(join(tmpdir(), "perdure-mutation-"));
process.on("exit", () => rmSync(sandboxes, { recursive: true, force: true }));
const rows = [];
for (const part of parts) rows.push(await mutate(part));
console.table(rows.map(({ unused: _, ...row }) => row));
if (rows.some(({ score }) => score < MARK)) process.exitCode = 1;
for (const { file, line } of rows.flatMap(({ unused }) => unused)) {
  console.error(`No surviving mutant of ${file} fits the entry for the line: ${line}`);
  process.exitCode = 1;
}

async function mutate(part: Part) {
  process.env["PERDURE_MUTATION_PART"] = part.name; // the runner reads it in Stryker's processes
  const began = performance.now();
  const report = `${FOLDER}/${part.name}${values.mutate === undefined ? "" : "-look"}`;
  const files = new Set(filesOf(part.mutate));
  const all = await new Stryker({
    mutate: values.mutate ?? [...part.mutate],
    testRunner: "warm",
    plugins: [join(import.meta.dirname, "runner.ts"), join(import.meta.dirname, "../texts.ts")],
    ignorers: ["texts"],
    coverageAnalysis: "perTest",
    concurrency: Number(values.concurrency),
    incremental: values.mutate === undefined,
    incrementalFile: `${FOLDER}/${part.name}.incremental.json`,
    force: values.force,
    tempDirName: sandboxes,
    ignorePatterns: ["dist", "coverage", "docs", "bench", "ui", ".ci"],
    disableTypeChecks: false,
    timeoutMS: 60_000, // generous, for a busy machine: the runner finds most endless tests sooner
    timeoutFactor: 2,
    reporters: ["progress-append-only", "clear-text", "html", "json"],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
    htmlReporter: { fileName: `${report}.html` },
    jsonReporter: { fileName: `${report}.json` },
    thresholds: { high: 90, low: MARK, break: null },
    allowConsoleColors: false,
  }).runMutationTest();
  // Stryker keeps earlier results of files that are not mutated in this part any more.
  const results = all.filter(
    ({ fileName }) => values.mutate !== undefined || files.has(relative(process.cwd(), fileName)),
  );
  const count = (...statuses: string[]) =>
    results.filter(({ status }) => statuses.includes(status)).length;
  const killed = count("Killed");
  const timeout = count("Timeout");
  const left = results.filter(({ status }) => status === "Survived" || status === "NoCoverage");
  const equivalent = values.mutate === undefined ? (part.equivalent ?? []) : [];
  const excluded = equivalent.flatMap(({ lines, ...rest }) =>
    lines.map((line) => ({ ...rest, line })),
  );
  const counted = left.filter((mutant) => !excluded.some((one) => isOf(mutant, one)));
  const survived = counted.length;
  const mutants = killed + timeout + survived;
  return {
    part: part.name,
    mutants,
    killed,
    timeout,
    survived,
    equivalent: left.length - survived,
    errors: count("RuntimeError", "CompileError"),
    ignored: count("Ignored"),
    score: Math.round((1000 * (killed + timeout)) / mutants) / 10,
    seconds: Math.round((performance.now() - began) / 1000),
    unused: excluded.filter((one) => !left.some((mutant) => isOf(mutant, one))),
  };
}

type Excluded = Omit<Equivalent, "lines"> & { readonly line: string };

function isOf({ fileName, location, replacement }: MutantResult, one: Excluded): boolean {
  const { start, end } = location;
  if (relative(process.cwd(), fileName) !== one.file) return false;
  const lines = readFileSync(one.file, "utf8").split("\n");
  if (lines[start.line - 1]?.trim() !== one.line) return false;
  if (one.change === undefined) return true;
  const changed = lines.slice(start.line - 1, end.line);
  changed[changed.length - 1] = (changed.at(-1) ?? "").slice(0, end.column - 1);
  changed[0] = (changed[0] ?? "").slice(start.column - 1);
  const [code, becomes] = one.change;
  return plain(changed.join("\n")) === code && plain(replacement) === becomes;
}

function plain(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
