// Jobs: simulates a range of seeds in several processes, and merges their reports.
//   - The parent hands out small ranges, so that all processes end at about the same time. A process keeps
//        running between its ranges, because its optimized code makes later seeds faster.
//   - A range has as many seeds as lie between two seeds that run twice. The same seeds run twice with any
//        number of jobs.
//   - A process that ends before it has reported its range fails the whole run.

import { fork } from "node:child_process";
import { once } from "node:events";
import type {
  RunResult,
  SimulateOptions,
  SimulationReport,
} from "../../src/testing/simulation/index.ts";
import type { ChoiceName } from "./choice.ts";
import { mergeReports } from "./merge.ts";

/** A range of seeds for one process. */
export interface SeedRange extends Pick<SimulateOptions, "seeds" | "firstSeed" | "minutes"> {
  readonly choice: ChoiceName;
  readonly repeatEvery: number;
}
/** The part of a result that the parent needs. */
export type Ran = Pick<RunResult, "seed" | "violations">;
export type FromJob =
  ({ readonly kind: "ran" } & Ran) | { readonly kind: "report"; readonly report: SimulationReport };

export interface JobsOptions {
  readonly choice: ChoiceName;
  readonly jobs: number;
  readonly seeds: number;
  readonly firstSeed: number;
  /** Starts no further seed after this many minutes. */
  readonly minutes?: number | undefined;
  /** Every n-th seed runs twice; also the number of seeds in a range. Default 100. */
  readonly repeatEvery?: number;
  readonly onRun: (result: Ran) => void;
}

export async function simulateInJobs(options: JobsOptions): Promise<SimulationReport> {
  const { repeatEvery = 100, minutes = Infinity } = options;
  const until = performance.now() + minutes * 60_000;
  const end = options.firstSeed + options.seeds;
  const reports: SimulationReport[] = [];
  let next = options.firstSeed;

  const nextRange = (): SeedRange | null => {
    const leftMs = until - performance.now();
    if (next >= end || leftMs <= 0) return null;
    const firstSeed = next;
    const seeds = Math.min(repeatEvery, end - firstSeed);
    next += seeds;
    const range = { choice: options.choice, firstSeed, seeds, repeatEvery };
    return leftMs === Infinity ? range : { ...range, minutes: leftMs / 60_000 };
  };

  const work = async (): Promise<void> => {
    let range = nextRange();
    if (range === null) return;
    const job = new Job(options.onRun);
    try {
      for (; range !== null; range = nextRange()) reports.push(await job.simulate(range));
    } finally {
      await job.end();
    }
  };

  const works = Array.from({ length: options.jobs }, work);
  await Promise.allSettled(works); // no process outlives the call
  await Promise.all(works);
  return mergeReports(reports);
}

/** One process. */
class Job {
  readonly #process = fork(new URL("./job.ts", import.meta.url), {
    serialization: "advanced", // reports contain maps
  });
  readonly #exit = once(this.#process, "exit");
  readonly #onRun: (result: Ran) => void;

  constructor(onRun: (result: Ran) => void) {
    this.#onRun = onRun;
  }

  simulate(range: SeedRange): Promise<SimulationReport> {
    const { promise, resolve, reject } = Promise.withResolvers<SimulationReport>();
    const hear = (message: unknown): void => {
      const heard = message as FromJob; // job.ts sends nothing else
      if (heard.kind === "ran") this.#onRun({ seed: heard.seed, violations: heard.violations });
      else resolve(heard.report);
    };
    const last = (range.firstSeed ?? 1) + range.seeds - 1;
    const gone = (code: number | null, signal: string | null): void =>
      reject(
        new Error(`The process of seeds ${range.firstSeed} to ${last} ended (${signal ?? code}).`),
      );
    this.#process.on("message", hear).once("exit", gone);
    this.#process.send(range);
    return promise.finally(() => this.#process.off("message", hear).off("exit", gone));
  }

  async end(): Promise<void> {
    if (this.#process.connected) this.#process.disconnect();
    await this.#exit;
  }
}
