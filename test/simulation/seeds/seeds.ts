// The simulation on a fixed range of seeds: what has to hold at every commit, 1,000 of them in four files that run in
// parallel, and 20,000 in `npm run test:full`. `npm run simulate` runs others.

import { describe, expect, test } from "vitest";
import {
  DEFAULT_FAULTS,
  programs,
  simulate,
  type FailedSeed,
  type SimulationReport,
} from "../../../src/testing/simulation/index.ts";

const CHUNKS = 5;
const SEEDS_PER_CHUNK = process.env["PERDURE_FULL"] === undefined ? 50 : 1_000;
const TIMEOUT_MS = SEEDS_PER_CHUNK * 2_000;

export function describeSeeds(part: number): void {
  const first = 1 + part * CHUNKS * SEEDS_PER_CHUNK;
  const title = `the invariants hold on ${CHUNKS * SEEDS_PER_CHUNK} seeds from ${first}`;
  describe(title, () => testSeeds(first));
}

function testSeeds(first: number): void {
  const reports: SimulationReport[] = [];

  for (let chunk = 0; chunk < CHUNKS; chunk++) {
    const firstSeed = first + chunk * SEEDS_PER_CHUNK;
    const title = `seeds ${firstSeed} to ${firstSeed + SEEDS_PER_CHUNK - 1}`;
    test(title, { timeout: TIMEOUT_MS }, async () => {
      const report = await simulate({
        workload: programs(),
        seeds: SEEDS_PER_CHUNK,
        firstSeed,
        repeatEvery: 50,
      });
      reports.push(report);
      expect(report.failures.map(told)).toEqual([]);
    });
  }

  test("the seeds were not idle: work was done, and every kind of fault landed", () => {
    const seeds = reports.reduce((sum, report) => sum + report.seeds, 0);
    const events = reports.reduce((sum, report) => sum + report.totals.events, 0);
    const stormy = reports.reduce((sum, report) => sum + report.stormySeeds, 0);
    const landed = new Set(reports.flatMap(({ landed: faults }) => [...faults.keys()].map(kindOf)));
    expect(seeds).toBe(CHUNKS * SEEDS_PER_CHUNK);
    expect(events / seeds).toBeGreaterThan(100);
    expect(stormy / seeds).toBeGreaterThan(0.9);
    const expected = DEFAULT_FAULTS.flatMap((kind) => (kind === "news" ? NEWS : kind));
    expect(expected.filter((kind) => !landed.has(kind))).toEqual([]);
  });
}

const NEWS = ["newsLost", "newsDoubled", "newsLate"];

/** "failAfter commit" is of the kind failAfter. */
function kindOf(name: string): string {
  return name.split(" ")[0] ?? "";
}

function told({ seed, violations }: FailedSeed): string {
  const [first] = violations;
  return `seed ${seed}: ${first?.invariant} ${first?.what} (npm run simulate -- --seed ${seed})`;
}
