// Simulate: runs many seeds. Users and the command line call this function.
//   - The outcome of a run depends only on its seed (or scenario) and on the code.
//   - Some seeds run twice. Two different traces of one seed are a violation.
//   - The report counts the work and the faults that had an effect: a run without work or faults proves
//        nothing.

import { checkFlag, checkInteger, checkMembers, type Members } from "../../core/checks.ts";
import type { FaultKind } from "./world/faults.ts";
import { drawScenario, type PlainOptions, type Scenario } from "./scenario.ts";
import type { Sabotage } from "./world/simulated-store.ts";
import { runScenario, type RunResult, type RunStatistics } from "./simulation.ts";
import type { Violation } from "./violation.ts";
import type { Workload } from "./world/workload.ts";

/** Options of `simulate`. */
export interface SimulateOptions<Plan = unknown> {
  readonly workload: Workload<Plan>;
  /** The number of seeds. */
  readonly seeds: number;
  /** The first seed. Default 1. */
  readonly firstSeed?: number;
  /** Starts no further seed after this many minutes of real time. */
  readonly minutes?: number;
  /** The allowed faults. Default: all except "forget", which loses acknowledged calls. */
  readonly faults?: readonly FaultKind[];
  /** Options of every runtime; they replace the drawn ones. */
  readonly runtime?: PlainOptions;
  /** Whether the workers drive again and again, instead of running all the time. Default false. */
  readonly drives?: boolean;
  /** Runs every n-th seed twice, to check that both runs are equal. Default 100; 0: no seed. */
  readonly repeatEvery?: number;
  /** Stops at the first seed that fails. Default false. */
  readonly stopAtFailure?: boolean;
  /** Methods that replace those of the store, to test that the simulation finds the bug. */
  readonly sabotage?: Sabotage;
  readonly onRun?: (result: RunResult) => void;
}

/** A failed seed and its violations. */
export interface FailedSeed {
  readonly seed: number;
  readonly violations: readonly Violation[];
}
/** The work done and the violations found. */
export interface SimulationReport {
  readonly seeds: number;
  readonly failures: readonly FailedSeed[];
  /** The number of seeds that ran twice. */
  readonly repeated: number;
  readonly totals: Omit<RunStatistics, "landed">;
  /** The number of faults that had an effect, by kind and target, over all seeds. */
  readonly landed: ReadonlyMap<string, number>;
  /** The number of seeds in which at least three faults had an effect. */
  readonly stormySeeds: number;
}

const SIMULATE_OPTIONS: Members<SimulateOptions> = {
  workload: true,
  seeds: true,
  firstSeed: true,
  minutes: true,
  faults: true,
  runtime: true,
  drives: true,
  repeatEvery: true,
  stopAtFailure: true,
  sabotage: true,
  onRun: true,
};
const REPEAT_EVERY_DEFAULT = 100;
const STORMY = 3;
const hostNow = performance.now.bind(performance);

/** Runs a workload on many seeds. Violations are in the report; they do not make the call throw. */
export async function simulate<Plan>(options: SimulateOptions<Plan>): Promise<SimulationReport> {
  checkMembers<SimulateOptions<Plan>>(options, SIMULATE_OPTIONS, "simulate");
  checkInteger(options.seeds, 1, "seeds");
  checkFlag(options.drives, "drives");
  const { workload, seeds, firstSeed = 1, minutes = Infinity, sabotage } = options;
  const repeatEvery = options.repeatEvery ?? REPEAT_EVERY_DEFAULT;
  const until = hostNow() + minutes * 60_000;
  const tally = new Tally();
  for (let seed = firstSeed; seed < firstSeed + seeds && hostNow() < until; seed++) {
    const scenario = scenarioOf(seed, options);
    const result = await runScenario(workload, scenario, { sabotage });
    const isRepeated = repeatEvery > 0 && (seed - firstSeed) % repeatEvery === 0;
    const again = isRepeated ? await runScenario(workload, scenario, { sabotage }) : null;
    tally.add(result, again);
    options.onRun?.(result);
    if (options.stopAtFailure === true && tally.failures.length > 0) break;
  }
  return tally.report();
}

/** The scenario of a seed. */
export function scenarioOf<Plan>(
  seed: number,
  options: Pick<SimulateOptions<Plan>, "workload" | "faults" | "runtime" | "drives">,
): Scenario<Plan> {
  const { workload, faults, runtime, drives = false } = options;
  const scenario = drawScenario(seed, {
    plan: (random, frame) => workload.plan(random, frame),
    ...(faults === undefined ? {} : { faults }),
    ...(runtime === undefined ? {} : { runtime }),
  });
  return drives ? { ...scenario, drives: true } : scenario;
}

const TOTALS = ["steps", "virtualMs", "instances", "events", "runs", "acknowledged"] as const;

class Tally {
  readonly failures: FailedSeed[] = [];
  readonly #landed = new Map<string, number>();
  readonly #totals = { steps: 0, virtualMs: 0, instances: 0, events: 0, runs: 0, acknowledged: 0 };
  #seeds = 0;
  #repeated = 0;
  #stormy = 0;

  add(result: RunResult, again: RunResult | null): void {
    const { seed, statistics, hash } = result;
    const violations = [...result.violations];
    this.#seeds++;
    if (again !== null) {
      this.#repeated++;
      if (again.hash !== hash) {
        const what = `two runs of seed ${seed} differ: ${hash} and ${again.hash}`;
        violations.push({ invariant: "determinism", what, atMs: 0 });
      }
    }
    if (violations.length > 0) this.failures.push({ seed, violations });
    for (const name of TOTALS) this.#totals[name] += statistics[name];
    let faults = 0;
    for (const [name, times] of statistics.landed) {
      this.#landed.set(family(name), (this.#landed.get(family(name)) ?? 0) + times);
      faults += times;
    }
    if (faults >= STORMY) this.#stormy++;
  }

  report(): SimulationReport {
    return {
      seeds: this.#seeds,
      failures: this.failures,
      repeated: this.#repeated,
      totals: { ...this.#totals },
      landed: new Map([...this.#landed].sort(([a], [b]) => (a < b ? -1 : 1))),
      stormySeeds: this.#stormy,
    };
  }
}

/** The name of a fault in the report: with the affected call for a network fault, otherwise the kind only. */
function family(name: string): string {
  const [kind = "", target = ""] = name.split(" ");
  return NETWORK.includes(kind) ? `${kind} ${target}` : kind;
}
const NETWORK = ["failBefore", "failAfter", "slow", "storeDown", "diskFull"];
