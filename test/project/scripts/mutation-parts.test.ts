// The parts of the mutation tests name files that exist, so that a file that moves is still mutated and tested.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { filesOf, PARTS, partNamed } from "../../../scripts/mutation/parts.ts";

test.each(PARTS)("every pattern of the part $name matches files", ({ mutate, tests }) => {
  const sources = filesOf(mutate);
  expect(sources.length).toBeGreaterThan(0);
  expect(new Set(sources).size).toBe(sources.length);
  expect(filesOf(tests).length).toBeGreaterThan(0);
});

test("no file is mutated in two parts", () => {
  const files = PARTS.flatMap(({ mutate }) => filesOf(mutate));
  expect(files.filter((file, index) => files.indexOf(file) !== index)).toEqual([]);
});

test("a pattern without a file is refused, also as one of several alternatives", () => {
  expect(filesOf(["src/core/history/{matching,rows}.ts"])).toHaveLength(2);
  expect(() => filesOf(["src/core/history/{matching,moved}.ts"])).toThrow(
    "No file matches src/core/history/moved.ts.",
  );
});

test("every equivalent mutant has a reason and a line of its file", () => {
  for (const { mutate, equivalent = [] } of PARTS) {
    for (const { file, lines, because } of equivalent) {
      const source = readFileSync(file, "utf8").split("\n");
      const known = new Set(source.map((line) => line.trim()));
      expect(lines.filter((line) => !known.has(line))).toEqual([]);
      expect(because.length).toBeGreaterThan(40);
      expect(filesOf(mutate)).toContain(file);
    }
  }
});

test("an unknown part is refused with the names of all parts", () => {
  expect(() => partNamed("renewal")).toThrow(/Unknown part renewal; choose from .*codec, /);
});
