// A database that fails under load: ended connections, a crash, read-only times, no connection to be had, a network
// that loses commits and their answers, listeners that hear nothing. What was acknowledged happens, once.
//   PERDURE_OUTAGES and PERDURE_CUTS (6 and 40, or 60 and 600 with PERDURE_FULL) and PERDURE_SEED ask for a longer
//   run, or for the same choices again.

import { expect, test } from "vitest";
import { seedFromEnvironment, wholeNumber } from "../kill/chance.ts";
import { describeOutages, outageEmptiness } from "./outages/report.ts";
import { runOutages } from "./outages/run.ts";

const isFull = process.env["PERDURE_FULL"] === "1";
const OUTAGES = wholeNumber("PERDURE_OUTAGES") ?? (isFull ? 60 : 6);
const CUTS = wholeNumber("PERDURE_CUTS") ?? (isFull ? 600 : 40);
const SEED = seedFromEnvironment();
const TIMEOUT_MS = 240_000 + OUTAGES * 15_000;
/** 5 s is what is promised; a machine that runs other tests beside this one may take its time. */
const RESUMED_MS_MAX = 15_000;

test(
  `${OUTAGES} outages and ${CUTS} cuts lose, double, strand and end nothing`,
  { timeout: TIMEOUT_MS },
  async () => {
    const report = await runOutages({ outages: OUTAGES, cuts: CUTS, seed: SEED });
    console.log(`PERDURE_SEED=${SEED} PERDURE_OUTAGES=${OUTAGES} PERDURE_CUTS=${CUTS}`);
    console.log(describeOutages(report));
    expect(report.faults).toEqual([]);
    expect(outageEmptiness(report, { outages: OUTAGES, cuts: CUTS })).toEqual([]);
    for (const { kind, resumedMs } of report.outages) {
      expect(resumedMs, `work after ${kind}`).toBeLessThan(RESUMED_MS_MAX);
    }
  },
);
