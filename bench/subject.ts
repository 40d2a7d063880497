// The parts of a benchmark: a subject runs a workload on a store and returns readings.
//   - One repetition is one process on one empty store, with its own warm-up.
//   - subject.1: A wrong repetition throws; its measurements are not shown.

export const STORES = ["sqlite", "postgres"] as const;
export type Store = (typeof STORES)[number];

export type Metric =
  | "msPerStep"
  | "slopePercent"
  | "stepsPerS"
  | "flowsPerS"
  | "passagesPerS"
  | "itemsPerS"
  | "readsPerS"
  | "resumeMs"
  | "cpuUsPerStep"
  | "cpuUsPerItem"
  | "serverCpuUsPerStep"
  | "walBytesPerStep"
  | "roundTripsPerStep"
  | "rowsPerStep"
  | "ofW2Percent"
  | "totalMs"
  | "p50Ms"
  | "p99Ms"
  | "pickupP50Ms"
  | "resumeP50Ms"
  | "rssMb"
  | "rssTotalMb"
  | "heapMb"
  | "queriesPerS"
  | "startsPerS"
  | "dueMs"
  | "replayMs"
  | "replayBusyMs"
  | "hotAsksPerS"
  | "asksPerS"
  | "enqueuesPerS"
  | "bulkPerS"
  | "jobsPerS"
  | "startP50Ms"
  | "startP99Ms"
  | "firstMs"
  | "offPoints"
  | "windowMost"
  | "usedPercent"
  | "describeCpuMs"
  | "pageCpuMs"
  | "r2"
  | "restartMs"
  | "takeOverMs"
  | "lost"
  | "rerun"
  | "rerunRecorded"
  | "leastSharePercent"
  | "loopP99Ms";

/** A store on PostgreSQL. */
export interface Database {
  /** The URL of a database that was empty when the repetition began. */
  readonly url: string;
  readonly schema: string;
}

/** The store, the directory and the size of a repetition. */
export interface Setting {
  readonly store: Store;
  /** Null on SQLite. */
  readonly database: Database | null;
  /** An empty directory for this repetition. */
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

/** "perdure", "limit" or a peer's name. */
export type Subject = string;

/** One repetition, as ordered by the parent process. */
export interface Order {
  readonly workload: string;
  readonly subject: Subject;
  readonly setting: Setting;
}
export type Answer =
  | { readonly kind: "done"; readonly readings: readonly Reading[] }
  | { readonly kind: "failed"; readonly message: string };

/** One line of the report, as written to the JSON file. */
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
