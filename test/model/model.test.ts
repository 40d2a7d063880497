// A store does what the contract's model does, answer by answer: SQLite alone, and beside PostgreSQL (T2). The seed is
// printed; PERDURE_SEED asks for the same again.

import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { openInPostgres } from "../conformance/postgres-store.ts";
import { openInFile, openInMemory } from "../conformance/sqlite-store.ts";
import { seedFromEnvironment } from "../kill/chance.ts";
import { closePool } from "../support/postgres-stores.ts";
import { commands } from "./commands.ts";
import { runSequence } from "./sequence.ts";
import { Tally } from "./tally.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const TIMES = IS_FULL ? 20 : 1;
/** How often every kind of call must have succeeded, and have been refused. */
const LEAST = IS_FULL ? 100 : 5;
/** Further rounds, each a tenth of the first, until they have. */
const ROUNDS_MAX = 10;
const SEED = seedFromEnvironment();
const TIMEOUT_MS = 120_000 * TIMES;

afterAll(closePool);

test("SQLite answers as the model does", { timeout: TIMEOUT_MS }, () =>
  holds(300 * TIMES, { sqlite: openInMemory }),
);

test("PostgreSQL and SQLite answer as the model does", { timeout: TIMEOUT_MS }, () =>
  holds(60 * TIMES, { sqlite: openInFile, postgres: openInPostgres }),
);

async function holds(sequences: number, stores: Parameters<typeof runSequence>[1]): Promise<void> {
  const tally = new Tally();
  const property = fc.asyncProperty(commands, (sequence) => runSequence(sequence, stores, tally));
  // A failure that is found late is shown as far as it has been shortened by then.
  const interruptAfterTimeLimit = TIMEOUT_MS * 0.8;
  const options = { interruptAfterTimeLimit, markInterruptAsFailure: true };
  await fc.assert(property, { ...options, seed: SEED, numRuns: sequences });
  for (let round = 1; round <= ROUNDS_MAX && tally.rare(LEAST).length > 0; round += 1) {
    await fc.assert(property, { ...options, seed: SEED + round, numRuns: sequences / 10 });
  }
  console.log(`PERDURE_SEED=${SEED}: ${tally.steps} steps; ${tally}`);
  expect(tally.rare(LEAST), `seed ${SEED}`).toEqual([]);
}
