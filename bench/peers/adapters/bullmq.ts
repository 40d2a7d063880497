// BullMQ on Redis, which is started for each repetition. Its data is not in PostgreSQL; it is listed with the PostgreSQL
// subjects because it, too, is a server on the same machine.
//   Equally durable: `appendonly yes`, `appendfsync always`. Redis syncs its log before it replies, once for all commands
//   of an iteration of its event loop. BullMQ's documentation ("Going to production") recommends a sync per second,
//   which can lose a second of jobs.
//   Snapshots and rewrites of the log are off, so that none happens in a repetition, as with PostgreSQL's checkpoints.
//   One connection of ioredis for the queue and two for the worker, as BullMQ opens them. `enableAutoPipelining` of
//   ioredis changes nothing here and is off, which is its default. bullmq-queue.ts has the other settings.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import { until } from "../../measure.ts";
import type { QueueAdapter } from "../queue.ts";
import { freePort, startProcess } from "../server-process.ts";
import { CONCURRENCY, jobQueue, NAME, type Payload } from "./bullmq-queue.ts";

const HOST = "127.0.0.1";
const DURABLE = ["--appendonly", "yes", "--appendfsync", "always"];
const UNDISTURBED = ["--save", "", "--auto-aof-rewrite-percentage", "0"];

export const adapter: QueueAdapter = {
  async serve({ directory }) {
    const port = await freePort();
    const folder = join(directory, "redis");
    mkdirSync(folder);
    const address = ["--bind", HOST, "--port", String(port), "--dir", folder];
    const close = startProcess("redis-server", [...address, ...DURABLE, ...UNDISTURBED]);
    await until("Redis answers", () => answers(port), { everyMs: 20 });
    return { server: port, close };
  },

  async open({ server }, handler) {
    const connection = { host: HOST, port: Number(server) }; // from `serve`
    const queue = new Queue<Payload>(NAME, { connection });
    await queue.waitUntilReady();
    return jobQueue(queue, () => {
      const process = ({ data }: { readonly data: Payload }): Promise<void> =>
        Promise.resolve(handler(data.job));
      return new Worker<Payload>(NAME, process, { connection, concurrency: CONCURRENCY });
    });
  },
};

async function answers(port: number): Promise<boolean> {
  const redis = new Redis(port, HOST, { lazyConnect: true, retryStrategy: () => null });
  redis.on("error", () => {}); // not listening yet; `connect` rejects, too
  try {
    await redis.connect();
    return (await redis.ping()) === "PONG";
  } catch {
    return false;
  } finally {
    redis.disconnect();
  }
}
