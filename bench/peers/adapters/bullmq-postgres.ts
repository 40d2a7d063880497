// BullMQ on PostgreSQL.
//   A pool of 20 instead of 10 for the callers of `add` and for the worker; 10 and 40 take the same processor time.
//   bullmq-queue.ts has the other settings.

import { createPostgresBackend, Queue, runMigrations, Worker } from "bullmq";
import pg from "pg";
import type { QueueAdapter } from "../queue.ts";
import { CONCURRENCY, jobQueue, NAME, type Payload } from "./bullmq-queue.ts";

export const adapter: QueueAdapter = {
  async open({ database }, handler) {
    const connectionString = database?.url ?? "";
    await migrate(connectionString);
    const connection = { connectionString, max: 20 };
    const queue = new Queue(NAME, { connection }, createPostgresBackend);
    await queue.waitUntilReady();
    return jobQueue(queue, () => {
      const process = ({ data }: { readonly data: Payload }): Promise<void> =>
        Promise.resolve(handler(data.job));
      const options = { connection, concurrency: CONCURRENCY };
      return new Worker(NAME, process, options, createPostgresBackend);
    });
  },
};

async function migrate(connectionString: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await runMigrations(client);
  } finally {
    await client.end();
  }
}
