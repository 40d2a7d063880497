// What the soak records: one sample per process and one of the store, per interval.

/** Of one process, after a garbage collection. */
export interface ProcessSample {
  readonly heapBytes: number;
  readonly residentBytes: number;
  /** Timers, sockets and other resources that keep the event loop alive. */
  readonly resources: number;
  /** Open file descriptors; null where the system does not list them. */
  readonly descriptors: number | null;
}

export interface StoreSample {
  readonly tableBytes: number;
  /** Null on SQLite: indexes and tables share the file. */
  readonly indexBytes: number | null;
  /** SQLite: the write-ahead log. */
  readonly logBytes: number | null;
  /** PostgreSQL: sessions on the database, including the one that counts. */
  readonly connections: number | null;
}

export const PROCESS_METRICS = [
  "heapBytes",
  "residentBytes",
  "resources",
  "descriptors",
] as const satisfies readonly (keyof ProcessSample)[];

export const STORE_METRICS = [
  "tableBytes",
  "indexBytes",
  "logBytes",
  "connections",
] as const satisfies readonly (keyof StoreSample)[];

/** What a process of the soak reports to the command. */
export interface ProcessReport {
  readonly sample: ProcessSample;
  /** In this process, since its start. */
  readonly finished: number;
  /** Wrong results since the last report. */
  readonly wrong: readonly string[];
  /** The delay of the event loop since the last report. */
  readonly loopP99Ms: number;
}
