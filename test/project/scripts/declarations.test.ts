// Declaration files that are reachable from an entry point are kept, the others are deleted.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { reachableDeclarations } from "../../../scripts/package/declarations.ts";

test("imports, re-exports, import types and augmentations are followed; packages are not", () => {
  const folder = mkdtempSync(join(tmpdir(), "perdure-declarations-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const files: Record<string, string> = {
    index: `export { a } from "./a.js";\nexport type * from "./b.js";\nimport "pg";`,
    a: `export declare const a: import("./c.js").C;`,
    b: `import type { D } from "./d.ts";\nexport type B = D;\ndeclare module "./e.js" { interface E {} }`,
    c: `export interface C {}`,
    d: `export interface D {}\nexport type { B } from "./b.js";`,
    e: `export interface E {}`,
    unreachable: `export { a } from "./a.js";`,
  };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, `${name}.d.ts`), text);
  }
  const reached = [...reachableDeclarations([join(folder, "index.d.ts")])];
  expect(reached.map((path) => basename(path, ".d.ts")).sort()).toEqual([
    ...["a", "b", "c", "d", "e", "index"],
  ]);
});
