// What a benchmark is made of: a subject runs a workload on a store and hands back readings.
//   B1. One repetition is one process on one empty store, with a warm-up of its own.
//   B2. A repetition that is wrong throws; what it measured is then not shown.

export const STORES = ["sqlite", "postgres"] as const;
export type Store = (typeof STORES)[number];

export type Metric =
  | "msPerStep"
  | "slopePercent"
  | "stepsPerS"
  | "cpuUsPerStep"
  | "ofW2Percent"
  | "totalMs"
  | "p50Ms"
  | "p99Ms"
  | "rssMb"
  | "rssTotalMb"
  | "heapMb"
  | "queriesPerS"
  | "startsPerS"
  | "dueMs"
  | "replayMs"
  | "replayBusyMs"
  | "r2"
  | "restartMs"
  | "takeOverMs"
  | "lost"
  | "rerun"
  | "rerunRecorded"
  | "loopP99Ms";

/** Where and how large. */
export interface Setting {
  readonly store: Store;
  /** An empty directory of this repetition's own. */
  readonly directory: string;
  readonly quick: boolean;
}

export interface Reading {
  readonly metric: Metric;
  readonly value: number;
  /** The workload's size: steps, instances, samples, sleepers or events. */
  readonly n: number;
}

/** A workload's module, in `workloads/` or `limit/`, exports one as `run`. */
export type Run = (setting: Setting) => Promise<readonly Reading[]>;

export type Subject = "perdure" | "limit";

/** One repetition, as the parent process asks for it. */
export interface Order {
  readonly workload: string;
  readonly subject: Subject;
  readonly setting: Setting;
}
export type Answer =
  | { readonly kind: "done"; readonly readings: readonly Reading[] }
  | { readonly kind: "failed"; readonly message: string };

/** One line of the report, as it is written to the JSON file. */
export interface Result extends Reading {
  readonly workload: string;
  readonly store: Store;
  readonly subject: Subject;
  /** The median of the repetitions… */
  readonly value: number;
  /** …and their extremes. */
  readonly spread: readonly [min: number, max: number];
  readonly repetitions: number;
}
