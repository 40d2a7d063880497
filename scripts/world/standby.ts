// A hot standby.
//   Does: a client reads from a streaming standby while orders run on the primary, and then tries to write there.
//   Measures: the time from an acknowledged start on the primary until the standby shows it; the reads that work; the writes
//        that are refused, and how fast.
//   Fails: a read fails; a write succeeds, or fails with another code than STORE_READ_ONLY; the same for opening the standby
//        for writing and for a worker on it; an order on the primary did not end with its result.

import { join } from "node:path";
import { median } from "../../bench/statistics.ts";
import { Client, isPerdureError, Perdure } from "../../src/index.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { until } from "../../test/faults/kill/fleet.ts";
import { fastDirectory } from "../../test/support/fast-directory.ts";
import { SETTINGS, startServer } from "../../test/support/postgres.ts";
import { startOrders, STUCK_MS, timed, wrongOrders } from "./orders.ts";
import {
  floor,
  rule,
  scaled,
  seconds,
  type Finding,
  type Programme,
  type Setting,
} from "./programme.ts";
import { defineWork } from "./work.ts";

const ORDERS = 100;
const ORDER = { rounds: 3, ms: 20 };
const LAGS = 20;
const SCHEMA = "world";
/** A call without an answer in this time has failed. */
const ANSWER_MS = 30_000;

export const standby: Programme = {
  name: "standby",
  what: "a client reads from a hot standby of PostgreSQL, and tries to write to it",
  stores: ["postgres"],
  obstacle: () => null,
  run,
};

type Calls = Readonly<Record<string, () => Promise<unknown>>>;

async function run({ size, folder }: Setting): Promise<Finding> {
  const settings = { ...SETTINGS, shared_buffers: "32MB" };
  const primary = await startServer(fastDirectory(), settings);
  await PostgresProvider.migrate(primary.url, { schema: SCHEMA });
  const follower = await primary.addStandby();
  const forWorker = await PostgresProvider.open(primary.url, { schema: SCHEMA, poolSize: 4 });
  const forReader = await PostgresProvider.open(follower.url, { schema: SCHEMA, readOnly: true });
  const { register } = defineWork(join(folder, "runs.log"));
  const worker = await Perdure.open(forWorker, { register, runtime: { log: () => undefined } });
  try {
    const reader = new Client(forReader);
    const count = scaled(ORDERS, size, 10);
    const orders = await startOrders(worker.client, { count, order: ORDER });
    const lags = await measureLags(worker.client, reader, scaled(LAGS, size, 5));
    const reads = await errorsOf(readsOf(reader));
    const open = (): Promise<unknown> => PostgresProvider.open(follower.url, { schema: SCHEMA });
    const work = (): Promise<unknown> => Perdure.open(forReader, { register });
    const writes = await errorsOf({
      ...writesOf(reader),
      "open for writing": open,
      "a worker": work,
    });
    const wrong = await wrongOrders(orders, ORDER);
    const readable = reads.filter(({ error }) => error === null).length;
    const refused = writes.filter(({ error }) => isPerdureError(error, "STORE_READ_ONLY"));
    const slowest = Math.max(...writes.map(({ ms }) => ms));
    return {
      figure: `${readable} of ${reads.length} reads work, a start is visible after ${seconds(median(lags))} (median); ${refused.length} of ${writes.length} writes are refused with STORE_READ_ONLY within ${seconds(slowest)}`,
      numbers: {
        reads: readable,
        lagMs: median(lags),
        refused: refused.length,
        refusedMs: slowest,
      },
      rules: [
        floor("reads of the standby", reads.length, 1),
        rule("every read works", reads.filter(({ error }) => error !== null).map(describe)),
        rule(
          "every write is refused with STORE_READ_ONLY",
          writes.filter((each) => !refused.includes(each)).map(describe),
        ),
        rule("every order on the primary ended with its result", wrong),
      ],
    };
  } finally {
    await worker.close({ graceMs: 0 });
    await Promise.allSettled([forWorker.close(), forReader.close()]);
    await follower.close();
    await primary.close();
  }
}

/** From an acknowledged start on the primary until the standby shows it. */
async function measureLags(
  writer: Client,
  reader: Client,
  count: number,
): Promise<readonly number[]> {
  const lags: number[] = [];
  for (let n = 0; n < count; n++) {
    const { id } = await writer.start("order", ORDER, { id: `lag-${n}` });
    const isVisible = (): Promise<boolean> => reader.get(id).exists();
    lags.push(await timed(() => until(`the standby shows ${id}`, isVisible, STUCK_MS)));
  }
  return lags;
}

function readsOf(client: Client): Calls {
  const handle = client.get("lag-0");
  return {
    result: () => handle.result({ timeout: ANSWER_MS }),
    describe: () => handle.describe(),
    history: () => handle.history(),
    tree: () => handle.tree(),
    stats: () => handle.stats(),
    unread: () => handle.unread(),
    list: () => client.list(),
    count: () => client.count({ status: ["running"] }),
    metrics: () => client.metrics(),
    queues: () => client.queues(),
    runtimes: () => client.runtimes(),
  };
}

function writesOf(client: Client): Calls {
  const handle = client.get("lag-0");
  return {
    start: () => client.start("order", ORDER, { id: "refused" }),
    raise: () => handle.raise("go", 1),
    cancel: () => handle.cancel(),
    terminate: () => handle.terminate(),
    pause: () => handle.pause(),
    resume: () => handle.resume(),
    unblock: () => handle.unblock(),
    delete: () => client.delete("lag-0", { force: true }),
  };
}

interface Called {
  readonly name: string;
  readonly error: unknown;
  readonly ms: number;
}

async function errorsOf(calls: Calls): Promise<readonly Called[]> {
  const called: Called[] = [];
  for (const [name, call] of Object.entries(calls)) {
    let error: unknown = null;
    const late = new Error(`no answer in ${seconds(ANSWER_MS)}`);
    const deadline = new Promise((_, reject) => setTimeout(reject, ANSWER_MS, late).unref());
    const ms = await timed(() =>
      Promise.race([call(), deadline]).catch((why: unknown) => (error = why)),
    );
    called.push({ name, error, ms });
  }
  return called;
}

function describe({ name, error }: Called): string {
  if (error === null) return `${name} succeeded`;
  const code = isPerdureError(error) ? error.code : "";
  return `${name}: ${code} ${error instanceof Error ? error.message : String(error)}`;
}
