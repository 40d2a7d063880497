// The declarations that a user's compiler can reach from the entry points.
//   - shaken.1: A statement stays if an exported name of an entry point depends on it, in any number of steps. Statements that
//        add to another module (`declare module`) stay too.
//   - shaken.2: Text is only removed, never changed.
//   - shaken.3: The result must compile; otherwise the build stops.

import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";

const OPTIONS: ts.CompilerOptions = {
  module: ts.ModuleKind.NodeNext,
  target: ts.ScriptTarget.ESNext,
  lib: ["lib.esnext.d.ts"],
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
};

/** Paths of declaration files that the entries import, including the entries themselves. */
export function reachableDeclarations(entries: readonly string[]): Set<string> {
  const reached = new Set<string>();
  const left = [...entries];
  for (let path = left.pop(); path !== undefined; path = left.pop()) {
    if (reached.has(path) || !existsSync(path)) continue;
    reached.add(path);
    const { importedFiles } = ts.preProcessFile(readFileSync(path, "utf8"), true, true);
    for (const { fileName } of importedFiles) {
      if (!fileName.startsWith(".")) continue;
      left.push(join(dirname(path), fileName.replace(/\.(?:js|ts)$/, ".d.ts")));
    }
  }
  return reached;
}

/** Removes from declaration files everything that the entries do not need, and files of which nothing remains. */
export function shakeDeclarations(entries: readonly string[]): void {
  const reached = reachableDeclarations(entries);
  const program = ts.createProgram([...reached], OPTIONS);
  const files = program.getSourceFiles().filter(({ fileName }) => reached.has(fileName));
  const kept = keptNodes(program, files, new Set(entries));
  for (const file of files) {
    const isEmpty = file.statements.every((statement) => {
      return isEmptyExport(statement) || !partsOf(statement).some((part) => kept.has(part));
    });
    if (isEmpty) rmSync(file.fileName);
    else writeFileSync(file.fileName, shaken(file, kept));
  }
  refuseErrors(entries, program);
}

/** shaken.1: statements, and single names of import and export statements. */
function keptNodes(
  program: ts.Program,
  files: readonly ts.SourceFile[],
  entries: ReadonlySet<string>,
): Set<ts.Node> {
  const checker = program.getTypeChecker();
  const own = new Set(files);
  const kept = new Set<ts.Node>();
  const left: ts.Node[] = [];
  const keep = (node: ts.Node): void => {
    if (ts.isSourceFile(node)) return node.statements.flatMap(partsOf).forEach(keep); // `* as name`
    const part = partOf(node);
    if (!own.has(part.getSourceFile()) || kept.has(part)) return;
    kept.add(part);
    left.push(part);
  };
  const keepSymbol = (symbol: ts.Symbol | undefined): void => {
    for (let each = symbol; each !== undefined;) {
      for (const declaration of each.declarations ?? []) keep(declaration);
      const isAlias = (each.flags & ts.SymbolFlags.Alias) !== 0;
      each = isAlias ? checker.getImmediateAliasedSymbol(each) : undefined;
    }
  };
  for (const file of files) {
    for (const statement of file.statements) {
      const isExported = entries.has(file.fileName) && exportsNames(statement);
      if (isExported || isAlwaysKept(statement)) partsOf(statement).forEach(keep);
    }
  }
  for (let part = left.pop(); part !== undefined; part = left.pop()) {
    const visit = (node: ts.Node): void => {
      if (ts.isIdentifier(node)) {
        keepSymbol(checker.getSymbolAtLocation(node));
        if (ts.isExportSpecifier(node.parent)) {
          keepSymbol(checker.getExportSpecifierLocalTargetSymbol(node.parent));
        }
      }
      if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
        keepSymbol(checker.getSymbolAtLocation(node.moduleSpecifier)); // `export *`
      }
      ts.forEachChild(node, visit);
    };
    visit(part);
  }
  return kept;
}

function exportsNames(statement: ts.Statement): boolean {
  if (ts.isExportDeclaration(statement) || ts.isExportAssignment(statement)) return true;
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : [];
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
}

/** A statement without names that others could depend on. */
function isAlwaysKept(statement: ts.Statement): boolean {
  if (ts.isModuleDeclaration(statement)) return true;
  if (ts.isImportDeclaration(statement)) return statement.importClause === undefined;
  if (!ts.isExportDeclaration(statement)) return false;
  return statement.exportClause === undefined || isEmptyExport(statement);
}

/** `export {}` makes a file a module whose other statements are private. */
function isEmptyExport(statement: ts.Statement): boolean {
  if (!ts.isExportDeclaration(statement)) return false;
  const { exportClause: clause } = statement;
  return clause !== undefined && ts.isNamedExports(clause) && clause.elements.length === 0;
}

/** The smallest removable node that contains a node: a name of an import or export, or a statement. */
function partOf(node: ts.Node): ts.Node {
  for (let each = node; ; each = each.parent) {
    if (ts.isImportSpecifier(each) || ts.isExportSpecifier(each)) return each;
    if (ts.isSourceFile(each) || ts.isSourceFile(each.parent)) return each;
  }
}

function partsOf(statement: ts.Statement): readonly ts.Node[] {
  const names = namesOf(statement);
  return names.length === 0 ? [statement] : names;
}

function namesOf(statement: ts.Statement): readonly (ts.ImportSpecifier | ts.ExportSpecifier)[] {
  const clause = ts.isExportDeclaration(statement)
    ? statement.exportClause
    : ts.isImportDeclaration(statement)
      ? statement.importClause?.namedBindings
      : undefined;
  return clause !== undefined && (ts.isNamedImports(clause) || ts.isNamedExports(clause))
    ? [...clause.elements]
    : [];
}

/** shaken.2 */
function shaken(file: ts.SourceFile, kept: ReadonlySet<ts.Node>): string {
  const parts = file.statements.map((statement) => {
    const text = statement.getFullText(file);
    const names = namesOf(statement);
    if (names.length === 0) return kept.has(statement) ? text : "";
    const left = names.filter((name) => kept.has(name));
    if (left.length === names.length) return text;
    const [first, last] = [names[0], names.at(-1)];
    if (left.length === 0 || first === undefined || last === undefined) return "";
    const whole = file.text;
    const list = left.map((name) => name.getText(file)).join(", ");
    return (
      whole.slice(statement.getFullStart(), first.getStart(file)) +
      list +
      whole.slice(last.end, statement.end)
    );
  });
  return `${parts.join("").trim()}\n`;
}

/** shaken.3: errors that were not there before. */
function refuseErrors(entries: readonly string[], before: ts.Program): void {
  const known = new Set(errorsOf(before));
  const found = errorsOf(ts.createProgram(entries, OPTIONS)).filter((error) => !known.has(error));
  if (found.length > 0) throw new Error(`declarations lost a name:\n${found.join("\n")}`);
}

function errorsOf(program: ts.Program): string[] {
  return ts
    .getPreEmitDiagnostics(program)
    .map(
      ({ file, messageText }) =>
        `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`,
    );
}
