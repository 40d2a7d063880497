// Mutation testing with Stryker: `npm run mutate` runs this once Stryker is installed.
//   - Results are kept in coverage/mutation and reused for unchanged code; --force runs everything again.
//   - A part below its threshold fails the command.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";
import { PARTS, partNamed, type Part } from "../parts.ts";

const MARK = 80;
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

mkdirSync(FOLDER, { recursive: true });
const sandboxes = mkdtempSync(join(tmpdir(), "perdure-mutation-"));
process.on("exit", () => rmSync(sandboxes, { recursive: true, force: true }));
const rows = [];
for (const part of parts) rows.push(await mutate(part));
console.table(rows);
if (rows.some(({ score }) => score < MARK)) process.exitCode = 1;

async function mutate(part: Part) {
  process.env["PERDURE_MUTATION_PART"] = part.name; // the runner reads it in Stryker's processes
  const began = performance.now();
  const report = `${FOLDER}/${part.name}${values.mutate === undefined ? "" : "-look"}`;
  const results = await new Stryker({
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
    timeoutMS: 20_000,
    timeoutFactor: 2,
    reporters: ["progress-append-only", "clear-text", "html", "json"],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
    htmlReporter: { fileName: `${report}.html` },
    jsonReporter: { fileName: `${report}.json` },
    thresholds: { high: 90, low: MARK, break: null },
    allowConsoleColors: false,
  }).runMutationTest();
  const count = (...statuses: string[]) =>
    results.filter(({ status }) => statuses.includes(status)).length;
  const killed = count("Killed");
  const timeout = count("Timeout");
  const survived = count("Survived", "NoCoverage");
  const mutants = killed + timeout + survived;
  return {
    part: part.name,
    mutants,
    killed,
    timeout,
    survived,
    errors: count("RuntimeError", "CompileError"),
    ignored: count("Ignored"),
    score: Math.round((1000 * (killed + timeout)) / mutants) / 10,
    seconds: Math.round((performance.now() - began) / 1000),
  };
}
