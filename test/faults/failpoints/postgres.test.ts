// The failure loop of sqlite.test.ts on PostgreSQL. The commit tier runs three scenarios and every seventh call;
// PERDURE_FULL runs every scenario and every call.

import { afterAll, expect, test } from "vitest";
import { failEveryCall } from "../../../src/testing/index.ts";
import { postgresKitStore } from "../../support/postgres-kit-store.ts";
import { closePool } from "../../support/postgres-stores.ts";
import { scenariosOn } from "./scenarios.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const STRIDE = IS_FULL ? 1 : 7;
/** The scenarios of the commit tier. */
const CHOSEN = [
  "activities with retries",
  "starts with their first turns",
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
      const { runs } = await failEveryCall(scenario, { stride: STRIDE });
      expect(runs).toBeGreaterThan(10);
    },
  );
}
