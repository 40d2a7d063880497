// A slow disk.
//   Does: a library that cc builds from slow-sync.c delays every fsync and fdatasync, in the PostgreSQL server or in the Node
//        process with the SQLite file. Nothing else changes: commits wait for the real sync, as on a slow disk.
//   Measures: the time of one start, one after the other; and how long many orders take that run concurrently.
//   Fails: an order did not end with its result; an activity ran twice (a slow disk is not a dead worker); concurrent orders
//        take longer than one sync per order, so they do not share syncs; a start took less than a sync, so the library had
//        no effect.

import { execFile, execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { median } from "../../bench/statistics.ts";
import { SQLITE } from "../../test/faults/kill/store-address.ts";
import { STORE_KINDS, type StoreKind } from "../../test/faults/kill/stores.ts";
import { fastDirectory } from "../../test/support/fast-directory.ts";
import { SETTINGS, startServer } from "../../test/support/postgres.ts";
import type { Measured } from "./slow-sync-client.ts";
import {
  limit,
  rule,
  scaled,
  seconds,
  type Finding,
  type Programme,
  type Setting,
} from "./programme.ts";
import { repeatedIn } from "./work.ts";

const SYNC_MS = 100;
const ORDERS = 100;
const CLIENT = fileURLToPath(new URL("./slow-sync-client.ts", import.meta.url));
const SOURCE = fileURLToPath(new URL("./slow-sync.c", import.meta.url));

export const slowSync: Programme = {
  name: "slow-sync",
  what: `every fsync and fdatasync takes ${SYNC_MS} ms longer`,
  stores: STORE_KINDS,
  obstacle,
  run,
};

function obstacle(): string | null {
  if (process.platform !== "linux") return "needs Linux";
  try {
    execFileSync("cc", ["--version"], { stdio: "ignore" });
    return null;
  } catch {
    return "needs a C compiler (cc), which builds the library that delays fsync";
  }
}

async function run({ store, size, folder }: Setting): Promise<Finding> {
  const library = join(folder, "slow-sync.so");
  execFileSync("cc", ["-shared", "-fPIC", "-O2", "-o", library, SOURCE, "-ldl"]);
  execFileSync("chmod", ["a+rx", folder, library]); // PostgreSQL runs as another user
  const slow = { LD_PRELOAD: library, PERDURE_SYNC_MS: String(SYNC_MS) };
  const count = scaled(ORDERS, size, 20);
  const usual = await measure(store, { count, folder, name: "usual", env: {} });
  const slowed = await measure(store, { count, folder, name: "slowed", env: slow });
  const [startMs, usualMs] = [median(slowed.startsMs), median(usual.startsMs)];
  const repeated = repeatedIn(join(folder, "slowed.log"));
  const least = Math.min(...slowed.startsMs);
  return {
    figure: `a start takes ${seconds(startMs)} (${seconds(usualMs)} without the delay); ${count} concurrent orders of three activities take ${seconds(slowed.ordersMs)} (${seconds(usual.ordersMs)}); ${repeated.length} ran twice`,
    numbers: {
      ...{ syncMs: SYNC_MS, orders: count, startMs, usualStartMs: usualMs },
      ...{ ordersMs: slowed.ordersMs, usualOrdersMs: usual.ordersMs, repeated: repeated.length },
    },
    rules: [
      rule(
        `every start waits for a sync of ${SYNC_MS} ms, or the run shows nothing`,
        least >= SYNC_MS ? [] : [seconds(least)],
      ),
      rule("every order ended with its result", [...usual.wrong, ...slowed.wrong]),
      rule("no activity ran twice", repeated),
      limit("time for all orders: one sync per order", slowed.ordersMs, count * SYNC_MS, "ms"),
    ],
  };
}

interface Part {
  readonly count: number;
  readonly folder: string;
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
}

/** The client runs in a process of its own, which has the library on SQLite. On PostgreSQL the server has it. */
async function measure(store: StoreKind, { count, folder, name, env }: Part): Promise<Measured> {
  const call = async (
    address: string,
    own: Readonly<Record<string, string>>,
  ): Promise<Measured> => {
    const args = [CLIENT, address, join(folder, `${name}.log`), String(count)];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      env: { ...process.env, ...own },
    });
    return JSON.parse(stdout) as Measured; // written by the client
  };
  if (store === "sqlite") return call(`${SQLITE}${join(folder, `${name}.db`)}`, env);
  const server = await startServer(fastDirectory(), { ...SETTINGS, shared_buffers: "32MB" }, env);
  try {
    return await call(`${server.url}#world`, {});
  } finally {
    await server.crash(); // a clean end would sync every file
    await server.close();
  }
}
