// pg-boss on PostgreSQL.
//   Its defaults, one job every two seconds, are not meant for throughput. Its documentation ("Workers") names the
//   options: `batchSize` fetches and completes jobs together, `burstWhenBatchFull` fetches again without a pause while
//   there are more, `localConcurrency` adds workers. Batches of 2,000 in two workers were best. A batch is all or nothing:
//   if its handler throws, all jobs of the batch are retried. `perJobResults` settles each job, and takes four times the
//   processor time of the server, so it is off.
//   For the latency, LISTEN/NOTIFY wakes the worker (`useListenNotify`, `notify`). It is off for the throughput, because
//   PostgreSQL commits transactions with notifications one after another.
//   A pool of 20 instead of 10 for the callers of `send`; `insert` gets 5,000 jobs per call. Schedules are off.
//   Completed jobs are kept for an hour.

import { PgBoss } from "pg-boss";
import { inParts, type QueueAdapter } from "../queue.ts";

const PARTS = { size: 5_000, inFlight: 2 };
const KEPT_S = 3_600;

interface Payload {
  readonly job: number;
}

export const adapter: QueueAdapter = {
  async open({ database, load }, handler) {
    const notify = load === "one";
    const boss = new PgBoss({
      connectionString: database?.url ?? "",
      max: 20,
      useListenNotify: notify,
      schedule: false,
    });
    const errors: Error[] = [];
    boss.on("error", (error) => errors.push(error));
    await boss.start();
    const name = `noop-${load}`;
    await boss.createQueue(name, { notify, deleteAfterSeconds: KEPT_S });
    return {
      async enqueue(job) {
        await boss.send(name, { job } satisfies Payload);
      },
      enqueueMany: (jobs) =>
        inParts(jobs, PARTS, (part) =>
          boss.insert(
            name,
            part.map((job) => ({ data: { job } satisfies Payload })),
          ),
        ),
      async startWorker() {
        const options = { batchSize: 2_000, localConcurrency: 2, burstWhenBatchFull: true };
        await boss.work<Payload>(name, { ...options, pollingIntervalSeconds: 0.5 }, (jobs) => {
          for (const { data } of jobs) handler(data.job);
          return Promise.resolve();
        });
      },
      async stopWorker() {
        await boss.offWork(name);
      },
      async countOpen() {
        if (errors[0] !== undefined) throw errors[0];
        const { rows } = await boss
          .getDb()
          .executeSql(
            "SELECT count(*)::int AS n FROM pgboss.job WHERE name = $1 AND state <> 'completed'",
            [name],
          );
        return Number(rows[0]?.n);
      },
      async close() {
        await boss.stop();
      },
    };
  },
};
