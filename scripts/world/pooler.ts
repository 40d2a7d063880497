// A pooler.
//   Does: the store is behind PgBouncer in session and in transaction mode. Without PgBouncer on the machine, the pooling
//        proxy of the tests takes its place, in transaction mode.
//   Measures: from a start in one process to its result in another one, two activities later: the worker and the client have
//        separate providers, and a start is sent when the previous one has its result.
//   Fails: a result is wrong; the default options do not warn in transaction mode; any other case warns; a
//        median exceeds three poll intervals.

import { activity, orchestration, Perdure } from "../../src/index.ts";
import { PostgresProvider, type PostgresOptions } from "../../src/postgres/index.ts";
import { median } from "../../bench/statistics.ts";
import { fastDirectory } from "../../test/support/fast-directory.ts";
import { SETTINGS, startServer } from "../../test/support/postgres.ts";
import { startPoolingProxy } from "../../test/stores/postgres/poolers/pooling-proxy.ts";
import { timed } from "./orders.ts";
import { hasPgBouncer, startPgBouncer } from "./pgbouncer.ts";
import {
  limit,
  rule,
  scaled,
  seconds,
  type Finding,
  type Programme,
  type Setting,
} from "./programme.ts";

const STARTS = 20;
/** The default of `pollIntervalMs`. */
const POLL_MS = 1_000;
const PROXY_CONNECTIONS = 8;

const add = activity("add", async (n: number) => n + 1);
const twice = orchestration("twice", async (ctx, n: number) => ctx.run(add, await ctx.run(add, n)));

export const pooler: Programme = {
  name: "pooler",
  what: "the connections go through PgBouncer, or through a proxy in transaction mode",
  stores: ["postgres"],
  obstacle: () => null,
  run,
};

interface Case {
  readonly name: string;
  readonly url: string;
  readonly options: PostgresOptions;
  readonly mustWarn: boolean;
}
interface Measured {
  readonly name: string;
  readonly medianMs: number;
  readonly wrong: readonly string[];
  readonly warned: readonly string[];
}

async function run({ size }: Setting): Promise<Finding> {
  const starts = scaled(STARTS, size, 5);
  const server = await startServer(fastDirectory(), { ...SETTINGS, shared_buffers: "32MB" });
  const isReal = hasPgBouncer();
  const all: Measured[] = [];
  try {
    all.push(
      await measure({ name: "none", url: server.url, options: {}, mustWarn: false }, starts),
    );
    if (isReal) {
      await using session = await startPgBouncer("session", server.url);
      const options = {};
      all.push(
        await measure({ name: "session", url: session.url, options, mustWarn: false }, starts),
      );
    }
    await using transaction = isReal
      ? await startPgBouncer("transaction", server.url)
      : await proxied(server.url);
    for (const each of casesOf(transaction.url, server.url)) all.push(await measure(each, starts));
  } finally {
    await server.close();
  }
  const shown = all.map(({ name, medianMs }) => `${name} ${seconds(medianMs)}`);
  const through = isReal ? "PgBouncer" : "the proxy of the tests (PgBouncer is not installed)";
  return {
    figure: `through ${through}, median of ${starts} starts to their result: ${shown.join(", ")}`,
    numbers: {
      ...{ starts, isPgBouncer: isReal ? 1 : 0 },
      ...Object.fromEntries(all.map(({ name, medianMs }) => [`${name}Ms`, medianMs])),
    },
    rules: [
      rule(
        "every result is right",
        all.flatMap(({ wrong }) => wrong),
      ),
      rule(
        "the store warns when it is opened in transaction mode without an option, and in no other case",
        all.flatMap(({ warned }) => warned),
      ),
      ...all.map(({ name, medianMs }) => limit(name, medianMs, 3 * POLL_MS, "ms")),
    ],
  };
}

function casesOf(url: string, direct: string): readonly Case[] {
  return [
    { name: "transaction", url, options: {}, mustWarn: true },
    { name: "transaction with listen", url, options: { listen: direct }, mustWarn: false },
    {
      name: "transaction without notifications",
      url,
      options: { notifications: false },
      mustWarn: false,
    },
  ];
}

async function proxied(target: string): Promise<{ readonly url: string } & AsyncDisposable> {
  const { url, close } = await startPoolingProxy(target, PROXY_CONNECTIONS);
  return { url, [Symbol.asyncDispose]: async () => close() };
}

async function measure({ name, url, options, mustWarn }: Case, starts: number): Promise<Measured> {
  const warnings: string[] = [];
  const collect = (warning: Error): void => {
    if (warning.name === "PerdureWarning") warnings.push(warning.message);
  };
  process.on("warning", collect);
  const how = { schema: `s_${name.replaceAll(" ", "_")}`, poolSize: 4, ...options };
  const forWorker = await PostgresProvider.open(url, how);
  const forClient = await PostgresProvider.open(url, how);
  const worker = await Perdure.open(forWorker, { register: [twice, add] });
  const { client } = await Perdure.open(forClient, { autoStart: false });
  const times: number[] = [];
  const wrong: string[] = [];
  for (let n = 0; n < starts; n++) {
    const ms = await timed(async () => {
      const result = await (await client.start(twice, n)).result();
      if (result !== n + 2) wrong.push(`${name}: ${result} for ${n}`);
    });
    times.push(ms);
  }
  await worker.close();
  await Promise.all([forWorker.close(), forClient.close()]);
  process.off("warning", collect);
  const isRight = mustWarn === warnings.length > 0;
  const warned = isRight ? [] : [`${name}: ${warnings.length} warnings ${warnings.join(" ")}`];
  return { name, medianMs: median(times), wrong, warned };
}
