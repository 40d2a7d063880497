// The failure loop of sqlite.test.ts on PostgreSQL. The commit tier runs two scenarios and every seventh call;
// PERDURE_FULL runs every scenario and every call.

import { afterAll, expect, test } from "vitest";
import { failEveryCall } from "../../../src/testing/index.ts";
import { postgresKitStore } from "../../support/postgres-kit-store.ts";
import { closePool } from "../../support/postgres-stores.ts";
import { scenariosOn } from "./scenarios.ts";

const IS_FULL = process.env["PERDURE_FULL"] === "1";
const STRIDE = IS_FULL ? 1 : 7;
afterAll(closePool);

for (const scenario of scenariosOn(postgresKitStore).slice(0, IS_FULL ? undefined : 2)) {
  test(
    `${scenario.name}: the outcome stays the same whichever store call fails, and however it fails`,
    { timeout: 600_000 },
    async () => {
      const { runs } = await failEveryCall(scenario, { stride: STRIDE });
      expect(runs).toBeGreaterThan(10);
    },
  );
}
