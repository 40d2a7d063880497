// Makes the bundler's JavaScript smaller but keeps it readable: comments are removed, and a literal that fits on one
// line is on one line, as in its source, instead of one member per line.
//   - Only the text between two tokens changes: never a string, a template or a regular expression.
//   - Line breaks are removed only inside a literal, so that no semicolon is inserted elsewhere.
//   - slim.1: A space is removed only between two tokens that cannot be read as one.
//   - Code that users hardly ever read also gets short local names. Stack traces keep the names of functions, classes and
//        methods, private ones too.

import { minifySync } from "rolldown/utils";
import ts from "typescript";

const WIDTH_MAX = 120;

export interface SlimOptions {
  /** Removes indentation and all unnecessary spaces: for code that is hardly ever read. */
  readonly isFlat?: boolean;
}

export function slim(code: string, { isFlat = false }: SlimOptions = {}): string {
  const file = ts.createSourceFile("code.js", code, ts.ScriptTarget.ESNext, true, ts.ScriptKind.JS);
  const parts: string[] = [];
  const visit = (node: ts.Node, joined: ts.Node | undefined): void => {
    if (ts.isJSDoc(node)) return; // a comment, although the parser makes it a node
    const literal = joined ?? (fitsOnLine(node, file) ? node : undefined);
    const children = node.getChildren(file);
    if (children.length > 0) return children.forEach((child) => visit(child, literal));
    const start = node.getStart(file);
    const token = code.slice(start, node.getEnd());
    const trivia = code.slice(node.getFullStart(), start);
    const isInside = joined !== undefined && start > joined.getStart(file);
    if (isInside && trivia.includes("\n")) {
      parts.push(parts.at(-1) === "[" || token === "]" ? "" : " ", token);
    } else {
      const gap = between(trivia, isFlat);
      parts.push(isFlat && gap === " " && !wouldMerge(parts.at(-1) ?? "", token) ? "" : gap, token);
    }
  };
  visit(file, undefined);
  return `${parts.join("").trim()}\n`;
}

/** Gives variables and parameters short names. */
export function withShortNames(code: string): string {
  const { code: short, errors } = minifySync("code.js", code, {
    module: true,
    compress: false,
    mangle: { toplevel: true, keepNames: true },
    codegen: { removeWhitespace: false },
  });
  if (errors.length > 0) throw new Error(`the code cannot be read: ${errors.join("; ")}`);
  const [original, renamed] = [privateNames(code), privateNames(short)];
  if (original.length !== renamed.length) throw new Error("the minifier removed a private name");
  return renamed.reduceRight((before, { start, end }, index) => {
    return before.slice(0, start) + (original[index]?.text ?? "") + before.slice(end);
  }, short);
}

interface PrivateName {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The private names of a program, in order. The minifier renames them, but keeps their order. */
function privateNames(code: string): PrivateName[] {
  const file = ts.createSourceFile("code.js", code, ts.ScriptTarget.ESNext, true, ts.ScriptKind.JS);
  const found: PrivateName[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isPrivateIdentifier(node)) {
      found.push({ text: node.text, start: node.getStart(file), end: node.end });
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function fitsOnLine(node: ts.Node, file: ts.SourceFile): boolean {
  if (!isLiteral(node)) return false;
  const [start, end] = [node.getStart(file), node.getEnd()];
  const text = file.text.slice(start, end);
  // A template has its own lines, and a comment would swallow the code after it.
  if (!text.includes("\n") || /`|\/\/|\/\*/.test(text) || hasStatements(node)) return false;
  const before = start - (file.text.lastIndexOf("\n", start) + 1);
  const after = /[^\n]*/.exec(file.text.slice(end))?.[0].length ?? 0;
  return before + text.replaceAll(/\n\t*/g, " ").length + after <= WIDTH_MAX;
}

function isLiteral(node: ts.Node): boolean {
  return (
    ts.isObjectLiteralExpression(node) ||
    ts.isArrayLiteralExpression(node) ||
    ts.isObjectBindingPattern(node)
  );
}

function hasStatements(node: ts.Node): boolean {
  return ts.isBlock(node) || ts.isClassLike(node) || ts.forEachChild(node, hasStatements) === true;
}

/** slim.1: two words, two operators, or a pair that would begin a comment, a regular expression or a fraction. */
function wouldMerge(before: string, after: string): boolean {
  const [last = "", first = ""] = [before.at(-1), after[0]];
  if (last === "/" || first === "/" || first === ".") return true;
  return isWordLike(last) ? isWordLike(first) : last === first;
}

function isWordLike(character: string): boolean {
  return /[\w$#\\]|[^\0-\x7f]/.test(character);
}

/** White space and comments, reduced as far as possible. */
function between(trivia: string, isFlat: boolean): string {
  if (trivia === "") return "";
  if (!trivia.includes("\n")) return " ";
  const shebang = /^#!.*/.exec(trivia)?.[0] ?? "";
  const indentation = isFlat ? "" : (/[\t ]*$/.exec(trivia)?.[0] ?? "");
  return `${shebang}\n${indentation}`;
}
