// Every TypeScript block of README.md and docs/ compiles against the source, with the names that the package exports, or
// shows a file of examples/.

import { expect, test } from "vitest";
import { asPackageUser, docProblems, PRELUDES } from "../support/doc-blocks.ts";
import { readSources } from "../support/source-files.ts";

const pages = readSources("README.md", "docs/**/*.md");
const examples = readSources("examples/**/*.ts");
const problems = docProblems(pages, readSources(`${PRELUDES}/*.ts`), examples);

test.each(pages.map(({ path }) => path))("%s", (path) => {
  expect(problems.filter((problem) => problem.startsWith(`${path}:`))).toEqual([]);
});

test("there are no problems outside the pages", () => {
  const isOnPage = (problem: string) => pages.some(({ path }) => problem.startsWith(`${path}:`));
  expect(problems.filter((problem) => !isOnPage(problem))).toEqual([]);
});

const recipes = examples.filter(({ path }) => path.startsWith("examples/cookbook/"));

test.each(recipes)(
  "$path has a page of the cookbook that shows all of its code",
  ({ path, text }) => {
    const name = path.replace("examples/cookbook/", "docs/cookbook/").replace(/\.ts$/, ".md");
    const code = asPackageUser(text).replace(/^(?:\/\/.*\n)+\n/, ""); // without its head comment
    expect(pages.find((page) => page.path === name)?.text).toContain(`\`\`\`ts\n${code}\`\`\`\n`);
  },
);
