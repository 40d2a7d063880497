// The load of W16, for Perdure and for the peers: jobs that do nothing, enqueued, then run by one worker of this process.
//   - jobs.1: Every job has a number, and its handler must be entered exactly once; otherwise the repetition throws.
//   - The throughput and the latency are measured on two openings of one store, because the best settings of some peers
//       differ between the two. Perdure has default options in both.
//   - Enqueueing is measured while no worker runs. The jobs that it leaves are the backlog that the worker drains.

import { strict as assert } from "node:assert";
import { performance } from "node:perf_hooks";
import { setTimeout as pause } from "node:timers/promises";
import { forEachOf, timeMs, until } from "./measure.ts";
import { CALLERS, jobSizes, JOBS_WARM_UP, samples } from "./sizes.ts";
import { quantile } from "./statistics.ts";
import type { Reading, Setting } from "./subject.ts";

/** A queue of jobs that carry a number, opened without a worker. */
export interface JobQueue {
  /** Resolves when the job is durable. */
  enqueue(job: number): Promise<void>;
  /** Resolves when all jobs are durable. */
  enqueueMany(jobs: readonly number[]): Promise<void>;
  /** Starts a worker in this process. It calls the handler for each job. */
  startWorker(): Promise<void>;
  stopWorker(): Promise<void>;
  /** How many jobs the store has that are waiting or running; a job whose completion is not yet stored is running. */
  countOpen(): Promise<number>;
  close(): Promise<void>;
}

/** Which figures the queue is opened for. */
export type JobLoad = "many" | "one";
export type OpenJobs = (load: JobLoad, handler: (job: number) => void) => Promise<JobQueue>;

const DRAIN_MS_MAX = 300_000;
/** The pause between two samples varies up to this, so that no sample is synchronized with a worker's polling. */
const PAUSE_MS_MAX = 20;

export async function measureJobs(setting: Setting, open: OpenJobs): Promise<readonly Reading[]> {
  const jobs = new JobLedger();
  const opened = async <T>(load: JobLoad, work: (queue: JobQueue) => Promise<T>): Promise<T> => {
    const queue = await open(load, (job) => jobs.enter(job));
    try {
      return await work(queue);
    } finally {
      await queue.close();
    }
  };
  return [
    ...(await opened("many", (queue) => throughput(setting, queue, jobs))),
    ...(await opened("one", (queue) => startLatency(setting, queue, jobs))),
  ];
}

async function throughput(
  setting: Setting,
  queue: JobQueue,
  jobs: JobLedger,
): Promise<readonly Reading[]> {
  await enqueueEach(queue, jobs.issue(JOBS_WARM_UP));
  await queue.enqueueMany(jobs.issue(JOBS_WARM_UP));
  await drain(queue, jobs);
  await queue.stopWorker();

  const { single, bulk } = jobSizes(setting);
  const [singles, bulks] = [jobs.issue(single), jobs.issue(bulk)];
  const singleMs = await timeMs(() => enqueueEach(queue, singles));
  const bulkMs = await timeMs(() => queue.enqueueMany(bulks));
  const backlog = single + bulk;
  assert.equal(await queue.countOpen(), backlog, "every enqueued job is stored");
  const drainMs = await timeMs(() => drain(queue, jobs));
  await queue.stopWorker();
  jobs.assertOnce();
  return [
    { metric: "enqueuesPerS", value: (single / singleMs) * 1_000, n: single },
    { metric: "bulkPerS", value: (bulk / bulkMs) * 1_000, n: bulk },
    { metric: "jobsPerS", value: (backlog / drainMs) * 1_000, n: backlog },
  ];
}

async function enqueueEach(queue: JobQueue, numbers: readonly number[]): Promise<void> {
  await forEachOf(numbers.length, CALLERS, (i) => queue.enqueue(numbers[i] ?? -1));
}

/** Starts the worker, and waits until every job has been entered and its completion is stored. */
async function drain(queue: JobQueue, jobs: JobLedger): Promise<void> {
  await queue.startWorker();
  const timeoutMs = DRAIN_MS_MAX;
  await until("every job is entered", () => jobs.entered >= jobs.issued, { timeoutMs });
  await until("no job is open", async () => (await queue.countOpen()) === 0, { timeoutMs });
}

/** From the call that enqueues a job to its handler, one job at a time. */
async function startLatency(
  setting: Setting,
  queue: JobQueue,
  jobs: JobLedger,
): Promise<readonly Reading[]> {
  await queue.startWorker();
  const { n, warmUp } = samples(setting);
  const times: number[] = [];
  for (let i = 0; i < warmUp + n; i++) {
    await pause((i * 7) % PAUSE_MS_MAX);
    const [job = -1] = jobs.issue(1);
    const begun = performance.now();
    const [at] = await Promise.all([jobs.whenEntered(job), queue.enqueue(job)]);
    times.push(at - begun);
  }
  await until("no job is open", async () => (await queue.countOpen()) === 0);
  await queue.stopWorker();
  jobs.assertOnce();
  const counted = times.slice(warmUp);
  return [
    { metric: "startP50Ms", value: quantile(counted, 0.5), n },
    { metric: "startP99Ms", value: quantile(counted, 0.99), n },
  ];
}

/** The numbers of the jobs, and how often the handler of each was entered (jobs.1). */
class JobLedger {
  readonly #entries: number[] = [];
  #entered = 0;
  #awaited: { readonly job: number; readonly resolve: (at: number) => void } | null = null;

  get issued(): number {
    return this.#entries.length;
  }

  /** All entries, including repeated ones. */
  get entered(): number {
    return this.#entered;
  }

  issue(count: number): readonly number[] {
    const first = this.issued;
    for (let i = 0; i < count; i++) this.#entries.push(0);
    return Array.from({ length: count }, (_, i) => first + i);
  }

  enter(job: number): void {
    this.#entries[job] = (this.#entries[job] ?? Number.NaN) + 1;
    this.#entered++;
    if (this.#awaited?.job === job) this.#awaited.resolve(performance.now());
  }

  /** The time of its entry, by `performance.now`. One job at a time can be waited for. */
  whenEntered(job: number): Promise<number> {
    return new Promise((resolve) => (this.#awaited = { job, resolve }));
  }

  assertOnce(): void {
    const wrong = this.#entries.findIndex((times) => times !== 1);
    assert.equal(wrong, -1, `job ${wrong} was entered ${this.#entries[wrong]} times, not once`);
  }
}
