// Merge: one report of several simulations on different seeds.

import type { SimulationReport } from "../../src/testing/simulation/index.ts";

export function mergeReports(reports: readonly SimulationReport[]): SimulationReport {
  const sum = (read: (report: SimulationReport) => number): number =>
    reports.reduce((total, report) => total + read(report), 0);
  const landed = new Map<string, number>();
  for (const report of reports) {
    for (const [name, times] of report.landed) landed.set(name, (landed.get(name) ?? 0) + times);
  }
  return {
    seeds: sum(({ seeds }) => seeds),
    failures: reports.flatMap(({ failures }) => failures).toSorted((a, b) => a.seed - b.seed),
    repeated: sum(({ repeated }) => repeated),
    totals: {
      steps: sum(({ totals }) => totals.steps),
      virtualMs: sum(({ totals }) => totals.virtualMs),
      instances: sum(({ totals }) => totals.instances),
      events: sum(({ totals }) => totals.events),
      runs: sum(({ totals }) => totals.runs),
      acknowledged: sum(({ totals }) => totals.acknowledged),
    },
    landed: new Map([...landed].sort(([a], [b]) => (a < b ? -1 : 1))),
    stormySeeds: sum(({ stormySeeds }) => stormySeeds),
  };
}
