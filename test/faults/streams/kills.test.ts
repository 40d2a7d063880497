// Streams under kills: several processes write to the streams of one store and are killed with SIGKILL. Readers get
// dense offsets, no text twice, and as settled exactly what the runs wrote that succeeded.
//   PERDURE_KILLS sets the number of kills per store (6, or 300 with PERDURE_FULL); PERDURE_SEED repeats the choices of
//   an earlier run, but not its races.

import { mkdtempSync, rmSync } from "node:fs";
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
import { Teller } from "./teller.ts";

const KILLS = wholeNumber("PERDURE_KILLS") ?? (process.env["PERDURE_FULL"] === "1" ? 300 : 6);
const SEED = seedFromEnvironment();
const WORKERS = 3;
/** The most activities that a process begins before it is killed. */
const LIFE_MAX = 12;
/** How long the tales may take after the last kill. */
const REST_MS = 60_000;
/** Takeovers must not take most of the time, and a killed process must not make an activity fail as poison. */
const RUNTIME = { beatMs: 100, staleMs: 500, attemptsMax: 1_000 };

test.each(STORE_KINDS)(
  `after ${KILLS} kills on %s readers have seen each value of a successful run once`,
  { timeout: 120_000 + KILLS * 5_000 },
  async (kind) => {
    const folder = mkdtempSync(join(tmpdir(), "perdure-tales-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    await using store = await storeUnderTest(kind, folder);
    const program = new URL("./worker.ts", import.meta.url);
    const shared = { program, store: store.address, log: join(folder, "worker"), runtime: RUNTIME };
    await using spares = new Spares(WORKERS, () => new WorkerProcess({ ...shared, isSpare: true }));
    const provider = await openAddress(store.address);
    onTestFinished(() => provider.close());
    const teller = new Teller(new Client(provider), SEED);
    const telling = teller.tell();
    const killed = await killWorkers({
      isEnough: (kills) => kills >= KILLS,
      ...{ workers: WORKERS, seed: SEED, lifeMax: LIFE_MAX, spawn: spares.take },
    });
    const last = Array.from({ length: WORKERS }, spares.take);
    teller.finishWithin(REST_MS);
    await telling;
    await Promise.all(last.map((worker) => worker.ready.then(() => worker.kill())));

    const { faults, met } = teller;
    console.log(`${kind}: PERDURE_SEED=${SEED}, ${killed.length} kills: ${JSON.stringify(met)}`);
    expect(faults).toEqual([]);
    expect(met.resets).toBeGreaterThan(0);
    expect(met.failedParts).toBeGreaterThan(0);
    expect(await store.damage()).toEqual([]);
  },
);
