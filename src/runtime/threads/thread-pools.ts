// The thread pools of a runtime, one for each `threads(…)` that its activities name.
//   - All problems of the modules are found when the runtime starts, and reported in one error. So no
//     task is leased for an activity that cannot run.

import { availableParallelism } from "node:os";
import type { AttemptHandle } from "../../core/attempts/running-attempt.ts";
import { defaultCodec } from "../../core/values/codec.ts";
import type { Activity } from "../../core/define/definitions.ts";
import type { Environment } from "../../core/time/environment.ts";
import { PerdureError, errorMessage } from "../../core/errors/errors.ts";
import type { Executor, Threads } from "../../core/define/executor.ts";
import { warnOfMemoryLimit } from "../health/run-time-limits.ts";
import type { ResolvedOptions } from "../options.ts";
import type { ThreadJob, ThreadResources } from "./pool-thread.ts";
import { ThreadPool } from "./thread-pool.ts";

export interface ThreadPoolsOptions {
  readonly activities: readonly Activity<never, unknown>[];
  readonly options: Pick<ResolvedOptions, "executor" | "codec">;
  /** Whether the runtime has middleware. */
  readonly hasMiddleware: boolean;
  readonly environment: Environment;
  readonly resources: ThreadResources;
}

/** Where an activity runs, given the executor option of the runtime. */
export function executorOf(activity: Activity<never, unknown>, choice: Executor): Executor {
  return activity.defaults.executor ?? choice;
}

export class ThreadPools {
  readonly #pools = new Map<Threads, ThreadPool>();

  constructor(given: ThreadPoolsOptions) {
    const { activities, options, hasMiddleware, environment, resources } = given;
    const ownCodec = options.codec !== defaultCodec;
    const executors = Map.groupBy(activities, (each) => executorOf(each, options.executor));
    for (const [threads, group] of executors) {
      if (typeof threads !== "object") continue;
      if (threads.memoryMb !== null) warnOfMemoryLimit();
      const names = group.map(({ name }) => name);
      const size = threads.size ?? availableParallelism();
      const own = { ownCodec, hasMiddleware };
      const pool = new ThreadPool({ threads, size, names, ...own, environment, resources });
      this.#pools.set(threads, pool);
    }
  }

  /** Resolves when every module is usable. Rejects with a list of all problems. */
  async start(): Promise<void> {
    const problems: string[] = [];
    let isMissing = false;
    const startPool = async ([threads, pool]: [Threads, ThreadPool]): Promise<void> => {
      try {
        const missing = await pool.start();
        if (missing.length === 0) return;
        isMissing = true;
        problems.push(`${threads.module} does not export ${missing.join(", ")}`);
      } catch (error) {
        problems.push(`${threads.module}: ${errorMessage(error)}`);
      }
    };
    await Promise.all([...this.#pools].map(startPool));
    if (problems.length === 0) return;
    await this.stop();
    const code = isMissing ? "NOT_REGISTERED" : "INVALID_ARGUMENT";
    throw new PerdureError(code, `Cannot run activities in threads: ${problems.join("; ")}.`);
  }

  send(threads: Threads, job: ThreadJob): AttemptHandle {
    const pool = this.#pools.get(threads);
    if (pool === undefined)
      throw new Error(`Internal error: no thread pool for ${threads.module}.`);
    return pool.send(job);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.stop()));
  }
}
