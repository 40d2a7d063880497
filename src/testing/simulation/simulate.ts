// Many runs, one a seed: what users and the command line call.
//   SM1. A run's outcome depends on its seed (or scenario) and the code alone.
//   SM2. A share of the seeds runs twice: two traces that differ are a violation of their own.
//   SM3. The report says what was done and which faults landed: a run in which nothing happened proves nothing.

import { checkMembers, checkWhole, type Members } from "../../core/known-members.ts";
import type { FaultKind } from "./faults.ts";
import { drawScenario, type PlainOptions, type Scenario } from "./scenario.ts";
import type { Sabotage } from "./simulated-store.ts";
import { runScenario, type RunResult } from "./simulation.ts";
import type { Violation } from "./violation.ts";
import type { Workload } from "./workload.ts";

/** What to run, and how much of it. */
export interface SimulateOptions<Plan = unknown> {
  readonly workload: Workload<Plan>;
  /** How many seeds. */
  readonly seeds: number;
  /** The first one. Default 1. */
  readonly firstSeed?: number;
  /** Stops before the next seed when so much real time has passed. */
  readonly minutes?: number;
  /** Only these faults may happen. Default: all but "forget", which loses acknowledged calls. */
  readonly faults?: readonly FaultKind[];
  /** Options of every runtime, over those that are drawn. */
  readonly runtime?: PlainOptions;
  /** Every how-manieth seed runs twice, to see that it is the same run. Default 100; 0: none. */
  readonly repeatEvery?: number;
  /** Stops at the first seed that fails. Default false. */
  readonly stopAtFailure?: boolean;
  /** A store that is broken on purpose. */
  readonly sabotage?: Sabotage;
  readonly onRun?: (result: RunResult) => void;
}

/** A seed that fails, and how. */
export interface FailedSeed {
  readonly seed: number;
  readonly violations: readonly Violation[];
}
/** What was done, and what was found. */
export interface SimulationReport {
  readonly seeds: number;
  readonly failures: readonly FailedSeed[];
  /** Seeds that ran twice. */
  readonly repeated: number;
  readonly totals: {
    readonly steps: number;
    readonly virtualMs: number;
    readonly instances: number;
    readonly events: number;
    readonly runs: number;
    readonly acknowledged: number;
  };
  /** Faults that hit something, by kind and target, over all seeds. */
  readonly landed: ReadonlyMap<string, number>;
  /** Seeds in which at least three faults landed. */
  readonly stormySeeds: number;
}

const SIMULATE_OPTIONS: Members<SimulateOptions> = {
  workload: true,
  seeds: true,
  firstSeed: true,
  minutes: true,
  faults: true,
  runtime: true,
  repeatEvery: true,
  stopAtFailure: true,
  sabotage: true,
  onRun: true,
};
const REPEAT_EVERY_DEFAULT = 100;
const STORMY = 3;
const hostNow = performance.now.bind(performance);

/** Runs a workload on so many seeds. It does not throw for what it finds: the report says it. */
export async function simulate<Plan>(options: SimulateOptions<Plan>): Promise<SimulationReport> {
  checkMembers<SimulateOptions<Plan>>(options, SIMULATE_OPTIONS, "simulate");
  checkWhole(options.seeds, 1, "seeds");
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
  options: Pick<SimulateOptions<Plan>, "workload" | "faults" | "runtime">,
): Scenario<Plan> {
  const { workload, faults, runtime } = options;
  return drawScenario(seed, {
    plan: (chance, frame) => workload.plan(chance, frame),
    ...(faults === undefined ? {} : { faults }),
    ...(runtime === undefined ? {} : { runtime }),
  });
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

/** A fault of the network is told with the call it hit, any other by its kind alone. */
function family(name: string): string {
  const [kind = "", target = ""] = name.split(" ");
  return NETWORK.includes(kind) ? `${kind} ${target}` : kind;
}
const NETWORK = ["failBefore", "failAfter", "slow", "storeDown", "diskFull"];
