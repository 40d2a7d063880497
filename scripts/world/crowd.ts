// A crash-looping crowd.
//   Does: one instance among many ends its process each time it runs, in its turn, in a step or in an activity. Two workers
//        run, and a supervisor replaces each one that ended.
//   Measures: the processes that ended before the poison was isolated; how long the innocent orders took, with the poison
//        and without it.
//   Fails: an innocent order did not end with its result; the poison was not isolated (blocked, or failed as poison); a
//        process ended after that.

import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { Client, Handle } from "../../src/index.ts";
import { until, type WorkerProcess } from "../../test/faults/kill/fleet.ts";
import { STORE_KINDS } from "../../test/faults/kill/stores.ts";
import { newWorker, openShop, startOrders, STUCK_MS, wrongOrders } from "./orders.ts";
import {
  floor,
  rule,
  scaled,
  seconds,
  type Finding,
  type Programme,
  type Setting,
} from "./programme.ts";
import { POISONS, type Poison } from "./work.ts";

const ORDERS = 200;
/** Slow enough that suspects which run one after the other are noticed. */
const ORDER = { rounds: 2, ms: 500 };
const WORKERS = 2;

export const crowd: Programme = {
  name: "crowd",
  what: "one instance of a crowd ends its process each time it runs",
  stores: STORE_KINDS,
  obstacle: () => null,
  run,
};

interface Outcome {
  readonly deaths: number;
  readonly deathsAfter: number;
  readonly innocentMs: number;
  readonly isolated: string | null;
  readonly wrong: readonly string[];
}

async function run(setting: Setting): Promise<Finding> {
  const usual = await gather(setting, null);
  const found = new Map<Poison, Outcome>();
  for (const poison of POISONS) found.set(poison, await gather(setting, poison));
  const lines = [...found].map(
    ([poison, { deaths, innocentMs }]) => `${poison}: ${deaths} processes, ${seconds(innocentMs)}`,
  );
  const all = [...found.values()];
  return {
    figure: `processes that ended, and time until ${scaled(ORDERS, setting.size, 10)} innocent orders ended (${seconds(usual.innocentMs)} without poison): ${lines.join("; ")}`,
    numbers: Object.fromEntries([
      ["usualMs", usual.innocentMs],
      ...[...found].flatMap(([poison, { deaths, innocentMs }]) => [
        [`${poison}Deaths`, deaths],
        [`${poison}InnocentMs`, innocentMs],
      ]),
    ]),
    rules: [
      floor("processes that ended", Math.min(...all.map(({ deaths }) => deaths)), 1),
      rule(
        "every innocent order ended with its result",
        [usual, ...all].flatMap(({ wrong }) => wrong),
      ),
      rule(
        "the poison was isolated",
        [...found].filter(([, { isolated }]) => isolated === null).map(([poison]) => poison),
      ),
      rule(
        "no process ended after that",
        [...found].filter(([, { deathsAfter }]) => deathsAfter > 0).map(([poison]) => poison),
      ),
    ],
  };
}

async function gather(setting: Setting, poison: Poison | null): Promise<Outcome> {
  const name = poison ?? "usual";
  const log = join(setting.folder, `${name}.log`);
  appendFileSync(log, "");
  await using shop = await openShop(setting, name);
  await using workers = new Supervised(shop.store.address, log);
  await workers.begin();
  const half = Math.ceil(scaled(ORDERS, setting.size, 10) / 2);
  const { client } = shop;
  let wrong: readonly string[] = [];
  const starting = performance.now();
  const first = await startOrders(client, { count: half, order: ORDER, prefix: "first" });
  const culprit = poison === null ? null : await client.start("poison", poison, { id: "poison" });
  const second = await startOrders(client, { count: half, order: ORDER, prefix: "second" });
  wrong = await wrongOrders([...first, ...second], ORDER, 2 * STUCK_MS);
  const innocentMs = performance.now() - starting;
  if (culprit === null) return { deaths: 0, deathsAfter: 0, innocentMs, isolated: "", wrong };
  const isolated = await until("isolated", () => isolation(culprit), STUCK_MS).catch(() => null);
  const { deaths } = workers;
  wrong = [...wrong, ...(await later(client))];
  return { deaths, deathsAfter: workers.deaths - deaths, innocentMs, isolated, wrong };
}

/** Orders after the isolation; they must not meet the poison. */
async function later(client: Client): Promise<readonly string[]> {
  return wrongOrders(await startOrders(client, { count: 5, order: ORDER, prefix: "later" }), ORDER);
}

/** How the poison was isolated; null if it was not. */
async function isolation(handle: Handle): Promise<string | null> {
  const { blocked, status } = await handle.describe();
  if (blocked !== undefined) return blocked.code;
  return status === "failed" ? "failed" : null;
}

/** Worker processes that are replaced when they end. */
class Supervised implements AsyncDisposable {
  deaths = 0;
  readonly #address: string;
  readonly #log: string;
  readonly #workers = new Set<WorkerProcess>();
  #isOver = false;

  constructor(address: string, log: string) {
    this.#address = address;
    this.#log = log;
  }

  async begin(): Promise<void> {
    await Promise.all(Array.from({ length: WORKERS }, () => this.#add().ready));
  }

  #add(): WorkerProcess {
    const worker = newWorker({ store: this.#address, log: this.#log, mayCrash: true });
    this.#workers.add(worker);
    void worker.gone.then(() => {
      this.#workers.delete(worker);
      if (this.#isOver) return;
      this.deaths++;
      this.#add();
    });
    return worker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.allSettled([...this.#workers].map((worker) => worker.kill()));
  }
}
