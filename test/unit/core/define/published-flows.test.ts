import { expect, test } from "vitest";
import type { RuntimeRecord } from "../../../../src/core/provider/runtimes.ts";
import {
  PUBLISHED_CHARS_MAX,
  publishedDefinition,
  publishedFlows,
} from "../../../../src/core/define/published-flows.ts";

function flow(name: string, chars: number): { name: string; version: string; definition: object } {
  return { name, version: "1.0.0+abc", definition: { nodes: "x".repeat(chars) } };
}

function runtime(registered: string): RuntimeRecord {
  const identity = { id: "r", nodeId: "n", process: null, hostname: "h" };
  return {
    ...identity,
    registered,
    startedAt: 0,
    beatAt: 0,
    note: null,
    leasesCheckedAt: null,
    strandedLeases: 0,
  };
}

test("flows are published with their definitions, orchestrations are not", () => {
  const small = flow("small", 10);
  expect(publishedFlows([{ name: "plain", version: "1.0.0" }, small])).toEqual([small]);
});

test("a flow that does not fit is left out, the other flows are published", () => {
  const large = flow("large", PUBLISHED_CHARS_MAX);
  const half = flow("half", PUBLISHED_CHARS_MAX / 2);
  const published = publishedFlows([flow("a", 10), large, half, { ...half, name: "other half" }]);
  expect(published.map(({ name }) => name)).toEqual(["a", "half"]);
  expect(JSON.stringify(published.map(({ definition }) => definition)).length).toBeLessThan(
    PUBLISHED_CHARS_MAX,
  );
});

test("a definition is found by name and version in any runtime that publishes it", () => {
  const published = JSON.stringify({ flows: publishedFlows([flow("order", 3)]) });
  const runtimes = [runtime("not JSON"), runtime('{"flows":[null,{}]}'), runtime(published)];
  expect(publishedDefinition(runtimes, "order", "1.0.0+abc")).toEqual({ nodes: "xxx" });
  expect(publishedDefinition(runtimes, "order", "1.0.0+abd")).toBeUndefined();
  expect(publishedDefinition(runtimes, "other", "1.0.0+abc")).toBeUndefined();
});
