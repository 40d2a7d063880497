// Minimizer: reduces a failing scenario to a small one that fails in the same way.
//   - minimize.1: "The same way" means: the first violation has the same invariant and the same text,
//        except for numbers and names. Without this rule the search would move from the bug to a scenario
//        that cannot end, for example one without its deploy.
//   - A step is kept if the smaller scenario still fails. The scenario only shrinks, so the search ends.

import { NO_FAULTS, type NetworkFaults } from "./world/network.ts";
import type { Scenario } from "./scenario.ts";
import { runScenario, type RunOptions, type RunResult } from "./simulation.ts";
import type { Violation } from "./violation.ts";
import type { Workload } from "./world/workload.ts";

/** The smallest scenario found that fails in the same way. */
export interface Minimized<Plan> {
  readonly scenario: Scenario<Plan>;
  readonly result: RunResult;
  /** The number of scenarios tried. */
  readonly tried: number;
}

const TRIES_MAX_DEFAULT = 1_000;

/** Options of `minimize`. */
export interface MinimizeOptions extends RunOptions {
  /** Default 1,000. */
  readonly triesMax?: number;
  readonly onSmaller?: (tried: number, what: string) => void;
}

/** Removes parts of a failing scenario as long as the scenario still fails in the same way. */
export async function minimize<Plan>(
  workload: Workload<Plan>,
  failing: Scenario<Plan>,
  options: MinimizeOptions = {},
): Promise<Minimized<Plan>> {
  const { triesMax = TRIES_MAX_DEFAULT } = options;
  let scenario = failing;
  let result = await runScenario(workload, scenario, options);
  const [first] = result.violations;
  let tried = 1;
  if (first === undefined) return { scenario, result, tried };
  const sought = shapeOf(first);
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false;
    for (const phase of PHASES) {
      // After a success the next candidate has the same position, since the removed part is gone.
      for (let position = 0; ;) {
        const candidate = at(phase(workload, scenario), position);
        if (candidate === undefined || tried >= triesMax) break;
        tried++;
        const [what, smaller] = candidate;
        const found = await runScenario(workload, smaller, options);
        if (found.violations.some((violation) => shapeOf(violation) === sought)) {
          options.onSmaller?.(tried, what);
          scenario = smaller;
          result = found;
          isSmaller = true;
        } else position++;
      }
    }
  }
  return { scenario, result, tried };
}

/** minimize.1 */
function shapeOf({ invariant, what }: Violation): string {
  const shape = what.replaceAll(/\bjob-[\w.:]+|\b[0-9a-f]{16}\b|\bw\d+\.\d+\b|\d+/g, "#");
  return `${invariant} ${shape}`;
}

function at<T>(candidates: Iterable<T>, position: number): T | undefined {
  let index = 0;
  for (const candidate of candidates) if (index++ === position) return candidate;
  return undefined;
}

type Candidate<Plan> = readonly [what: string, scenario: Scenario<Plan>];

type Phase = <Plan>(
  workload: Workload<Plan>,
  scenario: Scenario<Plan>,
) => Iterable<Candidate<Plan>>;

/** The largest reductions come first. */
const PHASES: readonly Phase[] = [smallerPlans, fewerEvents, calmerNetworks, fewerWorkers];

function* smallerPlans<Plan>(
  workload: Workload<Plan>,
  scenario: Scenario<Plan>,
): Iterable<Candidate<Plan>> {
  for (const plan of workload.smaller?.(scenario.plan) ?? []) {
    yield ["a smaller plan", { ...scenario, plan }];
  }
}

function* fewerEvents<Plan>(
  _: Workload<Plan>,
  scenario: Scenario<Plan>,
): Iterable<Candidate<Plan>> {
  const { faults } = scenario;
  for (const [index, event] of faults.events.entries()) {
    const events = faults.events.toSpliced(index, 1);
    yield [
      `without the ${event.kind} at ${event.atMs}`,
      { ...scenario, faults: { ...faults, events } },
    ];
  }
}

function* calmerNetworks<Plan>(
  _: Workload<Plan>,
  scenario: Scenario<Plan>,
): Iterable<Candidate<Plan>> {
  const { faults } = scenario;
  for (const name of Object.keys(NO_FAULTS) as (keyof NetworkFaults)[]) {
    if (faults.network[name] === NO_FAULTS[name]) continue;
    const network = { ...faults.network, [name]: NO_FAULTS[name] };
    yield [`without ${name}`, { ...scenario, faults: { ...faults, network } }];
  }
}

/**
 * Slot numbers count the workers first. Without one worker the slot of an event would mean another process.
 */
function* fewerWorkers<Plan>(
  _: Workload<Plan>,
  scenario: Scenario<Plan>,
): Iterable<Candidate<Plan>> {
  const { workers, faults } = scenario;
  if (workers.length < 2 || faults.events.some((event) => "slot" in event)) return;
  yield ["one worker less", { ...scenario, workers: workers.slice(0, -1) }];
}
