// Every example has a program, a README and a test, and is listed in examples/README.md.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../support/source-files.ts";

const names = globSync("examples/*/", { cwd: projectRoot }).map((path) => path.split("/")[1] ?? "");

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
