// docs/parity.md names files and titles; this holds it to them.

import { existsSync, globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../support/source-files.ts";

const page = readFileSync(join(projectRoot, "docs/parity.md"), "utf8");
const folder = join(projectRoot, "test/scenarios");

/** Every title in quotes, with the file named last before it in its row. */
function titles(): { file: string; title: string }[] {
  return page.split("\n").flatMap((row) => {
    if (!row.startsWith("| ")) return [];
    let file = "";
    return [...row.matchAll(/`([\w-]+\.test\.ts)`|"([^"|]+)"/g)].flatMap(([, named, title]) => {
      if (named !== undefined) file = named;
      return title === undefined ? [] : [{ file, title }];
    });
  });
}

test("every title on the parity page is one of its file's", () => {
  const found = titles();
  expect(found.length).toBeGreaterThan(150);
  const missing = found.filter(({ file, title }) => {
    const path = join(folder, file);
    return file === "" || !existsSync(path) || !readFileSync(path, "utf8").includes(title);
  });
  expect(missing).toEqual([]);
});

test("every scenario file is named on the parity page", () => {
  const files = globSync("*.test.ts", { cwd: folder }).map((path) => basename(path));
  expect(files.filter((file) => !page.includes(`\`${file}\``))).toEqual([]);
});

test("every row of the original's inventory has its place", () => {
  const rows = page.split("\n").filter((row) => /^\| `[\w/]+` +\| +\d+ /.test(row));
  expect(rows.length).toBe(49);
  for (const row of rows) {
    expect(row, row).toMatch(/\.test\.ts|later: |test\/conformance|bench\/|support\//);
  }
});
