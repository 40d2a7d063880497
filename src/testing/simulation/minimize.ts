// Minimizing: from a scenario that fails to a small one that fails in the same way.
//   MI1. "The same way" is the first violation's invariant; what it says may differ.
//   MI2. A step is kept if the smaller scenario still fails; the scenario only shrinks, so the search ends.

import { NO_FAULTS, type NetworkFaults } from "./network.ts";
import type { Scenario } from "./scenario.ts";
import { runScenario, type RunOptions, type RunResult } from "./simulation.ts";
import type { Workload } from "./workload.ts";

export interface Minimized<Plan> {
  readonly scenario: Scenario<Plan>;
  readonly result: RunResult;
  /** Scenarios that were tried. */
  readonly tried: number;
}

const TRIES_MAX = 2_000;

export async function minimize<Plan>(
  workload: Workload<Plan>,
  failing: Scenario<Plan>,
  options: RunOptions & { readonly onSmaller?: (tried: number, what: string) => void } = {},
): Promise<Minimized<Plan>> {
  let scenario = failing;
  let result = await runScenario(workload, scenario, options);
  const invariant = result.violations[0]?.invariant;
  let tried = 1;
  if (invariant === undefined) return { scenario, result, tried };
  for (let isSmaller = true; isSmaller && tried < TRIES_MAX;) {
    isSmaller = false;
    for (const [what, candidate] of smallerScenarios(workload, scenario)) {
      if (++tried > TRIES_MAX) break;
      const found = await runScenario(workload, candidate, options);
      if (!found.violations.some((violation) => violation.invariant === invariant)) continue;
      options.onSmaller?.(tried, what);
      scenario = candidate;
      result = found;
      isSmaller = true;
      break;
    }
  }
  return { scenario, result, tried };
}

type Candidate<Plan> = readonly [what: string, scenario: Scenario<Plan>];

/** The most drastic first. */
function* smallerScenarios<Plan>(
  workload: Workload<Plan>,
  scenario: Scenario<Plan>,
): Iterable<Candidate<Plan>> {
  const { faults, plan, workers } = scenario;
  const { events, network } = faults;
  const withEvents = (left: typeof events): Scenario<Plan> => ({
    ...scenario,
    faults: { ...faults, events: left },
  });
  if (events.length > 1) {
    const half = events.length >> 1;
    yield ["half of the events", withEvents(events.slice(0, half))];
    yield ["the other half", withEvents(events.slice(half))];
  }
  for (const index of events.keys()) {
    yield [`without event ${index}`, withEvents(events.toSpliced(index, 1))];
  }
  for (const name of Object.keys(NO_FAULTS) as (keyof NetworkFaults)[]) {
    if (network[name] === NO_FAULTS[name]) continue;
    const calmer = { ...network, [name]: NO_FAULTS[name] };
    yield [`without ${name}`, { ...scenario, faults: { ...faults, network: calmer } }];
  }
  for (const smaller of workload.smaller?.(plan) ?? []) {
    yield ["a smaller plan", { ...scenario, plan: smaller }];
  }
  if (workers.length > 1 && events.length === 0) {
    yield ["one worker less", { ...scenario, workers: workers.slice(0, -1) }];
  }
}
