// T4: every call that a scenario makes of its store goes wrong once, in every way; the outcome stays (P3, P6, I14).
// The commit tier takes every few calls, another set for each fault; PERDURE_FULL takes each.

import { expect, test } from "vitest";
import { CALL_FAULTS, failEveryCall, type CallFault } from "../../src/testing/index.ts";
import { scenariosOn } from "./scenarios.ts";

const STRIDE = process.env["PERDURE_FULL"] === "1" ? 1 : 2;
const FAULTS = Object.keys(CALL_FAULTS) as CallFault[];

for (const scenario of scenariosOn()) {
  test(`${scenario.name} end the same whichever call fails, in whatever way`, async () => {
    let runs = 0;
    for (const [index, fault] of FAULTS.entries()) {
      const first = 1 + (index % STRIDE);
      const report = await failEveryCall(scenario, { faults: [fault], stride: STRIDE, first });
      runs += report.runs;
    }
    expect(runs).toBeGreaterThan(FAULTS.length * 2);
  });
}
