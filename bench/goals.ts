// The goals of performance.md, figure by figure.
//   - A goal is shown next to its figure and never decides whether the command succeeds.

import type { Metric, Reading, Result, Store } from "./subject.ts";

export interface Goal {
  readonly atMost?: number;
  readonly atLeast?: number;
}
type Bounds = Goal | { readonly [S in Store]: Goal | null };

interface Line {
  readonly workload: string;
  readonly metric: Metric;
  /** Only for this size. */
  readonly n?: number;
  readonly goal: Bounds;
}

const W2_GOAL = { sqlite: { atLeast: 30_000 }, postgres: { atLeast: 20_000 } };

const GOALS: readonly Line[] = [
  { workload: "W2", metric: "serverCpuUsPerStep", goal: { atMost: 35 } },
  { workload: "W2", metric: "walBytesPerStep", goal: { atMost: 1_000 } },
  { workload: "W1", metric: "msPerStep", goal: byStore(0.5, 1.4) },
  { workload: "W1", metric: "slopePercent", goal: { atLeast: -10, atMost: 10 } },
  { workload: "W1s", metric: "msPerStep", goal: byStore(0.4, 1.4) },
  { workload: "W1s", metric: "slopePercent", goal: { atLeast: -10, atMost: 10 } },
  { workload: "W2", metric: "stepsPerS", goal: W2_GOAL },
  { workload: "W2x2", metric: "leastSharePercent", goal: { atLeast: 20 } },
  { workload: "W2p", metric: "ofW2Percent", goal: { atLeast: 80 } },
  { workload: "W2L", metric: "ofW2Percent", goal: { atLeast: 90 } },
  { workload: "W2b", metric: "ofW2Percent", goal: { atLeast: 85 } },
  { workload: "W2s", metric: "ofW2Percent", goal: { atLeast: 85 } },
  { workload: "W2t", metric: "ofW2Percent", goal: { atLeast: 85 } },
  { workload: "W2", metric: "loopP99Ms", goal: { atMost: 10 } },
  // "Flat" in figures: the growth from a quarter of the way to the end.
  { workload: "W2L", metric: "rssMb", goal: { atMost: 20 } },
  { workload: "W3", metric: "totalMs", n: 1_000, goal: { atMost: 120 } },
  { workload: "W3", metric: "totalMs", n: 10_000, goal: { atMost: 1_200 } },
  { workload: "W4", metric: "p50Ms", goal: byStore(1, 2) },
  { workload: "W4", metric: "p99Ms", goal: byStore(4, 5) },
  { workload: "W5", metric: "p50Ms", goal: byStore(0.8, 1.8) },
  { workload: "W5", metric: "p99Ms", goal: byStore(6, 12) },
  { workload: "W6", metric: "rssMb", goal: { atMost: 50 } },
  { workload: "W6", metric: "queriesPerS", goal: { atMost: 2 } },
  { workload: "W6", metric: "dueMs", goal: byStore(500, 800) },
  { workload: "W7", metric: "replayMs", n: 10_000, goal: { atMost: 100 } },
  { workload: "W7", metric: "replayBusyMs", goal: { atMost: 250 } },
  { workload: "W7", metric: "r2", goal: { atLeast: 0.98 } },
  { workload: "W8-linear", metric: "flowsPerS", goal: { atLeast: 3_300 } },
  { workload: "W9", metric: "restartMs", goal: byStore(1_500, 2_000) },
  { workload: "W9", metric: "takeOverMs", goal: { atMost: 8_000 } },
  { workload: "W9", metric: "lost", goal: { atMost: 0 } },
  { workload: "W9", metric: "rerunRecorded", goal: { atMost: 0 } },
  { workload: "W10", metric: "stepsPerS", goal: atLeastByStore(3_000, 2_500) },
  { workload: "W10", metric: "p99Ms", goal: byStore(100, 150) },
  { workload: "W10", metric: "loopP99Ms", goal: { atMost: 30 } },
  { workload: "W10n", metric: "loopP99Ms", goal: { atMost: 30 } },
  { workload: "W11", metric: "describeCpuMs", goal: { atMost: 5 } },
  { workload: "W11", metric: "pageCpuMs", goal: { atMost: 5 } },
  { workload: "W12", metric: "p50Ms", goal: byStore(2, 4) },
  { workload: "W12", metric: "hotAsksPerS", goal: atLeastByStore(5_000, 2_000) },
  { workload: "W12", metric: "asksPerS", goal: atLeastByStore(8_000, 5_000) },
  { workload: "W13", metric: "passagesPerS", goal: atLeastByStore(4_000, 2_000) },
  // 25,000 are offered; tokens that are in flight at either end of the period are a hundredth at most.
  { workload: "W14-many", metric: "itemsPerS", goal: { atLeast: 24_750 } },
  { workload: "W14-across", metric: "p50Ms", goal: atMostOnPostgres(30) },
  { workload: "W14-across", metric: "p99Ms", goal: atMostOnPostgres(120) },
  { workload: "W14-resume", metric: "resumeMs", goal: { atMost: 5 } },
  { workload: "W15", metric: "p50Ms", goal: { atMost: 5 } },
  { workload: "W16", metric: "enqueuesPerS", goal: atLeastByStore(15_000, 10_000) },
  { workload: "W16", metric: "bulkPerS", goal: { atLeast: 50_000 } },
  { workload: "W16", metric: "jobsPerS", goal: atLeastByStore(15_000, 10_000) },
  { workload: "W16", metric: "startP50Ms", goal: byStore(2, 4) },
  { workload: "W17-fair", metric: "firstMs", goal: { atMost: 1_000 } },
  { workload: "W17-fair", metric: "offPoints", goal: { atMost: 5 } },
  { workload: "W17-rate", metric: "windowMost", goal: { atMost: 100 } },
  { workload: "W17-rate", metric: "usedPercent", goal: { atLeast: 98 } },
];

/** Null if performance.md names no goal. */
export function goalOf({ workload, store, metric, n }: Result): Goal | null {
  const line = GOALS.find(
    (one) => one.workload === workload && one.metric === metric && (one.n ?? n) === n,
  );
  if (line === undefined) return null;
  return "sqlite" in line.goal ? line.goal[store] : line.goal;
}

export function isReached(goal: Goal, { value }: Reading): boolean {
  return value <= (goal.atMost ?? Infinity) && value >= (goal.atLeast ?? -Infinity);
}

function byStore(sqlite: number, postgres: number): { readonly [S in Store]: Goal } {
  return { sqlite: { atMost: sqlite }, postgres: { atMost: postgres } };
}

function atLeastByStore(sqlite: number, postgres: number): { readonly [S in Store]: Goal } {
  return { sqlite: { atLeast: sqlite }, postgres: { atLeast: postgres } };
}

function atMostOnPostgres(atMost: number): { readonly [S in Store]: Goal | null } {
  return { sqlite: null, postgres: { atMost } };
}
