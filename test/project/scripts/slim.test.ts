// Slimmed JavaScript behaves the same and still has line breaks.

import { expect, test } from "vitest";
import ts from "typescript";
import { slim, withShortNames } from "../../../scripts/package/slim.ts";
import { readSources } from "../../support/source-files.ts";

const CODE = `#!/usr/bin/env node
// src/a-role.ts
export function f({
\ta,
\tb
}) {
\tconst text = \`
\t\t\${ [
\t\t\ta
\t\t] } \`;
\treturn use([
\t\ta / b / 2,
\t\t"/* no comment */"
\t], {
\t\ta: {
\t\t\tb,
\t\t\tc: /\\t/
\t\t},
\t\tdone: () => {
\t\t\tend();
\t\t}
\t});
}
let x = 1
;[x] = [2]
`;

test("comments are removed, a short literal is put on one line; strings, templates and functions are unchanged", () => {
  expect(slim(CODE)).toBe(`#!/usr/bin/env node
export function f({ a, b }) {
\tconst text = \`
\t\t\${ [a] } \`;
\treturn use([
\t\ta / b / 2,
\t\t"/* no comment */"
\t], {
\t\ta: { b, c: /\\t/ },
\t\tdone: () => {
\t\t\tend();
\t\t}
\t});
}
let x = 1
;[x] = [2]
`);
});

test("a literal too long for one line keeps its lines", () => {
  const list = Array.from({ length: 30 }, (_, index) => `\t"item-${index}"`).join(",\n");
  const code = `const list = [\n${list}\n];\n`;
  expect(slim(code)).toBe(code);
});

test("flat code has no indentation or redundant spaces, and the same tokens in the same order", () => {
  const flat = slim(CODE, { isFlat: true });
  expect(flat).toContain(`\ndone:()=>{\nend();\n}\n`);
  expect(tokensOf(flat)).toEqual(tokensOf(CODE));
});

test("flat code keeps a space that separates two tokens", () => {
  const code = "const of = a in b - -c + +d / /e/ .f; async () => { yield* typeof x; await y; };\n";
  const flat = slim(code, { isFlat: true });
  expect(flat).toBe("const of=a in b- -c+ +d / /e/ .f;async()=>{yield*typeof x;await y;};\n");
  expect(tokensOf(flat)).toEqual(tokensOf(code));
});

test("short names are for variables; functions, classes, private members and exports keep theirs", () => {
  const code = `
    const LONG_NAME = 1;
    class Account { #balance = 0; #add(amount) { this.#balance += amount; } add(sum) { this.#add(sum); } }
    class Other { #other() {} has(object) { return #other in object; } }
    function helper(first, second) { return () => new Account(first, second, LONG_NAME); }
    export { LONG_NAME, helper, Other };`;
  const short = withShortNames(code);
  for (const name of ["Account", "#balance", "#add(", "helper", "#other in", "LONG_NAME,"]) {
    expect(short).toContain(name);
  }
  for (const name of ["amount", "sum", "first", "second", "object"]) {
    expect(short).not.toContain(name);
  }
});

test("slimming the replay code keeps all tokens", () => {
  const options = { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext };
  for (const { path, text } of readSources("src/core/run*.ts")) {
    const { outputText } = ts.transpileModule(text, { compilerOptions: options });
    expect(tokensOf(slim(outputText)), path).toEqual(tokensOf(outputText));
    expect(tokensOf(slim(outputText, { isFlat: true })), path).toEqual(tokensOf(outputText));
  }
});

function tokensOf(code: string): string[] {
  const file = ts.createSourceFile("code.js", code, ts.ScriptTarget.ESNext, true, ts.ScriptKind.JS);
  const tokens: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(file);
    if (children.length > 0) return children.forEach(visit);
    tokens.push(node.getText(file));
  };
  visit(file);
  return tokens;
}
