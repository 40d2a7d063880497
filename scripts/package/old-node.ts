// An unsupported Node must print "Perdure needs Node 24", not a SyntaxError from the middle of a bundle.
//   Node parses and links all static imports before it evaluates the first one, so the check in node-version.ts only
//   runs if every file parses and links on that Node.
//   old-node.1  `using` is compiled away (LOWEST_SYNTAX).
//   old-node.2  Built-in modules and exports that are younger than Node 18 are read when the file is evaluated.
//   old-node.3  Every file that Node loads first begins with the check.
//   old-node.4  A command prints the sentence alone and exits with 1; an import throws it.

import { dirname, relative } from "node:path";
import type { Plugin } from "rolldown";

/** The syntax that Node 18 parses. */
export const LOWEST_SYNTAX = "es2022";
const CHECK = "core/node-version.js";
const EVERY_EXPORT = "*";
/** Exports of built-in modules that the package uses and that Node 18 lacks. */
const YOUNGER: Readonly<Record<string, readonly string[] | typeof EVERY_EXPORT>> = {
  "node:crypto": ["hash"],
  "node:module": ["enableCompileCache", "registerHooks"],
  "node:sqlite": EVERY_EXPORT,
  "node:util": ["styleText"],
  "node:zlib": ["crc32"],
};
const BUILTIN_IMPORT = /^import \{ ([^}]+) \} from "(node:[\w/]+)";$/gm;

/** Makes the bundle's files parse and link on Node 18, and check the version first. */
export function forOldNode(): Plugin {
  return {
    name: "for-old-node",
    renderChunk(code, chunk) {
      const linked = code.replaceAll(BUILTIN_IMPORT, (_, names: string, module: string) =>
        readLate(module, names.split(", ")),
      );
      const isChecked = chunk.fileName === CHECK || chunk.imports.includes(CHECK);
      if (!chunk.isEntry || isChecked) return linked;
      const path = relative(dirname(chunk.fileName), CHECK);
      const specifier = path.startsWith(".") ? path : `./${path}`;
      // A command begins with its shebang line.
      const [, first = "", rest = ""] = /^(#!.*\n)?([^]*)$/.exec(linked) ?? [];
      return first === ""
        ? `import "${specifier}";\n${rest}`
        : `${first}${checkOfCommand(specifier)}\n${rest}`;
    },
  };
}

/** old-node.4: the check precedes all other code of the file, whose static imports are built-in modules. */
function checkOfCommand(specifier: string): string {
  return [
    `await import("${specifier}").catch(({ message }) => {`,
    "  console.error(message);",
    "  process.exit(1);",
    "});",
  ].join("\n");
}

/** Imports the names that Node 18 has, and reads the others when the file is evaluated. */
function readLate(module: string, names: readonly string[]): string {
  const younger = YOUNGER[module] ?? [];
  const isYounger = (name: string): boolean =>
    younger === EVERY_EXPORT || younger.includes(name.split(" as ")[0] ?? name);
  const late = names.filter(isYounger).map((name) => name.replace(" as ", ": "));
  const early = names.filter((name) => !isYounger(name));
  return [
    ...(early.length === 0 ? [] : [`import { ${early.join(", ")} } from "${module}";`]),
    ...(late.length === 0
      ? []
      : [`const { ${late.join(", ")} } = process.getBuiltinModule("${module}");`]),
  ].join("\n");
}
