// Declarations that an entry point needs are kept, the others are deleted.

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { reachableDeclarations, shakeDeclarations } from "../../../scripts/package/declarations.ts";

test("imports, re-exports, import types and augmentations are followed; packages are not", () => {
  const folder = written({
    index: `export { a } from "./a.js";\nexport type * from "./b.js";\nimport "pg";`,
    a: `export declare const a: import("./c.js").C;`,
    b: `import type { D } from "./d.ts";\nexport type B = D;\ndeclare module "./e.js" { interface E {} }`,
    c: `export interface C {}`,
    d: `export interface D {}\nexport type { B } from "./b.js";`,
    e: `export interface E {}`,
    unreachable: `export { a } from "./a.js";`,
  });
  const reached = [...reachableDeclarations([join(folder, "index.d.ts")])];
  expect(reached.map((path) => basename(path, ".d.ts")).sort()).toEqual([
    ...["a", "b", "c", "d", "e", "index"],
  ]);
});

test("a statement stays if an exported name depends on it, with its comment; the others go", () => {
  const folder = written({
    index: [
      `import { Base, type Helper, type Idle } from "./a.ts";`,
      `export { type A, unused as used } from "./a.ts";`,
      `export declare class Own extends Base { help(): Helper; }`,
    ].join("\n"),
    a: [
      `import type { Deep } from "./deep.ts";`,
      `import type { Lost } from "./lost.ts";`,
      `/** Has a comment. */`,
      `export interface A { readonly deep: Deep; readonly kind: typeof KIND; }`,
      `declare const KIND: "a";`,
      `export declare class Base { #private; }`,
      `export interface Helper {}`,
      `/** Not needed. */`,
      `export interface Idle { readonly lost: Lost; }`,
      `export declare function idle(): Lost;`,
      `export declare const unused: 1;`,
      `declare module "./extended.ts" { interface Extended { readonly more: string; } }`,
      `import "./extended.ts";`,
    ].join("\n"),
    deep: `export {};\ninterface Private {}\nexport interface Deep { readonly c: import("./imported.js").Imported; }`,
    imported: `export interface Imported {}\nexport interface Other {}`,
    extended: `export interface Extended {}`,
    lost: `export {};\nexport interface Lost {}`,
  });
  shakeDeclarations([join(folder, "index.d.ts")]);
  const text = (name: string): string => readFileSync(join(folder, `${name}.d.ts`), "utf8");
  expect(text("index")).toContain(`import { Base, type Helper } from "./a.ts";`);
  expect(text("a").trim().split("\n")).toEqual([
    `import type { Deep } from "./deep.ts";`,
    `/** Has a comment. */`,
    `export interface A { readonly deep: Deep; readonly kind: typeof KIND; }`,
    `declare const KIND: "a";`,
    `export declare class Base { #private; }`,
    `export interface Helper {}`,
    `export declare const unused: 1;`,
    `declare module "./extended.ts" { interface Extended { readonly more: string; } }`,
    `import "./extended.ts";`,
  ]);
  expect(text("deep")).toMatch(/^export \{\};\nexport interface Deep/);
  expect(text("imported")).toBe(`export interface Imported {}\n`);
  expect(text("extended")).toBe(`export interface Extended {}\n`);
  expect(existsSync(join(folder, "lost.d.ts"))).toBe(false);
});

test("names that only `export *` mentions stay", () => {
  const folder = written({
    index: `export type * from "./a.ts";\nexport * as all from "./b.ts";`,
    a: `export interface A {}`,
    b: `export interface B { readonly c: C; }\ninterface C {}`,
  });
  const before = ["a", "b"].map((name) => readFileSync(join(folder, `${name}.d.ts`), "utf8"));
  shakeDeclarations([join(folder, "index.d.ts")]);
  const after = ["a", "b"].map((name) => readFileSync(join(folder, `${name}.d.ts`), "utf8"));
  expect(after.map((text) => text.trim())).toEqual(before);
});

function written(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "perdure-declarations-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, `${name}.d.ts`), text);
  }
  return folder;
}
