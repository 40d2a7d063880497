// The queue of BullMQ, on either of its stores.
//   `concurrency: 200`: its documentation calls 100 to 300 a standard setting for jobs that wait ("Parallelism and
//   Concurrency"). From 50 to 500, and with several workers in the process, the processor time per job is the same.
//   `addBulk` gets 1,000 jobs per call; other sizes from 250 to 5,000 take the same processor time.
//   Completed jobs are kept for an hour; removing them at once is not faster, keeping all is slower.

import type { Queue, Worker } from "bullmq";
import type { JobQueue } from "../../jobs.ts";
import { inParts } from "../queue.ts";

export const NAME = "noop";
export const CONCURRENCY = 200;
const PARTS = { size: 1_000, inFlight: 2 };
const KEPT = { removeOnComplete: { age: 3_600 } };

export interface Payload {
  readonly job: number;
}

/** What of a queue does not depend on its store. */
type AnyQueue = Pick<Queue<Payload>, "add" | "addBulk" | "getJobCountByTypes" | "close">;
type AnyWorker = Pick<Worker<Payload>, "waitUntilReady" | "close">;

export function jobQueue(queue: AnyQueue, openWorker: () => AnyWorker): JobQueue {
  let worker: AnyWorker | null = null;
  return {
    async enqueue(job) {
      await queue.add(NAME, { job }, KEPT);
    },
    enqueueMany: (jobs) =>
      inParts(jobs, PARTS, (part) =>
        queue.addBulk(part.map((job) => ({ name: NAME, data: { job }, opts: KEPT }))),
      ),
    async startWorker() {
      worker = openWorker();
      await worker.waitUntilReady();
    },
    async stopWorker() {
      await worker?.close();
    },
    countOpen: () =>
      queue.getJobCountByTypes("waiting", "active", "delayed", "prioritized", "failed"),
    close: () => queue.close(),
  };
}
