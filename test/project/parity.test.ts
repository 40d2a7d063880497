// docs/contributing/parity.md has a row for every feature and test of duroxide. These tests check its rows and references.
//   A row ends with references: a file in backticks, then titles of its tests, or their beginnings, in quotes. A title
//   that the file builds from a template is cited by its literal part.

import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { projectRoot } from "../support/source-files.ts";

interface Row {
  readonly section: string;
  readonly cells: readonly string[];
}
interface Reference {
  readonly file: string;
  readonly title: string;
}

/** The number of rows of each part of the report about duroxide. */
const ROWS: Readonly<Record<string, number>> = {
  "1.1": 27,
  "1.2": 5,
  "1.3": 20,
  "1.4": 26,
  "1.5": 8,
  "1.6": 7,
  "1.7": 13,
  "1.8": 10,
  "1.9": 19,
  "3.1": 49,
  "3.2": 19,
  "3.3": 19,
  "3.4": 12,
  Bugs: 48,
  Shortcomings: 12,
};
/** The number of duroxide's tests in a section, if the page has it. */
const COUNTS: Readonly<Record<string, number>> = { "3.2": 191 + 83, "3.3": 213, "3.4": 149 };

const page = readFileSync(join(projectRoot, "docs/contributing/parity.md"), "utf8");
const rows = tableRows(page);

describe("the parity page", () => {
  test("has every row of every part", () => {
    const found: Record<string, number> = {};
    for (const { section } of rows) found[section] = (found[section] ?? 0) + 1;
    expect(found).toEqual(ROWS);
  });

  test("accounts for all tests of duroxide", () => {
    const sums: Record<string, number> = {};
    for (const { section, cells } of rows) {
      if (section in COUNTS) sums[section] = (sums[section] ?? 0) + Number(cells[1]);
    }
    expect(sums).toEqual(COUNTS);
  });

  test("names a test in every row", () => {
    const open = rows.filter(({ cells }) => references(cells.at(-1) ?? "").length === 0);
    expect(open.map(({ cells }) => cells[0])).toEqual([]);
    expect(page).not.toMatch(/\b(?:later|todo|tbd|open|missing):/i);
  });

  test("names only existing files and titles", () => {
    const named = rows.flatMap(({ cells }) => references(cells.at(-1) ?? ""));
    expect(named.length).toBeGreaterThan(500);
    expect(named.filter((reference) => !exists(reference))).toEqual([]);
  });

  test("names every scenario and program", () => {
    const files = globSync(["scenarios/**/*.test.ts", "features/programs/*.test.ts"], {
      cwd: join(projectRoot, "test"),
    });
    const unnamed = files.map((path) => path.replaceAll("\\", "/"));
    expect(unnamed.filter((file) => !page.includes(`\`${file}\``))).toEqual([]);
  });
});

test("the page about replay names only existing files", () => {
  const replay = readFileSync(join(projectRoot, "docs/contributing/parity-replay.md"), "utf8");
  const modules = tableRows(replay).filter(({ cells }) => /^\d+$/.test(cells[1] ?? ""));
  expect(modules).toHaveLength(18);
  for (const { cells } of modules) {
    const files = [...(cells.at(-1) ?? "").matchAll(/`([\w-]+)`/g)].map(([, name]) => name);
    expect(files, cells[0]).not.toEqual([]);
    const missing = files.filter(
      (name) => globSync(testPath(`replay/**/${name}.test.ts`)).length === 0,
    );
    expect(missing, cells[0]).toEqual([]);
  }
});

describe("the check itself", () => {
  test("detects a missing file or title", () => {
    const file = "project/parity.test.ts";
    const here = "detects a missing file or title";
    expect(exists({ file, title: here })).toBe(true);
    expect(exists({ file, title: here.slice(0, 12) })).toBe(true);
    expect(exists({ file: "nowhere.test.ts", title: here })).toBe(false);
    expect(exists({ file, title: `${here}, either` })).toBe(false);
    const middle = here.split(" ").slice(1).join(" ");
    expect(exists({ file, title: middle })).toBe(false);
  });

  test("parses rows and references", () => {
    const text =
      '## 9.9 Part\n\n| a | b |\n| --- | --- |\n| `x` | `f.test.ts` "one", "two" · `g.ts` "3" |\n';
    const [row] = tableRows(text);
    expect(row).toMatchObject({ section: "9.9", cells: ["`x`", expect.any(String)] });
    expect(references(row?.cells[1] ?? "")).toEqual([
      { file: "f.test.ts", title: "one" },
      { file: "f.test.ts", title: "two" },
      { file: "g.ts", title: "3" },
    ]);
  });
});

/** Rows of all tables, with the first word of the heading above them. */
function tableRows(text: string): readonly Row[] {
  let section = "";
  const found: Row[] = [];
  const lines = text.split("\n");
  for (const [index, line] of lines.entries()) {
    section = /^## (\S+)/.exec(line)?.[1] ?? section;
    const isRule = /^\| *:?-/.test(line);
    const isHead = /^\| *:?-/.test(lines[index + 1] ?? "");
    if (!line.startsWith("|") || isRule || isHead) continue;
    const cells = line.split(" | ").map((cell) => cell.replaceAll(/^\| | \|$/g, "").trim());
    found.push({ section, cells });
  }
  return found;
}

/** Every title in quotes, with the file named last before it. */
function references(cell: string): readonly Reference[] {
  let file = "";
  return [...cell.matchAll(/`([\w./-]+\.ts)`|"([^"]+)"/g)].flatMap(([, named, title]) => {
    if (named !== undefined) file = named;
    return title === undefined ? [] : [{ file, title }];
  });
}

function exists({ file, title }: Reference): boolean {
  const path = testPath(file);
  if (file === "" || !existsSync(path)) return false;
  const text = readFileSync(path, "utf8");
  const starts = ['"', "'", "`", "} ", "%s "].map((before) => before + title);
  return starts.some((start) => text.includes(start));
}

function testPath(file: string): string {
  return join(projectRoot, file.startsWith("src/") ? "" : "test", file);
}
