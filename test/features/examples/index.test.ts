// Every example has a program, a README and a test, and is listed in examples/README.md. The recipes of the cookbook are
// parts of programs: they have pages in docs/cookbook, and tests in test/features/cookbook.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../support/source-files.ts";

const names = globSync("examples/*/", { cwd: projectRoot })
  .map((path) => path.split("/")[1] ?? "")
  .filter((name) => name !== "cookbook");

test("there are examples", () => {
  expect(names.length).toBeGreaterThan(5);
});

test.each(names)("%s has a program, a README, a test and an entry in the list", (name) => {
  const list = readFileSync(join(projectRoot, "examples/README.md"), "utf8");
  expect(list).toContain(`[${name}](${name}/README.md)`);
  for (const file of [`examples/${name}/README.md`, `test/features/examples/${name}.test.ts`]) {
    expect(existsSync(join(projectRoot, file)), file).toBe(true);
  }
  expect(existsSync(join(projectRoot, `examples/${name}/main.ts`)), "main.ts").toBe(true);
});

test("every recipe of the cookbook is imported by a test", () => {
  const recipes = globSync("examples/cookbook/*.ts", { cwd: projectRoot });
  const tests = globSync("test/features/cookbook/*.test.ts", { cwd: projectRoot })
    .map((path) => readFileSync(join(projectRoot, path), "utf8"))
    .join("\n");
  expect(recipes.length).toBeGreaterThan(10);
  expect(recipes.filter((path) => !tests.includes(`/${path}"`))).toEqual([]);
});
