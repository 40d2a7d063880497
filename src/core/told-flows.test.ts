import { expect, test } from "vitest";
import type { RuntimeRecord } from "./provider/runtimes.ts";
import { TOLD_CHARS_MAX, toldDefinition, toldFlows } from "./told-flows.ts";

function flow(name: string, chars: number): { name: string; version: string; definition: object } {
  return { name, version: "1.0.0+abc", definition: { nodes: "x".repeat(chars) } };
}

function runtime(registered: string): RuntimeRecord {
  const who = { id: "r", nodeId: "n", process: null, hostname: "h" };
  return {
    ...who,
    registered,
    startedAt: 0,
    beatAt: 0,
    note: null,
    leasesCheckedAt: null,
    strandedLeases: 0,
  };
}

test("flows are told with their definitions, orchestrations are not", () => {
  const small = flow("small", 10);
  expect(toldFlows([{ name: "plain", version: "1.0.0" }, small])).toEqual([small]);
});

test("a flow that does not fit is left out, those beside it are told", () => {
  const large = flow("large", TOLD_CHARS_MAX);
  const half = flow("half", TOLD_CHARS_MAX / 2);
  const told = toldFlows([flow("a", 10), large, half, { ...half, name: "other half" }]);
  expect(told.map(({ name }) => name)).toEqual(["a", "half"]);
  expect(JSON.stringify(told.map(({ definition }) => definition)).length).toBeLessThan(
    TOLD_CHARS_MAX,
  );
});

test("a definition is found by name and version, in whichever runtime tells it", () => {
  const told = JSON.stringify({ flows: toldFlows([flow("order", 3)]) });
  const runtimes = [runtime("not JSON"), runtime('{"flows":[null,{}]}'), runtime(told)];
  expect(toldDefinition(runtimes, "order", "1.0.0+abc")).toEqual({ nodes: "xxx" });
  expect(toldDefinition(runtimes, "order", "1.0.0+abd")).toBeUndefined();
  expect(toldDefinition(runtimes, "other", "1.0.0+abc")).toBeUndefined();
});
