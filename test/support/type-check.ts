// Compiles real or virtual files with the compiler options of the project and returns the diagnostics. The type tests
// and the tests of code blocks in the docs use it.
//   - Only the given files are checked; their imports are read, but checked elsewhere.
//   - type-check.1: `// @ts-expect-error` works as in `tsc`: it hides an error, and is an error itself if there is none.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { projectRoot } from "./source-files.ts";
import type { SourceText } from "./source-scan.ts";

export interface TypeProblem {
  readonly path: string;
  readonly line: number;
  readonly message: string;
}

/** Checks all files in one program. Paths are relative to the project's root and need not exist. */
export function typeCheck(files: readonly SourceText[]): TypeProblem[] {
  const { options } = projectConfig();
  const texts = new Map(files.map(({ path, text }) => [join(projectRoot, path), text]));
  const paths = new Map(files.map(({ path }) => [join(projectRoot, path), path]));

  const host = ts.createCompilerHost(options, true);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (file) => texts.has(file) || fileExists(file);
  host.readFile = (file) => texts.get(file) ?? readFile(file);
  host.getSourceFile = (file, target, ...rest) => {
    const text = texts.get(file);
    if (text === undefined) return getSourceFile(file, target, ...rest);
    return ts.createSourceFile(file, text, target, true);
  };

  const program = ts.createProgram({ rootNames: [...texts.keys()], options, host });
  const problems = program.getOptionsDiagnostics().map((found) => problemOf(found, paths));
  for (const file of texts.keys()) {
    const source = program.getSourceFile(file);
    const found = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ];
    problems.push(...found.map((diagnostic) => problemOf(diagnostic, paths)));
  }
  return problems;
}

/** The options of tsconfig.json. Every file is a module, also a code block without imports. */
function projectConfig(): { options: ts.CompilerOptions } {
  const file = join(projectRoot, "tsconfig.json");
  const read = ts.readConfigFile(file, (path) => readFileSync(path, "utf8"));
  if (read.error !== undefined) throw new Error(messageOf(read.error));
  const host: ts.ParseConfigHost = {
    useCaseSensitiveFileNames: true,
    readDirectory: () => [],
    fileExists: existsSync,
    readFile: (path) => readFileSync(path, "utf8"),
  };
  const { options } = ts.parseJsonConfigFileContent(
    read.config,
    host,
    projectRoot,
    { moduleDetection: ts.ModuleDetectionKind.Force },
    file,
  );
  return { options };
}

function problemOf(diagnostic: ts.Diagnostic, paths: ReadonlyMap<string, string>): TypeProblem {
  const message = `TS${diagnostic.code}: ${messageOf(diagnostic)}`;
  if (diagnostic.file === undefined) return { path: "tsconfig.json", line: 1, message };
  const { line } = diagnostic.file.getLineAndCharacterOfPosition(diagnostic.start ?? 0);
  const { fileName } = diagnostic.file;
  return { path: paths.get(fileName) ?? fileName, line: line + 1, message };
}

function messageOf(diagnostic: ts.Diagnostic): string {
  return ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n");
}
