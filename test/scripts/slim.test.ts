// Slimmed JavaScript does the same, and is still made of lines.

import { expect, test } from "vitest";
import ts from "typescript";
import { slim } from "../../scripts/package/slim.ts";
import { readSources } from "../support/source-files.ts";

test("comments and wide indentation go, lines and literals stay", () => {
  const code = `#!/usr/bin/env node
// A role.
/** A doc comment. */
export function f(a /* why */, b) {
    // inside
    const text = \`    // four spaces
    and \${ a /* x */ } \`;
    return a / b / 2 + "/* no comment */".length; // behind

}
const pattern = /\\/\\/.*    /g;
let x = 1
;[x] = [2]
`;
  expect(slim(code)).toBe(`#!/usr/bin/env node
export function f(a , b) {
\tconst text = \`    // four spaces
    and \${ a } \`;
\treturn a / b / 2 + "/* no comment */".length;
}
const pattern = /\\/\\/.*    /g;
let x = 1
;[x] = [2]
`);
});

test("core has the same tokens and line breaks before and after", () => {
  const options = { target: ts.ScriptTarget.ESNext, module: ts.ModuleKind.ESNext };
  for (const { path, text } of readSources("src/core/*.ts")) {
    const { outputText } = ts.transpileModule(text, { compilerOptions: options });
    expect(tokensOf(slim(outputText)), path).toEqual(tokensOf(outputText));
  }
});

/** Every token, and whether a line ends before it. */
function tokensOf(code: string): string[] {
  const file = ts.createSourceFile("code.js", code, ts.ScriptTarget.ESNext, true, ts.ScriptKind.JS);
  const tokens: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(file);
    if (children.length > 0) return children.forEach(visit);
    const before = code.slice(node.getFullStart(), node.getStart(file));
    if (node.kind === ts.SyntaxKind.EndOfFileToken || tokens.length === 0)
      tokens.push(node.getText(file));
    else tokens.push(`${before.includes("\n") ? "\n" : ""}${node.getText(file)}`);
  };
  visit(file);
  return tokens;
}
