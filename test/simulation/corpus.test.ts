// The corpus: scenarios that once failed, as small as they could be made, each with the bug that it was. They stay
// for ever; one is added whenever the simulation finds a bug (`npm run simulate -- --seed N --minimize --out FILE`).

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  programs,
  runScenario,
  type ProgramsPlan,
  type Scenario,
} from "../../src/testing/simulation/index.ts";

interface Entry {
  readonly name: string;
  readonly bug: string;
  /** What it violated. */
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

test("the corpus is there, and every name in it is its own", () => {
  expect(corpus.length).toBeGreaterThan(5);
  expect(new Set(corpus.map(({ name }) => name)).size).toBe(corpus.length);
});
