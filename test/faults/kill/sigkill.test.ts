// Real processes, killed with SIGKILL: every acknowledged call takes effect exactly once, however often the workers
// die.
//   PERDURE_KILLS sets the number of kills per store (20, or 1,000 with PERDURE_FULL); PERDURE_SEED repeats the choices
//   of an earlier run. `npm run chaos` does the same at any length.

import { expect, test } from "vitest";
import { seedFromEnvironment, wholeNumber } from "./chance.ts";
import { describeKills, emptiness } from "./audit/kill-report.ts";
import { runKills } from "./kill-run.ts";
import { STORE_KINDS } from "./stores.ts";

const KILLS = wholeNumber("PERDURE_KILLS") ?? (process.env["PERDURE_FULL"] === "1" ? 1_000 : 20);
const SEED = seedFromEnvironment();
const TIMEOUT_MS = 300_000 + KILLS * 2_000;
const WORKERS = 4;

test.each(STORE_KINDS)(
  `${KILLS} kills on %s leave no instance lost, duplicated, stuck or wrongly ended`,
  { timeout: TIMEOUT_MS },
  async (store) => {
    const report = await runKills({ store, kills: KILLS, seed: SEED, workers: WORKERS });
    console.log(`PERDURE_SEED=${SEED} PERDURE_KILLS=${KILLS}\n${describeKills(report)}`);
    expect(report.faults).toEqual([]);
    expect(emptiness(report, KILLS)).toEqual([]);
  },
);
