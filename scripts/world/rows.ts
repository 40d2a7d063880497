// A million instances.
//   Does: the store has a million instances, of which 99 in 100 have ended.
//   Measures: the time of a start, a raise, a result, a list of the newest, and a count of the running ones, in an empty store
//        and in the full one.
//   Fails: a median is more than three times that of the empty store and more than 25 ms above it; a result is wrong.

import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillPostgres, fillSqlite } from "../../bench/scale/filled.ts";
import { median } from "../../bench/statistics.ts";
import { event, orchestration, Perdure, type Provider } from "../../src/index.ts";
import { PostgresProvider } from "../../src/postgres/index.ts";
import { SqliteProvider } from "../../src/sqlite/index.ts";
import { STORE_KINDS } from "../../test/faults/kill/stores.ts";
import { SETTINGS, startServer } from "../../test/support/postgres.ts";
import { timed } from "./orders.ts";
import {
  limit,
  round,
  rule,
  scaled,
  type Finding,
  type Programme,
  type Setting,
} from "./programme.ts";

const ROWS = 1_000_000;
const REPEATS = 30;
const TIMES_MAX = 3;
const MORE_MS_MAX = 25;

export const rows: Programme = {
  name: "rows",
  what: "a million instances are in the store",
  stores: STORE_KINDS,
  obstacle: () => null,
  run,
};

async function run(setting: Setting): Promise<Finding> {
  const count = scaled(ROWS, setting.size, 1_000);
  const empty = await withStore(setting, 0);
  const full = await withStore(setting, count);
  const names = Object.keys(empty.mediansMs);
  const pairs = names.map((name) => {
    const [before = 0, after = 0] = [empty.mediansMs[name], full.mediansMs[name]];
    return { name, before, after };
  });
  const shown = pairs.map(
    ({ name, before, after }) => `${name} ${round(after)} ms (${round(before)})`,
  );
  return {
    figure: `medians with ${count.toLocaleString("en")} instances (in an empty store): ${shown.join(", ")}`,
    numbers: Object.fromEntries([
      ["rows", count],
      ...pairs.flatMap(({ name, before, after }) => [
        [`${name}Ms`, after],
        [`${name}EmptyMs`, before],
      ]),
    ]),
    rules: [
      rule("every result is right", [...empty.wrong, ...full.wrong]),
      ...pairs.map(({ name, before, after }) =>
        limit(name, after, Math.max(TIMES_MAX * before, before + MORE_MS_MAX), "ms"),
      ),
    ],
  };
}

interface Measured {
  readonly mediansMs: Readonly<Record<string, number>>;
  readonly wrong: readonly string[];
}

async function withStore({ store, folder }: Setting, count: number): Promise<Measured> {
  if (store === "sqlite") {
    const path = join(folder, `rows-${count}.db`);
    if (count > 0) await fillSqlite(path, count);
    return measure(await SqliteProvider.open(path));
  }
  const settings = { ...SETTINGS, shared_buffers: "256MB", max_wal_size: "4GB" };
  const server = await startServer(tmpdir(), settings);
  try {
    if (count > 0) await fillPostgres(server, count);
    return await measure(await PostgresProvider.open(server.url, { schema: "perdure" }));
  } finally {
    await server.close();
  }
}

const go = event<number>("go");
const waiting = orchestration("waiting", async (ctx) => ctx.waitFor(go));

async function measure(provider: Provider): Promise<Measured> {
  const runtime = { log: () => undefined };
  const perdure = await Perdure.open(provider, { register: [waiting], runtime });
  const { client } = perdure;
  const times: Record<string, number[]> = { start: [], raise: [], result: [], list: [], count: [] };
  const wrong: string[] = [];
  for (let n = 0; n < REPEATS; n++) {
    const id = `new-${n}`;
    const handle = client.get(waiting, id);
    times["start"]?.push(await timed(() => client.start(waiting, undefined, { id })));
    times["raise"]?.push(await timed(() => handle.raise(go, n)));
    times["result"]?.push(
      await timed(async () => {
        const result = await handle.result();
        if (result !== n) wrong.push(`${id} returned ${result}`);
      }),
    );
    times["list"]?.push(
      await timed(async () => {
        const [newest] = (await client.list({}, { limit: 50 })).items;
        if (newest?.id !== id) wrong.push(`the newest is ${newest?.id}, not ${id}`);
      }),
    );
    times["count"]?.push(await timed(() => client.count({ status: ["running"] })));
  }
  await perdure.close();
  await provider.close();
  const medians = Object.entries(times).map(([name, all]) => [name, median(all)]);
  return { mediansMs: Object.fromEntries(medians) as Record<string, number>, wrong };
}
