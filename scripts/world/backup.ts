// A backup under load.
//   Does: a worker and a client work while `perdure backup` copies the SQLite file, or while a base backup of the PostgreSQL
//        server is made. The load continues, then everything is killed, and a new worker continues on the copy.
//   Measures: how long the backup took; the time of a start before and during the backup; the activities that ran again after
//        the restore, with the same idempotency key.
//   Fails: a start or a result that was acknowledged before the backup began is missing in the copy; an order of the copy does
//        not end with its result; an activity whose outcome is in the copy ran again.

import { execFile } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { quantile } from "../../bench/statistics.ts";
import { Client } from "../../src/index.ts";
import { until } from "../../test/faults/kill/fleet.ts";
import { openAddress, SQLITE } from "../../test/faults/kill/store-address.ts";
import { STORE_KINDS } from "../../test/faults/kill/stores.ts";
import { fastDirectory } from "../../test/support/fast-directory.ts";
import { SETTINGS, startServer } from "../../test/support/postgres.ts";
import { projectRoot } from "../../test/support/source-files.ts";
import { newWorker, STUCK_MS, timed, wrongOrders } from "./orders.ts";
import {
  floor,
  rule,
  scaled,
  seconds,
  type Finding,
  type Programme,
  type Setting,
} from "./programme.ts";
import { resultOf, runsIn } from "./work.ts";

const ORDERS = 300;
const ORDER = { rounds: 3, ms: 10 };
const LANES = 8;
const CLI = join(projectRoot, "src/cli/main.ts");
const SCHEMA = "world";

export const backup: Programme = {
  name: "backup",
  what: "a backup is made under load and restored",
  stores: STORE_KINDS,
  obstacle: () => null,
  run,
};

/** A store that can be copied while it is in use. */
interface Source extends AsyncDisposable {
  readonly address: string;
  /** Returns the address of the copy. */
  copy(): Promise<string>;
}

async function run({ store, size, folder }: Setting): Promise<Finding> {
  await using source = store === "sqlite" ? file(folder) : await server();
  const log = join(folder, "before.log");
  appendFileSync(log, "");
  const provider = await openAddress(source.address);
  const worker = newWorker({ store: source.address, log });
  await worker.ready;
  const load = new Load(new Client(provider));
  const driving = load.drive();
  let copy = "";
  let known: Acknowledged;
  let backupMs = 0;
  let during: readonly number[] = [];
  try {
    const enough = scaled(ORDERS, size, 20);
    await until("enough orders have ended", () => load.acknowledged.ends.size >= enough, STUCK_MS);
    known = load.snapshot();
    const before = load.startsMs.length;
    backupMs = await timed(async () => (copy = await source.copy()));
    during = load.startsMs.slice(before);
  } finally {
    load.finish();
    await driving;
    await worker.kill();
    await provider.close();
  }
  const restored = await restore(copy, { known, folder });
  const usual = load.startsMs.slice(0, load.startsMs.length - during.length);
  const p99 = (values: readonly number[]): number =>
    values.length === 0 ? 0 : quantile(values, 0.99);
  const again = [...runsIn(restored.log).keys()].filter((key) => runsIn(log).has(key)).length;
  return {
    figure: `${known.starts.size} starts and ${known.ends.size} results acknowledged before the backup, ${restored.lost.length} lost; the backup took ${seconds(backupMs)}, p99 of a start ${seconds(p99(during))} (${seconds(p99(usual))} before); ${restored.open} orders continued, ${again} activities ran again`,
    numbers: {
      ...{ starts: known.starts.size, results: known.ends.size, lost: restored.lost.length },
      ...{
        backupMs,
        startP99Ms: p99(during),
        usualP99Ms: p99(usual),
        continued: restored.open,
        again,
      },
    },
    rules: [
      floor("starts during the backup", during.length, 1),
      rule("everything acknowledged before the backup is in the copy", restored.lost),
      rule("every order of the copy ended with its result", restored.wrong),
      rule("no activity with an outcome in the copy ran again", restored.repeated),
    ],
  };
}

/** A SQLite file, copied by the command that users have. */
function file(folder: string): Source {
  const target = join(folder, "copy.db");
  const address = `${SQLITE}${join(folder, "store.db")}`;
  return {
    address,
    async copy() {
      await promisify(execFile)(process.execPath, [CLI, "backup", address, target]);
      return `${SQLITE}${target}`;
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function server(): Promise<Source> {
  const settings = { ...SETTINGS, shared_buffers: "32MB", wal_keep_size: "1GB" };
  const servers = [await startServer(fastDirectory(), settings)];
  const [original] = servers;
  return {
    address: `${original?.url}#${SCHEMA}`,
    async copy() {
      const copied = await original?.backUp();
      if (copied === undefined) throw new Error("there is no server");
      servers.push(copied);
      return `${copied.url}#${SCHEMA}`;
    },
    async [Symbol.asyncDispose]() {
      for (const each of servers) await each.close();
    },
  };
}

interface Acknowledged {
  readonly starts: ReadonlySet<string>;
  readonly ends: ReadonlySet<string>;
}

/** Starts orders one after the other in each lane, and remembers what was acknowledged. */
class Load {
  readonly startsMs: number[] = [];
  readonly acknowledged = { starts: new Set<string>(), ends: new Set<string>() };
  readonly #client: Client;
  #count = 0;
  #isOver = false;

  constructor(client: Client) {
    this.#client = client;
  }

  async drive(): Promise<void> {
    await Promise.all(Array.from({ length: LANES }, () => this.#lane()));
  }

  finish(): void {
    this.#isOver = true;
  }

  snapshot(): Acknowledged {
    const { starts, ends } = this.acknowledged;
    return { starts: new Set(starts), ends: new Set(ends) };
  }

  async #lane(): Promise<void> {
    while (!this.#isOver) {
      const id = `order-${this.#count++}`;
      const handle = this.#client.get(id);
      this.startsMs.push(await timed(() => this.#client.start("order", ORDER, { id })));
      this.acknowledged.starts.add(id);
      const [wrong] = await wrongOrders([handle], ORDER);
      if (wrong === undefined) this.acknowledged.ends.add(id);
    }
  }
}

interface Restored {
  readonly log: string;
  /** The orders that had not ended in the copy. */
  readonly open: number;
  readonly lost: readonly string[];
  readonly wrong: readonly string[];
  readonly repeated: readonly string[];
}

async function restore(
  address: string,
  { known, folder }: { readonly known: Acknowledged; readonly folder: string },
): Promise<Restored> {
  const log = join(folder, "after.log");
  appendFileSync(log, "");
  const provider = await openAddress(address);
  const client = new Client(provider);
  const lost: string[] = [];
  const open: string[] = [];
  let missingOutcomes = 0;
  const there = new Set<string>();
  for await (const id of client.ids()) {
    there.add(id);
    const info = await client.get(id).describe();
    const isEnded = info.status === "completed";
    if (known.ends.has(id)) {
      const result: unknown = isEnded ? await client.get(id).result() : undefined;
      if (result !== resultOf(ORDER)) lost.push(`the result of ${id}`);
    }
    if (isEnded) continue;
    open.push(id);
    const history = await client.get(id).history();
    missingOutcomes +=
      ORDER.rounds - history.filter(({ kind }) => kind === "ActivityCompleted").length;
  }
  lost.push(...[...known.starts].filter((id) => !there.has(id)).map((id) => `the start of ${id}`));
  const worker = newWorker({ store: address, log });
  try {
    await worker.ready;
    const wrong = await wrongOrders(
      [...there].map((id) => client.get(id)),
      ORDER,
    );
    const runs = [...runsIn(log).values()].reduce((sum, each) => sum + each, 0);
    const repeated =
      runs > missingOutcomes ? [`${runs} runs for ${missingOutcomes} missing outcomes`] : [];
    return { log, open: open.length, lost, wrong, repeated };
  } finally {
    await worker.kill();
    await provider.close();
  }
}
