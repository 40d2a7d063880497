// The corpus: minimized scenarios that once failed, each with the bug it revealed. Entries stay forever; add one
// whenever the simulation finds a bug (`npm run simulate -- --seed N --minimize --out FILE`).

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  lostTail,
  programs,
  runScenario,
  type ProgramsPlan,
  type RunResult,
  type Scenario,
} from "../../../src/testing/simulation/index.ts";

interface Entry {
  readonly name: string;
  readonly bug: string;
  /** The invariant that the scenario violated. */
  readonly invariant: string;
  readonly scenario: Scenario<ProgramsPlan>;
}
/** A scenario of the workload for a store that loses its last commits. */
interface LostTailEntry extends Omit<Entry, "scenario"> {
  readonly workload: "lost tail";
  readonly scenario: Scenario<null>;
}
const path = join(import.meta.dirname, "corpus.json");
const corpus = JSON.parse(readFileSync(path, "utf8")) as readonly (Entry | LostTailEntry)[];

test.each(corpus)("$name: $bug", async (entry) => {
  const { violations, statistics } = await run(entry);
  expect(violations).toEqual([]);
  expect(statistics.events).toBeGreaterThan(0);
});

test("the corpus has entries, and their names are unique", () => {
  expect(corpus.length).toBeGreaterThan(5);
  expect(new Set(corpus.map(({ name }) => name)).size).toBe(corpus.length);
});

function run(entry: Entry | LostTailEntry): Promise<RunResult> {
  if ("workload" in entry) return runScenario(lostTail(), entry.scenario);
  return runScenario(programs(), entry.scenario);
}
