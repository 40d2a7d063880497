// Callers never need a cast. Every file of test/project/types/ compiles, and every `@ts-expect-error` in it covers an
// error. A new file there is a new test here.

import { expect, test } from "vitest";
import { readSources } from "../support/source-files.ts";
import { typeCheck } from "../support/type-check.ts";

const files = readSources("test/project/types/**/*.ts");
const problems = typeCheck(files);

test.each(files.map(({ path }) => path))("%s", (path) => {
  const own = problems.filter((problem) => problem.path === path);
  expect(own.map(({ line, message }) => `${path}:${line} ${message}`)).toEqual([]);
});

test("there are no problems outside these files", () => {
  const paths = new Set(files.map(({ path }) => path));
  expect(problems.filter(({ path }) => !paths.has(path))).toEqual([]);
});
