// Spells out types that declarations infer from a schema (`v.InferOutput<typeof instance>`), so that a user's compiler
// reads neither the schemas nor the schema library.
//   - written-out.1: Only references to the library's inference are replaced; every other character stays.
//   - written-out.2: An import without a remaining name is removed.

import { readFileSync, writeFileSync } from "node:fs";
import ts from "typescript";

const INFERENCE = /^v\.Infer(?:Input|Output)$/;
const FORM =
  ts.NodeBuilderFlags.NoTruncation |
  ts.NodeBuilderFlags.InTypeAlias |
  ts.NodeBuilderFlags.UseSingleQuotesForStringLiteralType;

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Rewrites the declaration files that infer types. */
export function writeOutInferred(paths: readonly string[]): void {
  const inferring = paths.filter((path) => readFileSync(path, "utf8").includes("v.Infer"));
  const options = { module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ESNext, strict: true };
  const program = ts.createProgram(inferring, { ...options, exactOptionalPropertyTypes: true });
  for (const path of inferring) {
    const file = program.getSourceFile(path);
    if (file === undefined) throw new Error(`${path} cannot be read`);
    const typed = applied(file.text, inferences(file, program.getTypeChecker()));
    writeFileSync(path, applied(typed, idleImports(path, typed)));
  }
}

/** written-out.1 */
function inferences(file: ts.SourceFile, checker: ts.TypeChecker): Edit[] {
  const printer = ts.createPrinter({ removeComments: true });
  const edits: Edit[] = [];
  const visit = (node: ts.Node): void => {
    if (!ts.isTypeReferenceNode(node) || !INFERENCE.test(node.typeName.getText(file))) {
      return ts.forEachChild(node, visit);
    }
    const type = checker.typeToTypeNode(checker.getTypeFromTypeNode(node), file, FORM);
    if (type === undefined || type.kind === ts.SyntaxKind.AnyKeyword) {
      throw new Error(`${file.fileName}: ${node.getText(file)} cannot be spelled out`);
    }
    ts.setEmitFlags(type, ts.EmitFlags.SingleLine);
    const text = printer.printNode(ts.EmitHint.Unspecified, type, file);
    edits.push({ start: node.getStart(file), end: node.end, text: compact(text) });
  };
  visit(file);
  return edits;
}

/** written-out.2 */
function idleImports(path: string, text: string): Edit[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
  const used = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    if (ts.isTypeReferenceNode(node)) used.add(firstOf(node.typeName));
    if (ts.isTypeQueryNode(node)) used.add(firstOf(node.exprName));
    if (ts.isExpressionWithTypeArguments(node)) used.add(node.expression.getText(file));
    ts.forEachChild(node, visit);
  };
  visit(file);
  return file.statements.filter(ts.isImportDeclaration).flatMap((statement) => {
    const bindings = statement.importClause?.namedBindings;
    if (bindings === undefined) return [];
    const names = ts.isNamespaceImport(bindings) ? [bindings] : [...bindings.elements];
    const isIdle = names.every(({ name }) => !used.has(name.text));
    return isIdle ? [{ start: statement.getFullStart(), end: statement.end, text: "" }] : [];
  });
}

function firstOf(name: ts.EntityName): string {
  return ts.isIdentifier(name) ? name.text : firstOf(name.left);
}

function applied(text: string, edits: readonly Edit[]): string {
  return edits.reduceRight(
    (before, { start, end, text: inserted }) =>
      before.slice(0, start) + inserted + before.slice(end),
    text,
  );
}

function compact(text: string): string {
  return text.replaceAll(/\n\s*/g, " ");
}
