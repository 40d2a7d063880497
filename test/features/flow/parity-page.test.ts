// Checks that the files and titles cited in docs/contributing/parity-flows.md exist, and that the page covers the whole inventory.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../../support/source-files.ts";

const page = readFileSync(join(projectRoot, "docs/contributing/parity-flows.md"), "utf8");
const rows = page.split("\n").filter((line) => line.startsWith("| "));

function pathOf(file: string): string {
  const conformance = file.replace(/^conformance\//, "src/testing/conformance/");
  return join(projectRoot, conformance === file ? join("test", file) : conformance);
}

/** Every title in quotes, with the file named last before it in the last cell of its row. */
function titles(): { file: string; title: string }[] {
  return rows.flatMap((row) => {
    const cell = row.split(/(?<!\\)\|/).at(-2) ?? "";
    let file = "";
    return [...cell.matchAll(/`([\w-]+\/[\w./-]+\.ts)`|"([^"]+)"/g)].flatMap(([, named, title]) => {
      if (named !== undefined) file = named;
      return title === undefined || file === "" ? [] : [{ file, title }];
    });
  });
}

test("every cited title exists in its file", () => {
  const found = titles();
  expect(found.length).toBeGreaterThan(150);
  const missing = found.filter(({ file, title }) => {
    return !existsSync(pathOf(file)) || !readFileSync(pathOf(file), "utf8").includes(title);
  });
  expect(missing).toEqual([]);
});

test("every rule and every trap has a row", () => {
  const first = rows.map((row) => row.split("|")[1]?.trim() ?? "");
  const rules = first.flatMap((cell) => /^(\d+)(?:, (\d+))? /.exec(cell)?.slice(1) ?? []);
  const numbers = rules.flatMap((rule) => (rule === undefined ? [] : [Number(rule)]));
  expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 54 }, (_, n) => n + 1));
  const traps = first.filter((cell) => /^T\d+$/.test(cell));
  expect(traps).toEqual(Array.from({ length: 40 }, (_, n) => `T${n + 1}`));
});

test("every row of rules and traps cites a file", () => {
  const cells = rows
    .filter((row) => /^\| (\d+[, ]|T\d+ )/.test(row))
    .map((row) => row.split("|").at(-2) ?? "");
  for (const cell of cells) expect(cell).toMatch(/\.ts|\.md/);
});
