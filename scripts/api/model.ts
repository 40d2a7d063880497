// The public API as the compiler sees it: every exported name with its declaration and its doc comment.
//   - A signature is the text of the declaration file, without private members.
//   - The result does not depend on the order of files on disk or on the machine.

import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { entryPoints, projectRoot, type EntryPoint } from "./entry-points.ts";

export type ApiKind = "function" | "class" | "constant" | "type";

export interface ApiItem {
  readonly name: string;
  readonly kind: ApiKind;
  /** The doc comment's text; empty if there is none. */
  readonly doc: string;
  readonly signature: string;
  /** Where it is declared, relative to the project's root. */
  readonly source: string;
}
export interface ApiModule {
  readonly name: string;
  /** The comment that opens the entry file. */
  readonly doc: string;
  readonly items: readonly ApiItem[];
}

export function readApi(): ApiModule[] {
  const points = entryPoints();
  const { options } = projectOptions();
  const program = ts.createProgram(
    points.map(({ source }) => join(projectRoot, source)),
    { ...options, noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: "/out" },
  );
  const declared = new Declarations(program);
  return points.map((point) => readModule(program, declared, point));
}

function readModule(program: ts.Program, declared: Declarations, point: EntryPoint): ApiModule {
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(join(projectRoot, point.source));
  const symbol = file && checker.getSymbolAtLocation(file);
  if (file === undefined || symbol === undefined)
    throw new Error(`${point.source} is not a module`);
  const items = checker.getExportsOfModule(symbol).flatMap((exported): ApiItem[] => {
    const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
    const target = isAlias ? checker.getAliasedSymbol(exported) : exported;
    const origin = target.declarations?.[0];
    if (origin === undefined || origin.getSourceFile().fileName.includes("node_modules")) return [];
    return [
      {
        name: exported.name,
        kind: kindOf(target),
        doc: ts.displayPartsToString(target.getDocumentationComment(checker)).trim(),
        signature: declared.signature(origin, target.name, exported.name),
        source: relative(projectRoot, origin.getSourceFile().fileName),
      },
    ];
  });
  items.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { name: point.name, doc: openingComment(file), items };
}

/** Declaration files, generated in memory on first use. */
class Declarations {
  readonly #program: ts.Program;
  readonly #files = new Map<string, ts.SourceFile>();

  constructor(program: ts.Program) {
    this.#program = program;
  }

  #of(source: ts.SourceFile): ts.SourceFile {
    const write: ts.WriteFileCallback = (path, text) => {
      if (!path.endsWith(".d.ts")) return;
      const file = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext, true);
      this.#files.set(source.fileName, file);
    };
    if (!this.#files.has(source.fileName)) this.#program.emit(source, write, undefined, true);
    const made = this.#files.get(source.fileName);
    if (made === undefined) throw new Error(`${source.fileName} has no declaration file`);
    return made;
  }

  /** All declarations of a name in the file of `origin`, under their exported name. */
  signature(origin: ts.Declaration, name: string, exportedName: string): string {
    const source = origin.getSourceFile();
    const wanted = name === "default" ? exportedName : name;
    const found = this.#of(source).statements.filter((one) => namesOf(one).includes(wanted));
    if (found.length === 0) throw new Error(`${source.fileName} declares no ${wanted}`);
    const texts = found.map((statement) => withoutPrivates(statement));
    if (name === exportedName || exportedName === "default") return texts.join("\n");
    return texts.map((text) => text.replace(new RegExp(`\\b${name}\\b`), exportedName)).join("\n");
  }
}

function namesOf(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  }
  if (ts.isExportAssignment(statement)) return ["default"];
  const { name } = statement as ts.Statement & { readonly name?: ts.Node };
  return name === undefined ? [] : [name.getText()];
}

/** The statement's text without private members. */
function withoutPrivates(statement: ts.Statement): string {
  const text = statement.getText();
  if (!ts.isClassDeclaration(statement)) return text;
  const start = statement.getStart();
  let kept = text;
  for (const member of statement.members.toReversed()) {
    const isPrivate =
      (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.Private) !== 0 ||
      (member.name !== undefined && ts.isPrivateIdentifier(member.name));
    if (!isPrivate) continue;
    kept = kept.slice(0, member.getFullStart() - start) + kept.slice(member.getEnd() - start);
  }
  return kept;
}

function kindOf({ flags }: ts.Symbol): ApiKind {
  if ((flags & ts.SymbolFlags.Class) !== 0) return "class";
  if ((flags & ts.SymbolFlags.Function) !== 0) return "function";
  return (flags & ts.SymbolFlags.Variable) !== 0 ? "constant" : "type";
}

/** The line comments at the top of a file, as prose. */
function openingComment(file: ts.SourceFile): string {
  const lines = file.text.split("\n");
  const end = lines.findIndex((line) => !line.startsWith("//"));
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^\/\/ ?/, ""))
    .join(" ")
    .trim();
}

function projectOptions(): { options: ts.CompilerOptions } {
  const path = join(projectRoot, "tsconfig.json");
  const { config, error } = ts.readConfigFile(path, (file) => readFileSync(file, "utf8"));
  if (error !== undefined) throw new Error(String(error.messageText));
  const host = { ...ts.sys, readDirectory: () => [] };
  return ts.parseJsonConfigFileContent(config, host, dirname(path));
}
