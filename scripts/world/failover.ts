// A failover that forgets.
//   Does: a streaming replica of PostgreSQL loses its primary after it had stopped receiving commits. The primary crashes and
//        the replica is promoted. The workers know both hosts and keep running.
//   Measures: acknowledged starts and results that were lost with the tail; the time from the promotion until every order
//        that the replica knows has ended.
//   Fails: an order is stuck or has a wrong result; an order that the replica had received is missing; a lost order cannot
//        be started again under its id; the failover lost nothing, so the run shows nothing.

import { join } from "node:path";
import { Client, Perdure } from "../../src/index.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { until } from "../../test/faults/kill/fleet.ts";
import { fastDirectory } from "../../test/support/fast-directory.ts";
import { SETTINGS, startServer, type OwnServer } from "../../test/support/postgres.ts";
import { startOrders, STUCK_MS, wrongOrders } from "./orders.ts";
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

const FAILOVERS = 2;
const ORDERS = 40;
const ORDER = { rounds: 3, ms: 300 };
const SCHEMA = "world";

export const failover: Programme = {
  name: "failover",
  what: "a PostgreSQL replica without the last commits becomes the primary",
  stores: ["postgres"],
  obstacle: () => null,
  run,
};

interface Lost {
  readonly starts: number;
  readonly results: number;
  readonly recoveredMs: number;
  readonly missing: readonly string[];
  readonly wrong: readonly string[];
  readonly refused: readonly string[];
}

async function run({ size, folder }: Setting): Promise<Finding> {
  const all: Lost[] = [];
  for (let number = 0; number < scaled(FAILOVERS, size); number++) {
    all.push(await failOver(join(folder, `runs-${number}.log`)));
  }
  const sum = (count: (one: Lost) => number): number => all.reduce((n, one) => n + count(one), 0);
  const [starts, results] = [sum((one) => one.starts), sum((one) => one.results)];
  const slowest = Math.max(...all.map(({ recoveredMs }) => recoveredMs));
  const stuck = all.flatMap(({ wrong }) => wrong);
  return {
    figure: `${all.length} failovers lost ${starts} acknowledged starts and ${results} results; ${stuck.length} orders stuck or wrong; all others ended again within ${seconds(slowest)}`,
    numbers: {
      failovers: all.length,
      lostStarts: starts,
      lostResults: results,
      recoveredMs: slowest,
    },
    rules: [
      floor("acknowledged starts that were lost", starts, all.length),
      floor("acknowledged results that were lost", results, all.length),
      rule(
        "every order that the replica had received is there",
        all.flatMap(({ missing }) => missing),
      ),
      rule("every such order ended with its result", stuck),
      rule(
        "a lost order can be started again under its id",
        all.flatMap(({ refused }) => refused),
      ),
    ],
  };
}

async function failOver(log: string): Promise<Lost> {
  const settings = { ...SETTINGS, shared_buffers: "32MB" };
  const primary = await startServer(fastDirectory(), settings);
  await PostgresProvider.migrate(primary.url, { schema: SCHEMA });
  const replica = await primary.addStandby();
  const hosts = [primary, replica].map(({ url }) => new URL(url).host).join(",");
  const address = `postgres://postgres@${hosts}/postgres?target_session_attrs=read-write`;
  const open = () => PostgresProvider.open(address, { schema: SCHEMA, poolSize: 4 });
  const providers = await Promise.all([open(), open(), open()]);
  const [forClient, ...forWorkers] = providers;
  const { register } = defineWork(log);
  const runtime = { log: () => undefined };
  const workers = await Promise.all(
    forWorkers.map((each) => Perdure.open(each, { register, runtime })),
  );
  try {
    const client = new Client(forClient);
    const known = await startOrders(client, { count: ORDERS, order: ORDER, prefix: "known" });
    await stopReceiving(primary, replica);
    const lost = await startOrders(client, { count: ORDERS, order: ORDER, prefix: "lost" });
    const before = await wrongOrders([...known, ...lost], ORDER);
    const has = await replica.query(
      `SELECT id, status = 'completed' AS ended FROM ${SCHEMA}.instances`,
    );
    const ended = has.filter((row) => row["ended"] === true).length;
    const starts = known.length + lost.length - has.length;
    await primary.crash();
    await replica.query("SELECT pg_promote()");
    const promoted = performance.now();
    await until("the store answers", () => client.count().catch(() => false), STUCK_MS);
    const after = await wrongOrders(known, ORDER);
    const recoveredMs = performance.now() - promoted;
    const exist = await Promise.all(known.map((handle) => handle.exists()));
    const missing = known.filter((_, n) => exist[n] !== true).map(({ id }) => id);
    const again = await startOrders(client, { count: ORDERS, order: ORDER, prefix: "lost" });
    const refused = await wrongOrders(again, ORDER);
    const wrong = [...before, ...after];
    const results = known.length + lost.length - ended;
    return { starts, results, recoveredMs, missing, wrong, refused };
  } finally {
    await Promise.allSettled(workers.map((worker) => worker.close({ graceMs: 0 })));
    await Promise.allSettled(providers.map((provider) => provider.close()));
    await replica.close();
    await primary.close();
  }
}

/** Cuts the replica off, after it has received everything written so far. */
async function stopReceiving(primary: OwnServer, replica: OwnServer): Promise<void> {
  const [row] = await primary.query("SELECT pg_current_wal_lsn()::text AS written");
  const received = "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS has";
  const hasAll = async () =>
    (await replica.query(received, [row?.["written"]]))[0]?.["has"] === true;
  await until("the replica has every start", hasAll, STUCK_MS);
  await replica.query("ALTER SYSTEM SET primary_conninfo = ''");
  await replica.query("SELECT pg_reload_conf()");
  const receivers = "SELECT 1 FROM pg_stat_wal_receiver";
  const isAlone = async () => (await replica.query(receivers)).length === 0;
  await until("the replica receives nothing more", isAlone, STUCK_MS);
}
