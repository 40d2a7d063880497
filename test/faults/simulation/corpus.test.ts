// The corpus: minimized scenarios that once failed, each with the bug it revealed. Entries stay forever; add one
// whenever the simulation finds a bug (`npm run simulate -- --seed N --minimize --out FILE`).

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  programs,
  runScenario,
  type ProgramsPlan,
  type Scenario,
} from "../../../src/testing/simulation/index.ts";

interface Entry {
  readonly name: string;
  readonly bug: string;
  /** The invariant that the scenario violated. */
  readonly invariant: string;
  readonly scenario: Scenario<ProgramsPlan>;
}
const path = join(import.meta.dirname, "corpus.json");
const corpus = JSON.parse(readFileSync(path, "utf8")) as readonly Entry[];

test.each(corpus)("$name: $bug", async ({ scenario }) => {
  const { violations, statistics } = await runScenario(programs(), scenario);
  expect(violations).toEqual([]);
  expect(statistics.events).toBeGreaterThan(0);
});

test("the corpus has entries, and their names are unique", () => {
  expect(corpus.length).toBeGreaterThan(5);
  expect(new Set(corpus.map(({ name }) => name)).size).toBe(corpus.length);
});
