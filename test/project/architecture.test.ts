// Conventions of the project, as tests, so that they do not depend on a linter. Each test lists violations as
// `file:line what`. The scanners have their own tests in test/support.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import {
  forbiddenImports,
  isTestFile,
  layerOf,
  MAY_IMPORT,
  MAY_IMPORT_LAZILY,
  SYSTEM_ENVIRONMENT,
  type Layer,
} from "../support/layers.ts";
import { readSources } from "../support/source-files.ts";
import {
  countLines,
  findFocusedOrSkipped,
  findTimeAndRandomness,
  findUntrackedTodos,
  opensWithComment,
  type Place,
  type SourceText,
} from "../support/source-scan.ts";

const SRC_LINES_MAX = 400;
const ENTRIES_MAX = 26;

const everything = readSources("{src,test,demo,bench,scripts,examples}/**/*.ts");
const src = readSources("src/**/*.{ts,sql}");
const product = src.filter(({ path }) => path.endsWith(".ts") && !isTestFile(path));

test("the sources were found", () => {
  expect(product.length).toBeGreaterThan(0);
  expect(everything.map(({ path }) => path)).toContain("test/project/architecture.test.ts");
});

test("a file imports only what its layer allows", () => {
  expect(product.flatMap(forbiddenImports)).toEqual([]);
});

test("ARCHITECTURE.md shows the table of layers, each layer once", () => {
  const page = readFileSync(new URL("../../ARCHITECTURE.md", import.meta.url), "utf8");
  const [, table = ""] = /### Layers\n([\s\S]*?)\n`test/.exec(page) ?? [];
  const names = (cell: string): string[] =>
    [...cell.matchAll(/`([a-z-]+)`/g)].map(([, name = ""]) => name);
  const shown = table.split("\n").flatMap((line) => {
    const [, layers = "", imports = ""] = line.split("|");
    const allowed = imports.includes("everything") ? ["everything"] : names(imports).toSorted();
    return names(layers).map((layer) => `${layer}: ${allowed.join(", ")}`);
  });
  const expected = Object.entries(MAY_IMPORT).map(([layer, imports]) => {
    const lazily = MAY_IMPORT_LAZILY[layer as Layer] ?? [];
    const allowed = layer === "cli" ? ["everything"] : [...imports, ...lazily].toSorted();
    return `${layer}: ${allowed.join(", ")}`;
  });
  expect(shown.toSorted()).toEqual(expected.toSorted());
});

test("core and runtime take time and randomness only from their environment", () => {
  const governed = product.filter(({ path }) => {
    const layer = layerOf(path);
    return (layer === "core" || layer === "runtime") && path !== SYSTEM_ENVIRONMENT;
  });
  expect(listed(governed, findTimeAndRandomness)).toEqual([]);
});

test("a source file begins with a comment about its role", () => {
  const undocumented = src.filter(
    (source) => !isTestFile(source.path) && !opensWithComment(source),
  );
  expect(undocumented.map(({ path }) => `${path}:1`)).toEqual([]);
});

test(`no source file is longer than ${SRC_LINES_MAX} lines`, () => {
  const long = src.filter(({ text }) => countLines(text) > SRC_LINES_MAX);
  expect(long.map(({ path, text }) => `${path}:${countLines(text)}`)).toEqual([]);
});

test(`no folder lists more than ${ENTRIES_MAX} entries`, () => {
  const entries = new Map<string, Set<string>>();
  for (const { path } of [...everything, ...src]) {
    const parts = path.split("/");
    for (let depth = 1; depth < parts.length; depth++) {
      const folder = parts.slice(0, depth).join("/");
      entries.set(folder, (entries.get(folder) ?? new Set()).add(parts[depth] ?? ""));
    }
  }
  const full = [...entries].filter(([, names]) => names.size > ENTRIES_MAX);
  expect(full.map(([folder, names]) => `${folder}: ${names.size}`)).toEqual([]);
});

test("every TODO names its issue", () => {
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
