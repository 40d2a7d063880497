// The simulation command: runs many seeds, or one seed with its trace, or minimizes a failing scenario.

import { readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import {
  minimize,
  runScenario,
  scenarioOf,
  type Scenario,
  type SimulationReport,
  type Workload,
} from "../src/testing/simulation/index.ts";
import { withChoice, type Choice, type ChoiceName } from "./simulation/choice.ts";
import { simulateInJobs, type Ran } from "./simulation/jobs.ts";

const USAGE = `npm run simulate -- [--seeds N] [--from N] [--minutes M] [--jobs N]
                                                          many seeds (default 2,000 from 1) in N processes
                                                          (default: one per core)
npm run simulate -- --seed N [--minimize]                 one seed with its trace; --minimize shrinks it
npm run simulate -- --scenario FILE [--minimize]          a scenario from a file
npm run simulate -- --forget [--seeds N] [--seed N]       a store that loses its last commits, and all other faults
npm run simulate -- --queues [--seeds N] [--seed N]       jobs under rules and limits
--out FILE writes the scenario of --seed, or the minimized one, as JSON.`;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "2000" },
    from: { type: "string", default: "1" },
    minutes: { type: "string" },
    jobs: { type: "string", default: String(availableParallelism()) },
    seed: { type: "string" },
    scenario: { type: "string" },
    minimize: { type: "boolean", default: false },
    forget: { type: "boolean", default: false },
    queues: { type: "boolean", default: false },
    out: { type: "string" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) console.log(USAGE);
else await main(values.forget ? "forget" : values.queues ? "queues" : "programs");

async function main(name: ChoiceName): Promise<void> {
  const { seed, scenario } = values;
  if (seed === undefined && scenario === undefined) return many(name);
  await withChoice(name, <Plan>(choice: Choice<Plan>) =>
    one(
      choice.workload,
      seed === undefined
        ? readScenario<Plan>(scenario ?? "")
        : scenarioOf(count(seed, "seed"), choice),
    ),
  );
}

async function many(choice: ChoiceName): Promise<void> {
  const began = performance.now();
  let done = 0;
  const report = await simulateInJobs({
    choice,
    jobs: Math.max(count(values.jobs, "jobs"), 1),
    seeds: count(values.seeds, "seeds"),
    firstSeed: count(values.from, "from"),
    minutes: values.minutes === undefined ? undefined : Number(values.minutes),
    onRun: (result) => {
      done++;
      if (result.violations.length > 0) console.log(described(result));
      if (done % 500 === 0) console.log(`${done} seeds`);
    },
  });
  console.log(summary(report, performance.now() - began));
  if (report.failures.length > 0) process.exitCode = 1;
}

async function one<Plan>(workload: Workload<Plan>, scenario: Scenario<Plan>): Promise<void> {
  let chosen = scenario;
  if (values.minimize) {
    const smallest = await minimize(workload, scenario, {
      onSmaller: (tried, what) => console.error(`${tried}: ${what}`),
    });
    chosen = smallest.scenario;
  }
  const result = await runScenario(workload, chosen, { trace: true });
  if (values.minimize) console.log(JSON.stringify(chosen, null, 1));
  for (const line of result.trace) console.log(line);
  console.log(`\nseed ${result.seed}, trace ${result.hash}, ${result.statistics.steps} steps`);
  if (result.violations.length > 0) console.log(described(result));
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(chosen, null, 1)}\n`);
  if (result.violations.length > 0) process.exitCode = 1;
}

function readScenario<Plan>(path: string): Scenario<Plan> {
  // Written by --out; a manual edit is not validated.
  return JSON.parse(readFileSync(path, "utf8")) as Scenario<Plan>;
}

function described({ seed, violations }: Ran): string {
  const lines = violations.map(({ invariant, what }) => `  ${invariant}: ${what}`);
  return [`seed ${seed} fails:`, ...lines].join("\n");
}

function summary(report: SimulationReport, tookMs: number): string {
  const { seeds, failures, repeated, totals, landed, stormySeeds } = report;
  const figure = (value: number): string => Math.round(value).toLocaleString("en");
  const faults = [...landed].map(([name, times]) => `  ${name}: ${figure(times)}`);
  return [
    `${figure(seeds)} seeds in ${figure(tookMs / 1_000)} s, ${failures.length} failed; ${repeated} ran twice`,
    `${figure(totals.instances)} instances, ${figure(totals.events)} events, ${figure(totals.runs)} runs of activities ` +
      `and steps, ${figure(totals.acknowledged)} calls acknowledged, ${figure(totals.virtualMs / 3_600_000)} hours of ` +
      `simulated time, ${figure(totals.steps)} steps`,
    `at least three faults landed in ${figure((100 * stormySeeds) / Math.max(seeds, 1))} % of the seeds:`,
    ...faults,
    failures.length === 0
      ? `No failure in ${figure(seeds)} runs: by the rule of three at most ${(300 / Math.max(seeds, 1)).toPrecision(2)} % of such runs fail (95 %).`
      : `Failed: ${failures.map(({ seed }) => seed).join(", ")}`,
  ].join("\n");
}

function count(text: string, what: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  console.error(`--${what} must be a whole number; got ${text}.\n${USAGE}`);
  return process.exit(2);
}
