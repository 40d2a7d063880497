// Scans TypeScript source for the conventions that test/project/architecture.test.ts checks. Every function takes
// text and returns positions, so that each can be tested on a string.
//   - source-scan.1: Names are read from the syntax tree: `setTimeout` in a comment or a string is not a use.
//   - source-scan.2: Imports are found in every form: static, type-only, `export … from`, `import()`,
//       `import("…")` in a type, `require()`, `new URL("…", import.meta.url)`.

import ts from "typescript";

export interface Place {
  readonly line: number;
  readonly what: string;
}

export interface Import {
  readonly line: number;
  readonly specifier: string;
  /** Loaded on demand (`import()`), not with the file. */
  readonly lazy: boolean;
  /** The imported names; `*` for the whole module. */
  readonly names: readonly string[];
}

export interface SourceText {
  readonly path: string;
  readonly text: string;
}

/** Every import of a file, in source order (source-scan.2). */
export function findImports(source: SourceText): Import[] {
  const found: Import[] = [];
  visit(parse(source), (node, file) => {
    const add = (target: ts.Node | undefined, lazy: boolean, names: readonly string[]): void => {
      if (target === undefined || !ts.isStringLiteralLike(target)) return;
      found.push({ line: lineOf(file, target), specifier: target.text, lazy, names });
    };
    if (ts.isImportDeclaration(node)) {
      add(node.moduleSpecifier, false, importedNames(node.importClause));
    } else if (ts.isExportDeclaration(node)) {
      add(node.moduleSpecifier, false, exportedNames(node.exportClause));
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node.argument.literal, false, [node.qualifier?.getText(file) ?? "*"]);
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      add(node.arguments[0], true, ["*"]);
    } else if (ts.isCallExpression(node) && isNamed(node.expression, "require")) {
      add(node.arguments[0], true, ["*"]);
    } else if (ts.isNewExpression(node) && isNamed(node.expression, "URL")) {
      const [target, base] = node.arguments ?? [];
      if (base?.getText(file) === "import.meta.url") add(target, true, ["*"]);
    }
  });
  return found;
}

const TIME_AND_RANDOMNESS: ReadonlySet<string> = new Set([
  "setTimeout",
  "setInterval",
  "setImmediate",
  "randomUUID",
  "getRandomValues",
  "randomBytes",
]);
const METHODS_OF_TIME_AND_RANDOMNESS: Readonly<Record<string, string>> = {
  Date: "now",
  performance: "now",
  Math: "random",
};

/** Uses of the machine's clock, timers or randomness (source-scan.1). */
export function findTimeAndRandomness(source: SourceText): Place[] {
  const found: Place[] = [];
  visit(parse(source), (node, file) => {
    const add = (what: string): void => void found.push({ line: lineOf(file, node), what });

    if (ts.isIdentifier(node) && TIME_AND_RANDOMNESS.has(node.text)) add(node.text);
    if (ts.isElementAccessExpression(node) && ts.isStringLiteralLike(node.argumentExpression)) {
      const name = node.argumentExpression.text;
      if (TIME_AND_RANDOMNESS.has(name)) add(name);
      if (methodOf(node.expression) === name) add(`${lastName(node.expression)}.${name}`);
    }
    if (ts.isPropertyAccessExpression(node) && methodOf(node.expression) === node.name.text) {
      add(`${lastName(node.expression)}.${node.name.text}`);
    }
    if (ts.isBindingElement(node) && ts.isVariableDeclaration(node.parent.parent)) {
      const method = methodOf(node.parent.parent.initializer);
      const taken = (node.propertyName ?? node.name).getText(file);
      if (method === taken) add(`${lastName(node.parent.parent.initializer)}.${taken}`);
    }
    if (
      (ts.isNewExpression(node) || ts.isCallExpression(node)) &&
      lastName(node.expression) === "Date" &&
      (node.arguments === undefined || node.arguments.length === 0)
    ) {
      add("new Date()");
    }
  });
  return found;
}

const TEST_FUNCTIONS: ReadonlySet<string> = new Set(["test", "it", "describe", "suite", "bench"]);

/** `test.only`, `describe.skip` and similar, also in longer chains (`test.concurrent.only`). */
export function findFocusedOrSkipped(source: SourceText): Place[] {
  const found: Place[] = [];
  visit(parse(source), (node, file) => {
    if (!ts.isPropertyAccessExpression(node)) return;
    if (node.name.text !== "only" && node.name.text !== "skip") return;
    let root: ts.Expression = node.expression;
    while (ts.isPropertyAccessExpression(root) || ts.isCallExpression(root)) root = root.expression;
    if (!ts.isIdentifier(root) || !TEST_FUNCTIONS.has(root.text)) return;
    found.push({ line: lineOf(file, node.name), what: `${root.text}.${node.name.text}` });
  });
  return found;
}

/** Reminders in comments that name no issue, unlike `TODO(#12)`. */
export function findUntrackedTodos(source: SourceText): Place[] {
  const file = parse(source);
  const literals: { start: number; end: number }[] = [];
  visit(file, (node) => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)) {
      literals.push({ start: node.getStart(file), end: node.getEnd() });
    }
    if (ts.isRegularExpressionLiteral(node)) {
      literals.push({ start: node.getStart(file), end: node.getEnd() });
    }
  });
  return [...source.text.matchAll(/\b(?:TODO|FIXME)\b(?!\s*\(?#\d+)/g)]
    .filter(({ index }) => !literals.some(({ start, end }) => start < index && index < end))
    .map(({ 0: what, index }) => ({ line: lineAt(file, index), what }));
}

/** Whether the file begins with a comment about its role. */
export function opensWithComment({ path, text }: SourceText): boolean {
  const top = text.replace(/^#!.*\n/, "").trimStart();
  if (path.endsWith(".sql")) return top.startsWith("--");
  const comment = /^(?:\/\/|\/\*\*?)\s*(?<first>\S+)/.exec(top);
  return comment !== null && !/^(?:eslint|@ts-|prettier)/.test(comment.groups?.["first"] ?? "");
}

/** The number of lines; a newline at the end of the file does not count as another line. */
export function countLines(text: string): number {
  return text.replace(/\n$/, "").split("\n").length;
}

function parse({ path, text }: SourceText): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

function visit(file: ts.SourceFile, see: (node: ts.Node, file: ts.SourceFile) => void): void {
  const step = (node: ts.Node): void => {
    see(node, file);
    ts.forEachChild(node, step);
  };
  step(file);
}

function lineOf(file: ts.SourceFile, node: ts.Node): number {
  return lineAt(file, node.getStart(file));
}

function lineAt(file: ts.SourceFile, position: number): number {
  return file.getLineAndCharacterOfPosition(position).line + 1;
}

function isNamed(node: ts.Node, name: string): boolean {
  return ts.isIdentifier(node) && node.text === name;
}

/** `Date` for `Date` and for `globalThis.Date`. */
function lastName(node: ts.Node | undefined): string | undefined {
  if (node === undefined) return undefined;
  if (ts.isIdentifier(node)) return node.text;
  return ts.isPropertyAccessExpression(node) ? node.name.text : undefined;
}

function methodOf(node: ts.Node | undefined): string | undefined {
  const name = lastName(node);
  return name !== undefined && Object.hasOwn(METHODS_OF_TIME_AND_RANDOMNESS, name)
    ? METHODS_OF_TIME_AND_RANDOMNESS[name]
    : undefined;
}

function importedNames(clause: ts.ImportClause | undefined): string[] {
  if (clause === undefined) return [];
  const names = clause.name === undefined ? [] : ["*"];
  if (clause.namedBindings === undefined) return names;
  if (ts.isNamespaceImport(clause.namedBindings)) return [...names, "*"];
  return [...names, ...namesOf(clause.namedBindings.elements)];
}

function exportedNames(clause: ts.NamedExportBindings | undefined): string[] {
  return clause === undefined || ts.isNamespaceExport(clause) ? ["*"] : namesOf(clause.elements);
}

function namesOf(elements: readonly (ts.ImportSpecifier | ts.ExportSpecifier)[]): string[] {
  return elements.map((element) => (element.propertyName ?? element.name).text);
}
