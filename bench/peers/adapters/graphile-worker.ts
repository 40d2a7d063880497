// Graphile Worker on PostgreSQL.
//   `concurrentJobs: 24`, `completeJobBatchDelay: 0` and `failJobBatchDelay: 0` are the settings of the published
//   figures in its documentation ("Performance"), which recommends batching for busy queues: jobs are fetched into a
//   local queue, and completed together. `localQueue.size` is 500 there; 5,000 takes half of the server's processor time.
//   A pool of 20: callers of `addJob` share it. The size hardly matters, because `add_job` sends a notification, and
//   PostgreSQL commits transactions with notifications one after another. `addJobs` gets 5,000 jobs per call.
//   Completed jobs are deleted; there is no option to keep them.

import { Logger, makeWorkerUtils, run, type Runner } from "graphile-worker";
import { inParts, type QueueAdapter } from "../queue.ts";

const NAME = "noop";
const PARTS = { size: 5_000, inFlight: 2 };

interface Payload {
  readonly job: number;
}

export const adapter: QueueAdapter = {
  async open({ database }, handler) {
    const preset: GraphileConfig.Preset = {
      worker: {
        connectionString: database?.url ?? "",
        maxPoolSize: 20,
        concurrentJobs: 24,
        localQueue: { size: 5_000 },
        completeJobBatchDelay: 0,
        failJobBatchDelay: 0,
        logger: new Logger(() => () => {}),
      },
    };
    const utils = await makeWorkerUtils({ preset });
    await utils.migrate();
    const taskList = { [NAME]: (payload: unknown) => handler((payload as Payload).job) }; // as enqueued below
    let runner: Runner | null = null;
    return {
      async enqueue(job) {
        await utils.addJob(NAME, { job } satisfies Payload);
      },
      enqueueMany: (jobs) =>
        inParts(jobs, PARTS, (part) =>
          utils.addJobs(part.map((job) => ({ identifier: NAME, payload: { job } }))),
        ),
      async startWorker() {
        runner = await run({ preset, taskList, noHandleSignals: true });
      },
      async stopWorker() {
        await runner?.stop();
      },
      async countOpen() {
        const { rows } = await utils.withPgClient((client) =>
          client.query<{ n: number }>("SELECT count(*)::int AS n FROM graphile_worker.jobs"),
        );
        return rows[0]?.n ?? Number.NaN;
      },
      async close() {
        await utils.release();
      },
    };
  },
};
