// The simulation on a fixed range of seeds, which must pass at every commit: 60 seeds, and 20,000 in
// `npm run test:full`. `npm run simulate` runs other seeds.
//   - Plain processes simulate them: there the code is not instrumented, and it gets faster with every seed.

import { availableParallelism } from "node:os";
import { expect, test } from "vitest";
import { simulateInJobs } from "../../../scripts/simulation/jobs.ts";
import {
  DEFAULT_FAULTS,
  programs,
  simulate,
  type FailedSeed,
} from "../../../src/testing/simulation/index.ts";

const SEEDS = process.env["PERDURE_FULL"] === undefined ? 60 : 20_000;
const TIMEOUT_MS = SEEDS * 2_000;

test(
  `the invariants hold on ${SEEDS} seeds, and none of them is idle`,
  { timeout: TIMEOUT_MS },
  async () => {
    const report = await simulateInJobs({
      choice: "programs",
      jobs: availableParallelism(),
      seeds: SEEDS,
      firstSeed: 1,
      repeatEvery: 40,
      onRun: () => undefined,
    });
    expect(report.failures.map(describeFailure)).toEqual([]);
    expect(report.seeds).toBe(SEEDS);
    // The seeds were not idle: instances made progress, and every kind of fault landed.
    expect(report.totals.events / SEEDS).toBeGreaterThan(100);
    expect(report.stormySeeds / SEEDS).toBeGreaterThan(0.9);
    const landed = new Set([...report.landed.keys()].map(kindOf));
    const expected = DEFAULT_FAULTS.flatMap((kind) => (kind === "news" ? NEWS : kind));
    expect(expected.filter((kind) => !landed.has(kind))).toEqual([]);
  },
);

test("the invariants hold if the workers drive, instead of running all the time", async () => {
  const seeds = process.env["PERDURE_FULL"] === undefined ? 6 : 500;
  const report = await simulate({ workload: programs(), seeds, drives: true, repeatEvery: 6 });
  expect(report.failures.map(describeFailure)).toEqual([]);
  expect(report.totals.events / seeds).toBeGreaterThan(50);
});

const NEWS = ["newsLost", "newsDoubled", "newsLate"];

/** "failAfter commit" is of kind failAfter. */
function kindOf(name: string): string {
  return name.split(" ")[0] ?? "";
}

function describeFailure({ seed, violations }: FailedSeed): string {
  const [first] = violations;
  return `seed ${seed}: ${first?.invariant} ${first?.what} (npm run simulate -- --seed ${seed})`;
}
