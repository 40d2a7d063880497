// Several job processes simulate the same seeds as one process, and their reports are merged.

import { expect, test } from "vitest";
import { simulateInJobs, type JobsOptions } from "../../../scripts/simulation/jobs.ts";
import { mergeReports } from "../../../scripts/simulation/merge.ts";
import { programs, simulate } from "../../../src/testing/simulation/index.ts";

const RANGE = { seeds: 3, firstSeed: 31, repeatEvery: 2 };

test("two processes do the work of one, and every seed runs once", async () => {
  const ran: number[] = [];
  const options: JobsOptions = { choice: "programs", jobs: 2, ...RANGE, onRun: () => undefined };
  const together = await simulateInJobs({ ...options, onRun: ({ seed }) => ran.push(seed) });
  const alone = await simulate({ workload: programs(), ...RANGE });
  expect(together).toEqual(alone);
  expect(ran.toSorted((a, b) => a - b)).toEqual([31, 32, 33]);
});

test("no seed starts after the minutes are over", async () => {
  const options = { jobs: 2, minutes: 0, ...RANGE, onRun: () => undefined };
  expect(await simulateInJobs({ choice: "forget", ...options })).toMatchObject({ seeds: 0 });
});

test("a merged report adds the figures and lists the failures by seed", () => {
  const totals = { steps: 1, virtualMs: 2, instances: 3, events: 4, runs: 5, acknowledged: 6 };
  const base = { seeds: 10, repeated: 1, totals, stormySeeds: 7 };
  const failed = (seed: number) => ({ seed, violations: [] });
  const merged = mergeReports([
    { ...base, failures: [failed(12)], landed: new Map([["crash", 2]]) },
    { ...base, failures: [failed(3)], landed: new Map(Object.entries({ crash: 1, beat: 4 })) },
  ]);
  expect(merged).toEqual({
    seeds: 20,
    repeated: 2,
    totals: { steps: 2, virtualMs: 4, instances: 6, events: 8, runs: 10, acknowledged: 12 },
    stormySeeds: 14,
    failures: [failed(3), failed(12)],
    landed: new Map(Object.entries({ beat: 4, crash: 3 })),
  });
});
