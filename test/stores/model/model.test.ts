// Every answer of a store equals the answer of the model: for SQLite alone, and for SQLite and PostgreSQL together. The
// seed is printed; PERDURE_SEED repeats a run.

import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { openInPostgres } from "../conformance/postgres-store.ts";
import { openInFile, openInMemory } from "../conformance/sqlite-store.ts";
import { seedFromEnvironment } from "../../faults/kill/chance.ts";
import { closePool } from "../../support/postgres-stores.ts";
import { commands } from "./commands.ts";
import { runSequence } from "./sequence.ts";
import { Tally } from "./tally.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const SEQUENCES = IS_FULL ? 6_000 : 150;
const SEQUENCES_ON_BOTH = IS_FULL ? 1_200 : 6;
/** How often every kind of call must have succeeded, and how often it must have been refused: on SQLite, on both stores. */
const LEAST = IS_FULL ? 100 : 5;
const LEAST_ON_BOTH = IS_FULL ? 100 : 0;
/**
 * The limit for further rounds until the least number is reached, by far more than are needed. Each round is a tenth of
 * the first.
 */
const ROUNDS_MAX = 60;
const SEED = seedFromEnvironment();
const TIMEOUT_MS = IS_FULL ? 2_400_000 : 120_000;

afterAll(closePool);

test("SQLite gives the same answers as the model", { timeout: TIMEOUT_MS }, () =>
  holds(SEQUENCES, LEAST, { sqlite: openInMemory }),
);

test("PostgreSQL and SQLite give the same answers as the model", { timeout: TIMEOUT_MS }, () =>
  holds(SEQUENCES_ON_BOTH, LEAST_ON_BOTH, { sqlite: openInFile, postgres: openInPostgres }),
);

async function holds(
  sequences: number,
  least: number,
  stores: Parameters<typeof runSequence>[1],
): Promise<void> {
  const tally = new Tally();
  const property = fc.asyncProperty(commands, (sequence) => runSequence(sequence, stores, tally));
  // A failure that is found late is reported with the shrinking done by then.
  const interruptAfterTimeLimit = TIMEOUT_MS * 0.8;
  const options = { interruptAfterTimeLimit, markInterruptAsFailure: true };
  await fc.assert(property, { ...options, seed: SEED, numRuns: sequences });
  for (let round = 1; round <= ROUNDS_MAX && tally.rare(least).length > 0; round += 1) {
    await fc.assert(property, { ...options, seed: SEED + round, numRuns: sequences / 10 });
  }
  console.log(`PERDURE_SEED=${SEED}: ${tally.steps} steps; ${tally}`);
  expect(tally.rare(least), `seed ${SEED}`).toEqual([]);
}
