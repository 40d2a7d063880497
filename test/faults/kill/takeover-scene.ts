// The setup of a takeover test: a store, two named worker processes, and their logs.
//   - Work held in a process waits until that process gets "open" (takeover-worker.ts).

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import {
  Client,
  type Handle,
  type HistoryEvent,
  type Provider,
  type RuntimeOptions,
} from "../../../src/index.ts";
import { TEST_STORE } from "../../support/test-store.ts";
import { until, WorkerProcess } from "./fleet.ts";
import { runFaults } from "./audit/run-audit.ts";
import { isRun, readLog, type EngineLine, type RunLine } from "./audit/run-log.ts";
import { auditStore } from "./audit/store-audit.ts";
import { openAddress } from "./store-address.ts";
import { storeUnderTest, type StoreUnderTest } from "./stores.ts";

/** Instances in the middle of an activity or a step. */
export const HELD = ["activity-0", "step-0", "step-1", "step-2"];
const ALL = [...HELD, "waits", "sleeps"];
const SLEEP_MS = 700;
const DEADLINE_MS = 45_000;

export class Scene implements AsyncDisposable {
  readonly #folder: string;
  readonly #store: StoreUnderTest;
  readonly #provider: Provider;
  readonly #client: Client;
  readonly #workers = new Set<WorkerProcess>();

  static async set(): Promise<Scene> {
    const folder = mkdtempSync(join(tmpdir(), "perdure-takeover-"));
    const store = await storeUnderTest(TEST_STORE, folder);
    return new Scene(folder, store, await openAddress(store.address));
  }

  private constructor(folder: string, store: StoreUnderTest, provider: Provider) {
    this.#folder = folder;
    this.#store = store;
    this.#provider = provider;
    this.#client = new Client(provider);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#killAll();
    await this.#provider.close();
    await this.#store[Symbol.asyncDispose]();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async enter(
    name: string,
    runtime: RuntimeOptions,
    ...kind: readonly "drives"[]
  ): Promise<WorkerProcess> {
    const program = new URL("./takeover-worker.ts", import.meta.url);
    const worker = new WorkerProcess({
      ...{ program, store: this.#store.address, log: this.#log, runtime },
      extra: [name, ...kind],
    });
    this.#workers.add(worker);
    await worker.ready;
    return worker;
  }

  /**
   * Starts every kind of work that can be held; `worker` is the only worker so far, so it holds all of it. `order`: what is
   * then sent to the worker.
   */
  async begin(worker: WorkerProcess, order?: string): Promise<void> {
    for (const id of HELD) await this.#client.start(`holds-${id.slice(0, -2)}`, undefined, { id });
    await this.#client.start("waits", undefined, { id: "waits" });
    if (order !== undefined) worker.say(order);
    await this.until("everything begun", () => this.begunBy(worker).length === HELD.length);
    await this.#waiting("waits");
  }

  /** Starts a timer in that process which is not due yet. */
  async beginSleep(worker: WorkerProcess): Promise<void> {
    worker.say(`start sleeps ${SLEEP_MS}`);
    await this.until("sleeps is started", () => this.isAcknowledged("sleeps"));
    await this.#waiting("sleeps");
  }

  /**
   * Blocks the main loop of the process until `unblock`. After that, the process finishes all of its held work before
   * it can process any message from the store.
   */
  async block(worker: WorkerProcess): Promise<void> {
    worker.say(`block ${this.#gate}`);
    await this.until("the main loop is blocked", () => this.isAcknowledged(this.#gate));
  }
  unblock(): void {
    writeFileSync(this.#gate, "");
  }

  /** Stops the process outside a transaction: a process frozen inside one keeps its locks and blocks the takeover. */
  async stopBetweenWrites(worker: WorkerProcess): Promise<void> {
    for (;;) {
      await worker.stop();
      if (await this.#store.isFree()) return;
      worker.resume();
    }
  }

  /** The time of the newest heartbeat of the process, by the store's clock. */
  async lastHeartbeat({ pid }: WorkerProcess): Promise<number> {
    const runtimes = await this.#client.runtimes();
    return runtimes.find((runtime) => runtime.pid === pid)?.lastBeatAt.getTime() ?? 0;
  }

  handle(id: string): Handle {
    return this.#client.get(id);
  }
  result(id: string): Promise<unknown> {
    return this.handle(id).result({ timeout: DEADLINE_MS });
  }
  async results(): Promise<Record<string, unknown>> {
    const entries = ALL.map(async (id) => [id, await this.result(id)] as const);
    return Object.fromEntries(await Promise.all(entries));
  }
  async histories(): Promise<Record<string, readonly HistoryEvent[]>> {
    const entries = ALL.map(async (id) => [id, await this.handle(id).history()] as const);
    return Object.fromEntries(await Promise.all(entries));
  }

  until(what: string, look: () => boolean | Promise<boolean>): Promise<true> {
    return until(what, look, DEADLINE_MS);
  }
  begun(): RunLine[] {
    return this.#runs().filter(({ what }) => what === "begin");
  }
  begunBy({ pid }: WorkerProcess): RunLine[] {
    return this.begun().filter((line) => line.pid === pid);
  }
  endedBy({ pid }: WorkerProcess): RunLine[] {
    return this.#runs().filter((line) => line.what === "end" && line.pid === pid);
  }
  /** The engine's log lines of that process that contain these words. */
  loggedBy({ pid }: WorkerProcess, words: string): EngineLine[] {
    const lines = readLog(this.#log).filter((line) => line.what === "engine" && line.pid === pid);
    return (lines as EngineLine[]).filter(({ message }) => message.includes(words));
  }
  isAcknowledged(id: string): boolean {
    return readLog(this.#log).some((line) => line.what === "ack" && line.instance === id);
  }

  /** Ends the test: after all processes are gone, the store must look as if no process had failed. */
  async expectSound(): Promise<void> {
    await this.#killAll();
    const { faults, calls } = await auditStore(this.#store);
    const logged = calls.filter(({ name }) => name === "hold");
    expect([...faults, ...runFaults(logged, this.#runs())]).toEqual([]);
  }

  get #gate(): string {
    return join(this.#folder, "gate");
  }
  get #log(): string {
    return join(this.#folder, "runs.log");
  }
  #runs(): RunLine[] {
    return readLog(this.#log).filter(isRun);
  }
  async #waiting(id: string): Promise<void> {
    await this.until(`${id} waits`, async () => (await this.handle(id).history()).length > 1);
  }
  async #killAll(): Promise<void> {
    const workers = [...this.#workers];
    this.#workers.clear();
    await Promise.all(workers.map((worker) => worker.kill()));
  }
}

/** The results of all instances if the named worker ran everything. */
export function everythingBy(worker: string): Record<string, unknown> {
  const held = HELD.map((id) => [id, [worker, worker]] as const);
  return { ...Object.fromEntries(held), waits: worker, sleeps: worker };
}
