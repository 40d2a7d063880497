import { describe, expect, test } from "vitest";
import {
  countLines,
  findFocusedOrSkipped,
  findImports,
  findTimeAndRandomness,
  findUntrackedTodos,
  opensWithComment,
} from "./source-scan.ts";

const source = (text: string, path = "src/core/file.ts") => ({ path, text });
const lines = (...text: string[]) => source(text.join("\n"));

describe("imports are found in every form (source-scan.2)", () => {
  test.each([
    ['import "./a.ts";', []],
    ['import a from "./a.ts";', ["*"]],
    ['import * as a from "./a.ts";', ["*"]],
    ['import { a, b as c } from "./a.ts";', ["a", "b"]],
    ['import type { A } from "./a.ts";', ["A"]],
    ['import { type A } from "./a.ts";', ["A"]],
    ['export * from "./a.ts";', ["*"]],
    ['export * as a from "./a.ts";', ["*"]],
    ['export { a as b } from "./a.ts";', ["a"]],
    ['export type { A } from "./a.ts";', ["A"]],
    ['type A = import("./a.ts").A;', ["A"]],
    ['type A = typeof import("./a.ts");', ["*"]],
  ])("%s", (text, names) => {
    expect(findImports(source(text))).toEqual([
      { line: 1, specifier: "./a.ts", lazy: false, names },
    ]);
  });

  test.each([
    'const a = await import("./a.ts");',
    "const a = await import(`./a.ts`);",
    'const a = require("./a.ts");',
    'const a = new Worker(new URL("./a.ts", import.meta.url));',
  ])("%s", (text) => {
    expect(findImports(source(text))).toMatchObject([{ specifier: "./a.ts", lazy: true }]);
  });

  test("the reported line is that of the specifier", () => {
    const found = findImports(lines("// top", "import {", "  a,", '} from "./a.ts";'));
    expect(found.map(({ line }) => line)).toEqual([4]);
  });

  test("strings and comments are not imports", () => {
    const text = ["const a = 'import \"./a.ts\"';", '// import "./b.ts";', "export { a };"];
    expect(findImports(lines(...text))).toEqual([]);
  });
});

describe("clock, timers and randomness are found (source-scan.1)", () => {
  test.each([
    ["const a = Date.now();", "Date.now"],
    ["const a = Date.now;", "Date.now"],
    ["const a = globalThis.Date.now();", "Date.now"],
    ['const a = Date["now"]();', "Date.now"],
    ["const { now } = Date;", "Date.now"],
    ["const { now: clock } = performance;", "performance.now"],
    ["const a = performance.now();", "performance.now"],
    ["const a = Math.random();", "Math.random"],
    ["const a = new Date();", "new Date()"],
    ["const a = new Date;", "new Date()"],
    ["const a = Date();", "new Date()"],
    ["setTimeout(f, 1);", "setTimeout"],
    ["globalThis.setTimeout(f, 1);", "setTimeout"],
    ['globalThis["setTimeout"](f, 1);', "setTimeout"],
    ["setInterval(f, 1);", "setInterval"],
    ["setImmediate(f);", "setImmediate"],
    ["const a = crypto.randomUUID();", "randomUUID"],
    ['import { randomUUID } from "node:crypto";', "randomUUID"],
    ["crypto.getRandomValues(a);", "getRandomValues"],
    ['import { randomBytes as b } from "node:crypto";', "randomBytes"],
  ])("%s", (text, what) => {
    expect(findTimeAndRandomness(source(`// top\n${text}`))).toEqual([{ line: 2, what }]);
  });

  test.each([
    "const a = new Date(0);",
    "const a = Math.max(1, 2);",
    "const a = environment.now();",
    "const { max } = Math;",
    "// Date.now() and setTimeout() are the environment's",
    'const a = "use ctx.sleep instead of setTimeout";',
  ])("%s is not a use", (text) => {
    expect(findTimeAndRandomness(source(text))).toEqual([]);
  });
});

describe("focused and skipped tests are found", () => {
  test.each([
    ['test.only("a", f);', "test.only"],
    ['it.skip("a", f);', "it.skip"],
    ['describe.only("a", f);', "describe.only"],
    ['test.concurrent.skip("a", f);', "test.skip"],
    ['test.skip.each([1])("a", f);', "test.skip"],
    ['describe.each([1]).only("a", f);', "describe.only"],
  ])("%s", (text, what) => {
    expect(findFocusedOrSkipped(source(`\n${text}`))).toEqual([{ line: 2, what }]);
  });

  test.each(['test("a", f);', 'test.skipIf(x)("a", f);', "list.skip(3);", '"test.only"'])(
    "%s is not focused or skipped",
    (text) => {
      expect(findFocusedOrSkipped(source(text))).toEqual([]);
    },
  );
});

describe("TODO comments without an issue are found", () => {
  test.each(["// TODO: later", "/* TODO later */", "// FIXME", "// TODO(ada): later"])(
    "%s",
    (text) => {
      expect(findUntrackedTodos(source(`\n${text}\n`))).toMatchObject([{ line: 2 }]);
    },
  );

  test.each(["// TODO(#12): later", "// TODO #12", 'const a = "TODO";', "const a = `${b} TODO`;"])(
    "%s is allowed",
    (text) => {
      expect(findUntrackedTodos(source(text))).toEqual([]);
    },
  );
});

describe("opensWithComment", () => {
  test.each([
    ["// Leases: who may write.", true],
    ["/** Leases. */", true],
    ["#!/usr/bin/env node\n// The command line.", true],
    ["\n// Leases.", true],
    ['import "./a.ts";\n// Leases.', false],
    ["// eslint-disable-next-line no-console", false],
    ["//", false],
    ["", false],
  ])("%j: %s", (text, expected) => {
    expect(opensWithComment(source(text))).toBe(expected);
  });

  test("accepts a comment in SQL syntax for an SQL file", () => {
    expect(opensWithComment(source("-- The tables.", "src/sqlite/1.sql"))).toBe(true);
    expect(opensWithComment(source("CREATE TABLE a (b);", "src/sqlite/1.sql"))).toBe(false);
  });
});

test("countLines counts like an editor", () => {
  expect([countLines("a"), countLines("a\n"), countLines("a\nb"), countLines("a\n\n")]).toEqual([
    1, 1, 2, 2,
  ]);
});
