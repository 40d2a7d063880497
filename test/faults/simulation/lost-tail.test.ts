// A store that loses its last commits while processes keep running: no instance is stuck, blocked or failed.

import { expect, test } from "vitest";
import { LOST_TAIL_FAULTS, lostTail, simulate } from "../../../src/testing/simulation/index.ts";

const SEEDS = process.env["PERDURE_FULL"] === "1" ? 500 : 4;

test("every instance left in the store ends, whatever else goes wrong", async () => {
  const report = await simulate({
    workload: lostTail(),
    faults: LOST_TAIL_FAULTS,
    seeds: SEEDS,
    repeatEvery: 2,
  });
  expect(report.failures).toEqual([]);
  expect(report.landed.get("forget") ?? 0).toBeGreaterThan(0);
});

test("without the comparison of leases the simulation finds a stuck instance", async () => {
  const report = await simulate({
    workload: lostTail(),
    faults: ["forget"],
    seeds: 10,
    stopAtFailure: true,
    repeatEvery: 0,
    sabotage: () => ({ readLeases: () => Promise.reject(new Error("leases cannot be listed")) }),
  });
  expect(report.failures.length).toBe(1);
});
