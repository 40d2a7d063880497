// The compiler, run on a project folder as `tsc` would run there.
//   - Only files of the project are checked and written, not the sources of the package that it imports.

import { existsSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import { projectRoot } from "../../support/source-files.ts";

/** The compiler errors by file of the project. Writes what its tsconfig.json says. */
export function compileProject(folder: string): Record<string, readonly number[]> {
  const read = ts.readConfigFile(join(folder, "tsconfig.json"), ts.sys.readFile);
  const config = ts.parseJsonConfigFileContent(read.config, ts.sys, folder);
  const host = cachingHost(config.options);
  const program = ts.createProgram({ rootNames: config.fileNames, options: config.options, host });
  const found: Record<string, readonly number[]> = {};
  const whole = [...config.errors, ...program.getOptionsDiagnostics()];
  if (whole.length > 0) found["tsconfig.json"] = whole.map(({ code }) => code);
  for (const file of config.fileNames) {
    const source = program.getSourceFile(file);
    const errors = [
      ...program.getSyntacticDiagnostics(source),
      ...program.getSemanticDiagnostics(source),
    ];
    if (errors.length > 0) found[relative(folder, file)] = errors.map(({ code }) => code);
    if (config.options.noEmit !== true) program.emit(source);
  }
  return found;
}

const parsed = new Map<string, ts.SourceFile | undefined>();

/** Parses each file outside the project once, for all projects with the same kind of modules. */
function cachingHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options);
  const parse = host.getSourceFile.bind(host);
  host.getSourceFile = (name, version, ...rest) => {
    if (!name.startsWith(projectRoot)) return parse(name, version, ...rest);
    const key = `${name} ${options.module} ${JSON.stringify(version)}`;
    if (!parsed.has(key)) parsed.set(key, parse(name, version, ...rest));
    return parsed.get(key);
  };
  return host;
}

/** Gives a project the types of Node, as `npm install -D @types/node` does. */
export function linkNodeTypes(folder: string): void {
  const link = join(folder, "node_modules/@types");
  if (!existsSync(link)) symlinkSync(join(projectRoot, "node_modules/@types"), link);
}
