// Makes compiled JavaScript smaller and leaves it readable: comments go, four spaces become a tab, lines stay lines.
//   SL1. Only what stands between two tokens is touched: a string, a template or a regular expression never is.
//   SL2. A line break between two tokens stays one, so that no semicolon is inserted elsewhere.

import ts from "typescript";

const INDENT = /^ +/;

export function slim(code: string): string {
  const shebang = /^#!.*\n/.exec(code)?.[0] ?? "";
  const file = ts.createSourceFile("code.js", code, ts.ScriptTarget.ESNext, true, ts.ScriptKind.JS);
  const parts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isJSDoc(node)) return; // a comment to us, a node to the parser
    const children = node.getChildren(file);
    if (children.length > 0) return children.forEach(visit);
    parts.push(between(code.slice(node.getFullStart(), node.getStart(file))));
    parts.push(code.slice(node.getStart(file), node.getEnd()));
  };
  visit(file);
  return `${shebang}${parts.join("").trim()}\n`;
}

/** White space and comments, as little of it as says the same. */
function between(trivia: string): string {
  if (trivia === "") return "";
  const plain = trivia.replaceAll(/\/\*[^]*?\*\/|\/\/[^\n]*|^#!.*\n/g, "");
  if (!trivia.includes("\n")) return " ";
  const last = plain.slice(plain.lastIndexOf("\n") + 1);
  const spaces = INDENT.exec(last)?.[0].length ?? 0;
  return `\n${"\t".repeat(Math.floor(spaces / 4))}${" ".repeat(spaces % 4)}`;
}
