// The failure loop of sqlite.test.ts on PostgreSQL. The commit tier runs four scenarios and every thirteenth call, of jobs
// every fortieth, offset by three from fault to fault; PERDURE_FULL runs every scenario and every call.

import { afterAll, expect, test } from "vitest";
import { CALL_FAULTS, failEveryCall, type CallFault } from "../../../src/testing/index.ts";
import { postgresKitStore } from "../../support/postgres-kit-store.ts";
import { closePool } from "../../support/postgres-stores.ts";
import { scenariosOn } from "./scenarios.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const strideOf = (name: string): number => (IS_FULL ? 1 : name === "jobs" ? 40 : 13);
const FAULTS = Object.keys(CALL_FAULTS) as CallFault[];
/** The scenarios of the commit tier. */
const CHOSEN = [
  "activities with retries",
  "starts with their first turns",
  "jobs",
  "streams and callbacks",
];
afterAll(closePool);

const scenarios = scenariosOn(postgresKitStore).filter(
  ({ name }) => IS_FULL || CHOSEN.includes(name),
);
test("the commit tier finds its scenarios", () => {
  expect(scenarios.map(({ name }) => name)).toEqual(expect.arrayContaining(CHOSEN));
});

for (const scenario of scenarios) {
  test(
    `${scenario.name}: the outcome stays the same whichever store call fails, and however it fails`,
    { timeout: 600_000 },
    async () => {
      let runs = 0;
      const stride = strideOf(scenario.name);
      for (const [index, fault] of FAULTS.entries()) {
        const first = 1 + ((3 * index) % stride);
        const report = await failEveryCall(scenario, { faults: [fault], stride, first });
        runs += report.runs;
      }
      expect(runs).toBeGreaterThan(FAULTS.length * 2);
    },
  );
}
