// npm run test:runtimes: runs the suites on Node 24, Node 26, Bun and Deno, and prints a table of the results.
//   `-- bun deno` selects run times; `-- --suite demo --suite kill` selects suites.
//   - The run times are installed from the lock file of this folder, into this folder only. `npm ci` of the project stays
//       small, and `npm test` needs none of them.
//   - A test that cannot apply to a run time is named in exceptions.ts with the reason. The runner leaves it out and
//       prints the list.

import { parseArgs } from "node:util";
import { exceptionsOf } from "./exceptions.ts";
import { install } from "./install.ts";
import { RUN_TIMES, versionOf } from "./run-times.ts";
import { runSuite, SUITES, type SuiteResult } from "./suites.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { suite: { type: "string", multiple: true } },
});
const runTimes = selected("run time", RUN_TIMES, positionals);
const suites = selected("suite", SUITES, values.suite ?? []);

await install();
const results: SuiteResult[] = [];
for (const runTime of runTimes) {
  for (const suite of suites) {
    if (suite.runTimes?.includes(runTime.name) === false) continue;
    console.log(`${runTime.name}: ${suite.name} …`);
    const result = await runSuite(runTime, suite);
    results.push(result);
    if (result.output !== undefined) console.log(result.output);
    console.log(lineOf(result));
  }
}

console.log("\nNot applicable, and not counted:");
for (const runTime of runTimes) {
  for (const { title, reason } of exceptionsOf(runTime.name, suites)) {
    console.log(`  ${runTime.name}: "${title}": ${reason}`);
  }
}
console.log("\nResults:");
for (const runTime of runTimes) console.log(`  ${runTime.name}: ${await versionOf(runTime)}`);
for (const result of results) console.log(lineOf(result));
if (results.some(({ failed }) => failed > 0)) process.exitCode = 1;

function lineOf({ runTime, suite, passed, failed, seconds, problem }: SuiteResult): string {
  const counts = `${String(passed).padStart(5)} passed, ${failed} failed`;
  const why = problem === undefined ? "" : `  (${problem})`;
  return `  ${runTime.padEnd(8)}${suite.padEnd(22)}${counts}, ${Math.round(seconds)} s${why}`;
}

/** All of them if no name is given. */
function selected<Named extends { readonly name: string }>(
  kind: string,
  all: readonly Named[],
  names: readonly string[],
): readonly Named[] {
  const known = all.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Error(`Unknown ${kind} "${unknown}"; known are: ${known.join(", ")}.`);
  }
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
}
