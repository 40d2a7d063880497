// A seed determines a run completely: to report a failing run, its seed is enough.

import { expect, test } from "vitest";
import {
  minimize,
  programs,
  runScenario,
  scenarioOf,
  type Sabotage,
} from "../../../src/testing/simulation/index.ts";

const workload = programs();

test.each([3, 8, 13, 27, 44])("seed %i run twice gives the same trace", async (seed) => {
  const scenario = scenarioOf(seed, { workload });
  const first = await runScenario(workload, scenario, { trace: true });
  const second = await runScenario(workload, scenario, { trace: true });
  expect(second.trace).toEqual(first.trace);
  expect(second.hash).toBe(first.hash);
  expect(first.trace.length).toBeGreaterThan(50);
});

test("a scenario that was serialized to JSON and back is the same run", async () => {
  const scenario = scenarioOf(6, { workload });
  const copy = JSON.parse(JSON.stringify(scenario)) as typeof scenario;
  const { hash } = await runScenario(workload, scenario);
  expect((await runScenario(workload, copy)).hash).toBe(hash);
});

test("keeping the trace changes nothing", async () => {
  const scenario = scenarioOf(9, { workload });
  const { hash } = await runScenario(workload, scenario);
  expect((await runScenario(workload, scenario, { trace: true })).hash).toBe(hash);
});

test("different seeds are different runs", async () => {
  const hashes = new Set<string>();
  for (const seed of [1, 2, 4]) {
    hashes.add((await runScenario(workload, scenarioOf(seed, { workload }))).hash);
  }
  expect(hashes.size).toBe(3);
});

test("minimizing keeps the violation and drops the rest", { timeout: 120_000 }, async () => {
  const sabotage: Sabotage = (real) => ({
    commit: (items) =>
      real.commit(
        items.map((item) =>
          item.kind === "turn"
            ? { ...item, timers: item.timers.map((timer) => ({ ...timer, delayMs: 0 })) }
            : item,
        ),
      ),
  });
  const scenario = scenarioOf(12, { workload });
  const smallest = await minimize(workload, scenario, { sabotage, triesMax: 120 });
  expect(smallest.result.violations[0]?.invariant).toBe("C10");
  expect(smallest.scenario.plan.jobs.length).toBeLessThan(scenario.plan.jobs.length);
  expect(smallest.scenario.faults.events.length).toBeLessThan(scenario.faults.events.length + 1);
  expect(JSON.stringify(smallest.scenario).length).toBeLessThan(
    JSON.stringify(scenario).length / 2,
  );
});
