// The sets of threads that a runtime's activities run in, one for each threads(…) that they name.
//   PO1. What the modules lack is found out when the runtime starts, and refused all together: no task is ever leased
//        for an activity that could not be entered.

import { availableParallelism } from "node:os";
import { defaultCodec } from "../core/codec.ts";
import type { Activity } from "../core/definitions.ts";
import type { Environment } from "../core/environment.ts";
import { PerdureError } from "../core/errors.ts";
import type { Executor, Threads } from "../core/executor.ts";
import type { ResolvedOptions } from "./options.ts";
import type { ThreadMaking } from "./pool-thread.ts";
import { ThreadPool, type PoolJob, type Ticket } from "./thread-pool.ts";

export interface ThreadPoolsOptions {
  readonly activities: readonly Activity<never, unknown>[];
  readonly options: Pick<ResolvedOptions, "executor" | "codec">;
  readonly environment: Environment;
  readonly making: ThreadMaking;
}

/** Where an activity runs in a runtime with this choice. */
export function executorOf(activity: Activity<never, unknown>, choice: Executor): Executor {
  return activity.defaults.executor ?? choice;
}

export class ThreadPools {
  readonly #pools = new Map<Threads, ThreadPool>();

  constructor({ activities, options, environment, making }: ThreadPoolsOptions) {
    const ownCodec = options.codec !== defaultCodec;
    for (const [threads, names] of namesByThreads(activities, options.executor)) {
      const size = threads.size ?? availableParallelism();
      const pool = new ThreadPool({ threads, size, names, ownCodec, environment, making });
      this.#pools.set(threads, pool);
    }
  }

  /** Resolves when every module can be used; rejects with all that is wrong. */
  async start(): Promise<void> {
    const problems: string[] = [];
    let isMissing = false;
    const look = async ([threads, pool]: [Threads, ThreadPool]): Promise<void> => {
      try {
        const missing = await pool.start();
        if (missing.length === 0) return;
        isMissing = true;
        problems.push(`${threads.module} does not export ${missing.join(", ")}`);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        problems.push(`${threads.module}: ${why}`);
      }
    };
    await Promise.all([...this.#pools].map(look));
    if (problems.length === 0) return;
    await this.stop();
    const code = isMissing ? "NOT_REGISTERED" : "INVALID_ARGUMENT";
    throw new PerdureError(code, `Cannot run activities in threads: ${problems.join("; ")}.`);
  }

  send(threads: Threads, job: PoolJob): Ticket {
    const pool = this.#pools.get(threads);
    if (pool === undefined) throw new Error(`There are no threads of ${threads.module} here.`);
    return pool.send(job);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.stop()));
  }
}

function namesByThreads(
  activities: readonly Activity<never, unknown>[],
  choice: Executor,
): Map<Threads, string[]> {
  const names = new Map<Threads, string[]>();
  for (const activity of activities) {
    const executor = executorOf(activity, choice);
    if (typeof executor !== "object") continue;
    names.set(executor, [...(names.get(executor) ?? []), activity.name]);
  }
  return names;
}
