// The project's manners, held by a test so that no change of linter can lose them. Each test lists
// what is wrong as `file:line what`; the scanners it asks have tests of their own beside them.

import { expect, test } from "vitest";
import { forbiddenImports, isTestFile, layerOf, SYSTEM_ENVIRONMENT } from "./support/layers.ts";
import { readSources } from "./support/source-files.ts";
import {
  countLines,
  findFocusedOrSkipped,
  findTimeAndChance,
  findUntrackedTodos,
  opensWithComment,
  type Place,
  type SourceText,
} from "./support/source-scan.ts";

const SRC_LINES_MAX = 400;

const everything = readSources("{src,test,demo,bench,scripts,examples}/**/*.ts");
const src = readSources("src/**/*.{ts,sql}");
const product = src.filter(({ path }) => path.endsWith(".ts") && !isTestFile(path));

test("the sources were found", () => {
  expect(product.length).toBeGreaterThan(0);
  expect(everything.map(({ path }) => path)).toContain("test/architecture.test.ts");
});

test("a file imports only what its layer may", () => {
  expect(product.flatMap(forbiddenImports)).toEqual([]);
});

test("core and runtime take time and chance from their environment alone", () => {
  const governed = product.filter(({ path }) => {
    const layer = layerOf(path);
    return (layer === "core" || layer === "runtime") && path !== SYSTEM_ENVIRONMENT;
  });
  expect(listed(governed, findTimeAndChance)).toEqual([]);
});

test("a source file opens with a comment that says its role", () => {
  const silent = src.filter((source) => !isTestFile(source.path) && !opensWithComment(source));
  expect(silent.map(({ path }) => `${path}:1`)).toEqual([]);
});

test(`no source file is longer than ${SRC_LINES_MAX} lines`, () => {
  const long = src.filter(({ text }) => countLines(text) > SRC_LINES_MAX);
  expect(long.map(({ path, text }) => `${path}:${countLines(text)}`)).toEqual([]);
});

test("work left for later names its issue", () => {
  expect(listed(everything, findUntrackedTodos)).toEqual([]);
});

test("no test is focused or skipped", () => {
  expect(listed(everything, findFocusedOrSkipped)).toEqual([]);
});

function listed(sources: readonly SourceText[], find: (source: SourceText) => Place[]): string[] {
  return sources.flatMap((source) =>
    find(source).map(({ line, what }) => `${source.path}:${line} ${what}`),
  );
}
