// The goals, figure by figure. docs/benchmarks.md takes them from here.
//   - A goal is shown next to its figure and never decides whether the command succeeds.
//   - A goal with two conditions is reached if one of them holds.

import { peerOf } from "./peers/catalogue.ts";
import type { Store, Subject } from "./subject.ts";

interface Bound {
  readonly atMost?: number;
  readonly atLeast?: number;
}
export interface Goal extends Bound {
  /** In relation to another subject of the same run. */
  readonly of?: Bound & {
    /** "limit", or the name of a peer: the better of its settings. */
    readonly subject: string;
  };
}
type Bounds = Goal | { readonly [S in Store]: Goal | null };

/** What a goal is for, and what it is judged by. */
export interface Figure {
  readonly workload: string;
  readonly part?: string;
  readonly store: Store | null;
  readonly subject: Subject;
  readonly metric: string;
  readonly value: number;
  readonly n: number;
}

interface Line {
  readonly workload: string;
  readonly metric: string;
  /** Only for this size. */
  readonly n?: number;
  /** Only for this part. */
  readonly part?: string;
  /** Not for these parts. */
  readonly without?: readonly string[];
  readonly goal: Bounds;
}

const W1_GOAL = { sqlite: ofLimit({ atMost: 1.5 }), postgres: ofLimit({ atMost: 1.6 }) };
const W2_GOAL = {
  sqlite: { atLeast: 30_000, ...ofLimit({ atLeast: 0.33 }) },
  postgres: { atLeast: 20_000, ...ofLimit({ atLeast: 0.45 }) },
};
const W10N_GOAL = {
  sqlite: ofLimit({ atLeast: 0.6 }),
  postgres: { of: { subject: "dbos", atLeast: 4 } },
};

/** These searches read all instances, or all that another member leaves. */
export const SLOW_SEARCHES = [
  "text, exactly an attribute",
  "text, nowhere",
  "by the time of the last change",
];

export const GOALS: readonly Line[] = [
  { workload: "W2", metric: "serverCpuUsPerStep", goal: { atMost: 35 } },
  { workload: "W2", metric: "walBytesPerStep", goal: { atMost: 1_000 } },
  { workload: "W1", metric: "msPerStep", goal: W1_GOAL },
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
  { workload: "W10n", metric: "stepsPerS", goal: W10N_GOAL },
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
  { workload: "search", metric: "p99Ms", part: "metrics", goal: { atMost: 50 } },
  { workload: "search", metric: "p99Ms", without: SLOW_SEARCHES, goal: { atMost: 20 } },
  { workload: "drive", metric: "p50Ms", goal: { atMost: 15 } },
  { workload: "drive", metric: "dueMs", goal: { atMost: 3_000 } },
  { workload: "middleware", metric: "callNs", goal: { atMost: 1_000 } },
];

/** Null if there is no goal. */
export function goalOf(figure: Omit<Figure, "subject" | "value">): Goal | null {
  const { workload, part, store, metric, n } = figure;
  const line = GOALS.find(
    (one) =>
      one.workload === workload &&
      one.metric === metric &&
      (one.n ?? n) === n &&
      (one.part ?? part) === part &&
      !(part !== undefined && one.without?.includes(part) === true),
  );
  if (line === undefined) return null;
  if (!("sqlite" in line.goal)) return line.goal;
  return store === null ? null : line.goal[store];
}

/** Null if the run lacks what the goal relates to. */
export function isReached(goal: Goal, figure: Figure, all: readonly Figure[]): boolean | null {
  const { of } = goal;
  const verdicts: boolean[] = [];
  if (goal.atMost !== undefined || goal.atLeast !== undefined) {
    verdicts.push(isWithin(goal, figure.value));
  }
  if (of !== undefined) {
    const others = all.filter((one) => isOf(of.subject, one.subject) && isSameFigure(one, figure));
    const values = others.map(({ value }) => value);
    const best = of.atLeast === undefined ? Math.min(...values) : Math.max(...values);
    if (values.length > 0) verdicts.push(isWithin(of, figure.value / best));
  }
  return verdicts.length === 0 ? null : verdicts.includes(true);
}

function isWithin({ atMost = Infinity, atLeast = -Infinity }: Bound, value: number): boolean {
  return value <= atMost && value >= atLeast;
}

function isOf(name: string, subject: Subject): boolean {
  return subject === name || peerOf(subject)?.name === name;
}

/** The same figure of another subject. */
export function isSameFigure(a: Figure, b: Figure): boolean {
  const isSamePart = a.workload === b.workload && a.part === b.part && a.store === b.store;
  return isSamePart && a.metric === b.metric && a.n === b.n;
}

function ofLimit(bound: Bound): Goal {
  return { of: { subject: "limit", ...bound } };
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
