// Tests do not compare elapsed real time with a limit: on a busy machine such a test fails without a bug.

import { expect, test } from "vitest";
import { readSources } from "../support/source-files.ts";

const ELAPSED = String.raw`(?:performance|Date)\.now\(\)\s*-`;
const LIMIT = String.raw`\)\s*\.toBeLessThan`;

/** The assertions on elapsed time in a source text. */
function limits(text: string): string[] {
  const direct = [...text.matchAll(new RegExp(`expect\\(\\s*${ELAPSED}[^;]*?${LIMIT}`, "g"))];
  const named = [...text.matchAll(new RegExp(`(\\w+)\\s*=\\s*${ELAPSED}`, "g"))].flatMap(
    ([, name]) => [...text.matchAll(new RegExp(`expect\\(\\s*${name}\\b[^;]*?${LIMIT}`, "g"))],
  );
  return [...direct, ...named].map(([found]) => found);
}

test("no test compares elapsed real time with a limit", () => {
  const found = readSources("test/**/*.test.ts").flatMap(({ path, text }) =>
    path === "test/project/wall-clock.test.ts"
      ? []
      : limits(text).map((each) => `${path}: ${each}`),
  );
  expect(found).toEqual([]);
});

test.each([
  "expect(performance.now() - began).toBeLessThan(5_000);",
  "const took = Date.now() - began;\nexpect(took).toBeLessThanOrEqual(10);",
])("this assertion is found: %s", (text) => {
  expect(limits(text)).toHaveLength(1);
});

test("a limit on virtual time is allowed", () => {
  const text = "const took = environment.now() - began;\nexpect(took).toBeLessThan(500);";
  expect(limits(text)).toEqual([]);
});
