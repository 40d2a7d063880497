// Every example is a program with a README and a test, and is listed.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../support/source-files.ts";

const names = globSync("examples/*/", { cwd: projectRoot }).map((path) => path.split("/")[1] ?? "");

test("there are examples", () => {
  expect(names.length).toBeGreaterThan(5);
});

test.each(names)("%s", (name) => {
  const list = readFileSync(join(projectRoot, "examples/README.md"), "utf8");
  expect(list).toContain(`[${name}](${name}/README.md)`);
  for (const file of [`examples/${name}/README.md`, `test/examples/${name}.test.ts`]) {
    expect(existsSync(join(projectRoot, file)), file).toBe(true);
  }
  expect(existsSync(join(projectRoot, `examples/${name}/main.ts`)), "main.ts").toBe(true);
});
