// docs/security.md is accurate: every check has its row, and every test that a row names exists.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ROUTES } from "../../../src/server/routes/index.ts";

const rows = readFileSync("docs/security.md", "utf8")
  .split("\n")
  .filter((line) => /^\| S\d+ +\|/.test(line))
  .map((line) => {
    const [number = "", , how = "", shown = ""] = line.split(" | ").map((cell) => cell.trim());
    return { number: number.replace(/^\| /, "").trim(), how, shown };
  });

test("every check from S1 to S44 has one row, which names a test or a gap", () => {
  expect(rows.map(({ number }) => number)).toEqual(
    Array.from({ length: 44 }, (_none, index) => `S${index + 1}`),
  );
  expect(rows.filter(({ how, shown }) => how === "" || !/"|Gap:/.test(shown))).toEqual([]);
});

test("every test that a row names is in the named file", () => {
  const missing: string[] = [];
  let named = 0;
  for (const { number, shown } of rows) {
    for (const [, file = "", titles = ""] of shown.matchAll(
      /`([\w/.-]+\.test\.ts)`: ((?:"[^"]+"(?:, )?)+)/g,
    )) {
      const source = readFileSync(file, "utf8");
      for (const [, title = ""] of titles.matchAll(/"([^"]+)"/g)) {
        named += 1;
        if (!source.includes(title.replaceAll("\\*", "*")))
          missing.push(`${number} ${file}: ${title}`);
      }
    }
  }
  expect(missing).toEqual([]);
  expect(named).toBeGreaterThan(40);
});

test("docs/http-api.md names every route", () => {
  const page = readFileSync("docs/http-api.md", "utf8");
  const unnamed = ROUTES.filter(({ path }) => {
    const parts = path.split("/").filter((part) => part !== "" && !part.startsWith(":"));
    return !parts.every((part) => page.includes(part));
  });
  expect(unnamed.map(({ path }) => path)).toEqual([]);
});
