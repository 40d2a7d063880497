// Random keyed calls, turns, ends and times: every store does what the model says. The seed is printed; PERDURE_SEED
// repeats a run.

import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import type { OpenProvider } from "../../../src/testing/conformance/index.ts";
import { Setup } from "../../../src/testing/conformance/setup.ts";
import { VirtualEnvironment } from "../../../src/testing/virtual-environment.ts";
import { seedFromEnvironment } from "../../faults/kill/chance.ts";
import { closePool } from "../../support/postgres-stores.ts";
import { openInPostgres } from "../conformance/postgres-store.ts";
import { openInMemory } from "../conformance/sqlite-store.ts";
import { KeyModel } from "./key-model.ts";
import { KeyRun, steps } from "./key-steps.ts";

const TIMES = process.env["PERDURE_FULL"] === "1" ? 80 : 1;
const SEED = seedFromEnvironment();
const RUNS_FOR_ALL = 30;
/** Further runs until every result has occurred, by far more than are needed. */
const ROUNDS_MAX = 20;
const TIMEOUT_MS = 60_000 + 60_000 * TIMES;
/** Every result of every kind of key must occur, on the store with many runs. */
const RESULTS = [
  ...["unique existing", "unique refused", "unique replaced", "unique started"],
  ...["debounce existing", "debounce started", "throttle existing", "throttle started"],
];

afterAll(closePool);

test.each([
  ["SQLite", openInMemory, 30 * TIMES],
  ["PostgreSQL", openInPostgres, 5 * TIMES],
] as const)(
  "random keyed calls on %s do what the model says",
  { timeout: TIMEOUT_MS },
  (_, open, runs) => holds(open, runs),
);

async function holds(open: OpenProvider, numRuns: number): Promise<void> {
  const seen = new Set<string>();
  const property = fc.asyncProperty(steps, async (list) => {
    const environment = new VirtualEnvironment();
    const setup = new Setup(environment, await open({ environment }));
    try {
      await setup.prepare();
      const run = new KeyRun(setup, new KeyModel(environment.now()));
      for (const step of list) await run.run(step);
      await run.checkStale();
      for (const result of run.results) seen.add(result);
    } finally {
      await setup.close();
    }
  });
  await fc.assert(property, { seed: SEED, numRuns });
  if (numRuns < RUNS_FOR_ALL) return;
  for (let round = 1; round <= ROUNDS_MAX && seen.size < RESULTS.length; round++) {
    await fc.assert(property, { seed: SEED + round, numRuns: 10 });
  }
  expect([...seen].toSorted()).toEqual(RESULTS.toSorted());
}
