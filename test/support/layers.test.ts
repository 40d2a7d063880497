import { describe, expect, test } from "vitest";
import { forbiddenImports, layerOf, MAY_IMPORT } from "./layers.ts";

test("a layer is a folder of src/, and the files in src/ are one layer", () => {
  expect(layerOf("src/core/lease.ts")).toBe("core");
  expect(layerOf("src/core/provider/queue.ts")).toBe("core");
  expect(layerOf("src/index.ts")).toBe("index");
  expect(layerOf("src/perdure.ts")).toBe("index");
  expect(layerOf("src/other/file.ts")).toBeUndefined();
  expect(layerOf("test/support/layers.ts")).toBeUndefined();
});

test("the tables name only existing layers", () => {
  for (const targets of Object.values(MAY_IMPORT)) {
    for (const target of targets) expect(MAY_IMPORT).toHaveProperty(target);
  }
});

describe("a violation is listed with its file and line", () => {
  test.each([
    [
      "src/core/a.ts",
      'import type { B } from "../runtime/b.ts";',
      "imports runtime (src/runtime/b.ts), which core may not",
    ],
    [
      "src/core/provider/a.ts",
      'export * from "../../client/b.ts";',
      "imports client (src/client/b.ts), which core may not",
    ],
    [
      "src/runtime/a.ts",
      'const b = await import("../client/b.ts");',
      "imports client (src/client/b.ts), which runtime may not",
    ],
    [
      "src/index.ts",
      'import { b } from "./sqlite/index.ts";',
      "imports sqlite (src/sqlite/index.ts) other than by import()",
    ],
    [
      "src/core/a.ts",
      'import { b } from "../../test/b.ts";',
      "imports test/b.ts, which is outside the layers",
    ],
    ["src/core/a.ts", 'import { b } from "./b.test.ts";', "imports the test src/core/b.test.ts"],
    ["src/core/a.ts", 'import fs from "node:fs";', "imports node:fs, which core may not"],
    [
      "src/runtime/a.ts",
      'import { setTimeout } from "node:timers/promises";',
      "imports node:timers/promises, which runtime may not",
    ],
    ["src/core/a.ts", 'import fs from "fs";', "imports fs, which core may not"],
    ["src/sqlite/a.ts", 'import pg from "pg";', "imports pg, which sqlite may not"],
    [
      "src/core/a.ts",
      'import { createHash, randomInt } from "node:crypto";',
      "takes randomInt from node:crypto; core may take createHash, hash, Hash",
    ],
    [
      "src/core/a.ts",
      'import * as crypto from "node:crypto";',
      "takes * from node:crypto; core may take createHash, hash, Hash",
    ],
  ])("%s: %s", (path, text, violation) => {
    expect(forbiddenImports({ path, text: `// top\n${text}` })).toEqual([`${path}:2 ${violation}`]);
  });

  test("a file outside every layer", () => {
    expect(forbiddenImports({ path: "src/misc/a.ts", text: "" })).toEqual([
      "src/misc/a.ts:1 belongs to no layer",
    ]);
  });
});

test.each([
  ["src/core/a.ts", 'import { b } from "./b.ts";'],
  ["src/core/a.ts", 'import { createHash } from "node:crypto";'],
  ["src/core/time/system-environment.ts", 'import { randomFillSync } from "node:crypto";'],
  ["src/runtime/a.ts", 'import { b } from "../core/b.ts";'],
  ["src/index.ts", 'const b = await import("./sqlite/index.ts");'],
  ["src/postgres/a.ts", 'import pg from "pg";'],
  ["src/cli/main.ts", 'import { b } from "../index.ts";'],
])("allowed in %s: %s", (path, text) => {
  expect(forbiddenImports({ path, text })).toEqual([]);
});
