// The docs tell the truth: every TypeScript block of README.md and docs/ compiles against the source,
// under the names that the package exports.

import { expect, test } from "vitest";
import { docProblems, PRELUDES } from "./support/doc-blocks.ts";
import { readSources } from "./support/source-files.ts";

const pages = readSources("README.md", "docs/**/*.md");
const problems = docProblems(pages, readSources(`${PRELUDES}/*.ts`));

test.each(pages.map(({ path }) => path))("%s", (path) => {
  expect(problems.filter((problem) => problem.startsWith(`${path}:`))).toEqual([]);
});

test("nothing else is wrong", () => {
  const own = (problem: string) => pages.some(({ path }) => problem.startsWith(`${path}:`));
  expect(problems.filter((problem) => !own(problem))).toEqual([]);
});
