// A database that fails under load: ended connections, a crash, read-only phases, exhausted connections, a network that
// loses commits and their answers, listeners that receive nothing. Every acknowledged call takes effect exactly once.
//   PERDURE_OUTAGES and PERDURE_CUTS (6 and 40, or 60 and 600 with PERDURE_FULL) select a longer run; PERDURE_SEED repeats
//   the same choices.

import { expect, test } from "vitest";
import { seedFromEnvironment, wholeNumber } from "../../faults/kill/chance.ts";
import { describeOutages, outageEmptiness } from "./outages/report.ts";
import { runOutages } from "./outages/run.ts";

const isFull = process.env["PERDURE_FULL"] === "1";
const OUTAGES = wholeNumber("PERDURE_OUTAGES") ?? (isFull ? 60 : 6);
const CUTS = wholeNumber("PERDURE_CUTS") ?? (isFull ? 600 : 40);
const SEED = seedFromEnvironment();
const TIMEOUT_MS = 240_000 + OUTAGES * 15_000;

test(
  `${OUTAGES} outages and ${CUTS} lost commits cause no lost, duplicate, stuck or failed work`,
  { timeout: TIMEOUT_MS },
  async () => {
    const report = await runOutages({ outages: OUTAGES, cuts: CUTS, seed: SEED });
    console.log(`PERDURE_SEED=${SEED} PERDURE_OUTAGES=${OUTAGES} PERDURE_CUTS=${CUTS}`);
    console.log(describeOutages(report));
    expect(report.faults).toEqual([]);
    expect(outageEmptiness(report, { outages: OUTAGES, cuts: CUTS })).toEqual([]);
  },
);
