// Every TypeScript block of README.md and docs/ compiles against the source, with the names that the package exports.

import { expect, test } from "vitest";
import { docProblems, PRELUDES } from "../support/doc-blocks.ts";
import { readSources } from "../support/source-files.ts";

const pages = readSources("README.md", "docs/**/*.md");
const problems = docProblems(pages, readSources(`${PRELUDES}/*.ts`));

test.each(pages.map(({ path }) => path))("%s", (path) => {
  expect(problems.filter((problem) => problem.startsWith(`${path}:`))).toEqual([]);
});

test("there are no problems outside the pages", () => {
  const isOnPage = (problem: string) => pages.some(({ path }) => problem.startsWith(`${path}:`));
  expect(problems.filter((problem) => !isOnPage(problem))).toEqual([]);
});
