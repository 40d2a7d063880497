// Every store call of a scenario fails once in every way; the outcome stays the same (P3, P6, I14).
// The commit tier runs every sixth call, offset by one from fault to fault; PERDURE_FULL runs every call.

import { expect, test } from "vitest";
import {
  CALL_FAULTS,
  failEveryCall,
  TestEnvironment,
  type CallFault,
  type StoreCall,
} from "../../../src/testing/index.ts";
import { scenariosOn } from "./scenarios.ts";

const STRIDE = process.env["PERDURE_FULL"] === "1" ? 1 : 6;
const FAULTS = Object.keys(CALL_FAULTS) as CallFault[];

for (const scenario of scenariosOn()) {
  test(`${scenario.name}: the outcome stays the same whichever store call fails, and however it fails`, async () => {
    let runs = 0;
    for (const [index, fault] of FAULTS.entries()) {
      const first = 1 + (index % STRIDE);
      const report = await failEveryCall(scenario, { faults: [fault], stride: STRIDE, first });
      runs += report.runs;
    }
    expect(runs).toBeGreaterThan(FAULTS.length * 2);
  });
}

test("the scenario of first turns writes them with their starts", async () => {
  const scenario = scenariosOn().find(({ name }) => name === "starts with their first turns");
  const withTurn: string[] = [];
  const call = ({ method, args }: StoreCall): undefined => {
    if (method !== "commit") return;
    for (const item of args[0])
      if (item.kind === "start" && item.firstTurn !== undefined) withTurn.push(item.id);
  };
  await using kit = await TestEnvironment.create({
    ...(scenario?.options() ?? { register: [] }),
    faults: { call },
  });
  await scenario?.run(kit);
  expect(withTurn).toEqual(["turned-2", "ended-4", "ended--1"]);
});
