// A bank run: transfers between accounts while the worker processes are killed, then an audit of the books.
// The unkeyed books, written by the same runs without idempotency keys, show that the audit would find duplicates.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, isPerdureError } from "../../../../src/index.ts";
import { AckLog, type Outcome } from "../audit/ack-log.ts";
import { chanceOf } from "../chance.ts";
import { countFaults, type Fault } from "../faults.ts";
import { WorkerProcess } from "../fleet.ts";
import { killWorkers } from "../killer.ts";
import { Spares } from "../spares.ts";
import { openInstances } from "../audit/store-audit.ts";
import { openAddress } from "../store-address.ts";
import { storeUnderTest, type StoreKind } from "../stores.ts";
import { auditBooks, type BookAudit } from "./audit.ts";
import { foundBank } from "./ledger.ts";
import { defineBank, orderOf } from "./transfers.ts";

export interface BankOptions {
  readonly store: StoreKind;
  readonly transfers: number;
  readonly seed: number;
  readonly workers: number;
  /** The most activity runs that a process begins before it is killed. */
  readonly lifeMax?: number;
}
export interface BankReport extends BookAudit {
  readonly store: StoreKind;
  readonly database: string;
  readonly seed: number;
  readonly transfers: number;
  readonly kills: number;
  readonly seconds: number;
  readonly folder: string | null;
}

const LANES = 48;
const LIFE_MAX = 60;
/** How long the rest may take after the last kill. */
const REST_MS = 60_000;
/** The minimum number of duplicates in the unkeyed books, per hundred transfers. */
const CARELESS_LEAST = 1;

export async function runBank(options: BankOptions): Promise<BankReport> {
  const { store: kind, transfers, seed, workers, lifeMax = LIFE_MAX } = options;
  const folder = mkdtempSync(join(tmpdir(), "perdure-bank-"));
  await using store = await storeUnderTest(kind, folder);
  await using ledger = await storeUnderTest(kind, folder, "bank");
  await foundBank(ledger.address);
  const acks = join(folder, "acknowledged.log");
  const program = new URL("./worker.ts", import.meta.url);
  await using spares = new Spares(workers, () => {
    const log = join(folder, "worker");
    const extra = [ledger.address];
    return new WorkerProcess({ program, store: store.address, log, extra, isSpare: true });
  });
  const provider = await openAddress(store.address);
  const teller = new Teller(new Client(provider), new AckLog(acks), options);
  const began = performance.now();
  const telling = teller.tell();
  const killed = await killWorkers({
    isEnough: () => teller.left <= LANES, // the last transfers cannot keep all workers busy
    ...{ workers, seed, lifeMax, spawn: spares.take },
  });
  const last = Array.from({ length: workers }, spares.take);
  teller.giveUpAfter(REST_MS);
  await telling;
  const seconds = (performance.now() - began) / 1_000;
  const stuck = await openInstances(store);
  await Promise.all(last.map((worker) => worker.ready.then(() => worker.kill())));
  await provider.close();

  const books = await auditBooks(ledger, acks);
  const faults: Fault[] = [
    ...books.faults,
    ...stuck.map((id): Fault => ({ kind: "stuck", what: `${id} has not ended` })),
  ];
  for (const each of [store, ledger]) if (faults.length > 0) each.keep();
  if (faults.length === 0) rmSync(folder, { recursive: true, force: true });
  return {
    ...{ store: kind, database: store.database, seed, transfers, seconds },
    ...books,
    faults,
    kills: killed.length,
    folder: faults.length > 0 ? folder : null,
  };
}

/** The reasons why the run does not count although it found no fault. */
export function bankEmptiness(report: BankReport): readonly string[] {
  const { transfers, kills, carelessDuplicates, endings } = report;
  const least = (transfers / 100) * CARELESS_LEAST;
  return [
    ...(kills < transfers / 50 ? [`${kills} kills`] : []),
    ...(carelessDuplicates < least ? [`${carelessDuplicates} careless duplicates`] : []),
    ...Object.entries(endings).flatMap(([ending, n]) => (n === 0 ? [`no transfer ${ending}`] : [])),
  ];
}

export function describeBank(report: BankReport): string {
  const { endings } = report;
  const faults = Object.entries(countFaults(report.faults)).map(([kind, n]) => `${kind} ${n}`);
  return [
    `Bank on ${report.database}, seed ${report.seed}`,
    `  ${report.transfers} transfers in ${report.seconds.toFixed(1)} s under ${report.kills} kills: ` +
      `${endings.moved} moved, ${endings.refunded} refunded, ${endings.insufficient} without funds`,
    `  ${report.carelessDuplicates} duplicate bookings in the books without idempotency keys`,
    `  ${faults.join(", ")}`,
    ...report.faults.slice(0, 20).map(({ kind, what }) => `    ${kind}: ${what}`),
    ...(report.folder === null ? [] : [`    the stores and the logs are in ${report.folder}`]),
  ].join("\n");
}

/** Starts the transfers, up to LANES at a time, and logs each acknowledged call. */
class Teller {
  readonly #client: Client;
  readonly #log: AckLog;
  readonly #options: BankOptions;
  readonly #transfer = defineBank(null).transfer;
  readonly #givenUp = new AbortController();
  #started = 0;
  #ended = 0;

  constructor(client: Client, log: AckLog, options: BankOptions) {
    this.#client = client;
    this.#log = log;
    this.#options = options;
  }

  get left(): number {
    return this.#options.transfers - this.#ended;
  }

  giveUpAfter(ms: number): void {
    setTimeout(() => this.#givenUp.abort(), ms).unref();
  }

  async tell(): Promise<void> {
    await Promise.all(Array.from({ length: LANES }, () => this.#lane()));
  }

  async #lane(): Promise<void> {
    while (this.#started < this.#options.transfers) {
      const number = this.#started++;
      const id = `transfer-${number}`;
      const order = orderOf(number, chanceOf(this.#options.seed * 1_000 + number).next);
      const handle = await this.#client.start(this.#transfer, order, { id });
      await this.#log.append({ what: "start", id, kind: "transfer", seed: number });
      const outcome = await handle.result({ signal: this.#givenUp.signal }).then(
        (value): Outcome => ({ value }),
        (error: unknown): Outcome => ({
          error: isPerdureError(error) ? error.code : String(error),
        }),
      );
      this.#ended++;
      if (this.#givenUp.signal.aborted) continue;
      await this.#log.append({ what: "result", id, outcome });
    }
  }
}
