// The sabotage lists fit the sources. `npm run sabotage` is too long for every run, so this test finds a patch that no
// longer applies.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../support/source-files.ts";
import { PATCHES, type Patch } from "./patches.ts";
import { SQL_PATCHES } from "./sql-patches.ts";

test.each([
  ["bugs", PATCHES],
  ["sql", SQL_PATCHES],
])(
  "every patch of the list %s matches one place in its file, and its tests exist",
  (_, patches) => {
    expect(patches.flatMap(problemsOf)).toEqual([]);
  },
);

function problemsOf({ bug, file, from, to, tests }: Patch, index: number): readonly string[] {
  const places = readFileSync(join(projectRoot, file), "utf8").split(from).length - 1;
  const name = `${index + 1}. ${bug}`;
  return [
    ...(places === 1 ? [] : [`${name}: matches ${places} places in ${file}`]),
    ...(from === to ? [`${name}: changes nothing`] : []),
    ...tests
      .filter((path) => !existsSync(join(projectRoot, path)))
      .map((path) => `${name}: ${path} does not exist`),
  ];
}
