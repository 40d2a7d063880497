// Limits under kills: several processes run limited jobs of one store and are killed with SIGKILL. Concurrency, the limit
// per key and the rate are never exceeded, and every job is done in the end.
//   PERDURE_KILLS sets the number of kills per store (3, or 100 with PERDURE_FULL); PERDURE_SEED repeats the choices of an
//   earlier run, but not its races.

import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { Client } from "../../../src/index.ts";
import { seedFromEnvironment, wholeNumber } from "../kill/chance.ts";
import { WorkerProcess } from "../kill/fleet.ts";
import { killWorkers } from "../kill/killer.ts";
import { Spares } from "../kill/spares.ts";
import { openAddress } from "../kill/store-address.ts";
import { STORE_KINDS, storeUnderTest } from "../kill/stores.ts";
import { faultsOf, limitedJobs } from "./visits.ts";

const KILLS = wholeNumber("PERDURE_KILLS") ?? (process.env["PERDURE_FULL"] === "1" ? 100 : 3);
const SEED = seedFromEnvironment();
const WORKERS = 3;
/** The most activities that a process begins before it is killed. */
const LIFE_MAX = 40;
const JOBS = 20 + KILLS * 12;
/** Takeovers must not take most of the time, and a killed process must not make a job fail as poison. */
const RUNTIME = { beatMs: 100, staleMs: 500, attemptsMax: 1_000 };

test.each(STORE_KINDS)(
  `${KILLS} kills on %s do not exceed the limits of jobs`,
  { timeout: 180_000 + KILLS * 5_000 },
  async (kind) => {
    const folder = mkdtempSync(join(tmpdir(), "perdure-limits-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const visits = join(folder, "visits");
    mkdirSync(visits);
    await using store = await storeUnderTest(kind, folder);
    const provider = await openAddress(store.address);
    onTestFinished(() => provider.close());
    const client = new Client(provider);
    const [few, slow] = limitedJobs(visits, () => undefined);
    const keys = ["a", "a", "a", "b", "c", "d"];
    const items = Array.from({ length: JOBS }, (_, index) => {
      const key = keys[index % keys.length] ?? "a";
      return { input: key, key };
    });
    await client.enqueueMany(few, items);
    await client.enqueueMany(slow, items);

    const program = new URL("./worker.ts", import.meta.url);
    const log = join(folder, "worker");
    const shared = { program, store: store.address, log, runtime: RUNTIME, extra: [visits] };
    await using spares = new Spares(WORKERS, () => new WorkerProcess({ ...shared, isSpare: true }));
    const gone = new Map<number, number>();
    const killed = await killWorkers({
      isEnough: (kills) => kills >= KILLS,
      ...{ workers: WORKERS, seed: SEED, lifeMax: LIFE_MAX, spawn: spares.take },
      onKill: ({ pid }) => gone.set(pid, Number(process.hrtime.bigint() / 1_000n) / 1_000),
    });
    const last = Array.from({ length: WORKERS }, spares.take);
    await expect
      .poll(() => client.count({ status: ["completed"] }), { timeout: 120_000, interval: 100 })
      .toBe(2 * JOBS);
    await Promise.all(last.map((worker) => worker.ready.then(() => worker.kill())));

    console.log(`${kind}: PERDURE_SEED=${SEED}, ${killed.length} kills, ${2 * JOBS} jobs`);
    expect(faultsOf(visits, gone)).toEqual([]);
    expect(await store.damage()).toEqual([]);
  },
);
