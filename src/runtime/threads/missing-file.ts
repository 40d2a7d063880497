// A hint for an import that names a file without its extension, or with the extension of the compiled
// file.

import { existsSync, statSync } from "node:fs";
import { dirname, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";

const ENDINGS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"];
const CODES: readonly unknown[] = ["ERR_MODULE_NOT_FOUND", "ERR_UNSUPPORTED_DIR_IMPORT"];

/**
 * For example 'Did you mean "./trip.ts"?'. Undefined if the error has another cause, or if there is no
 * such file.
 */
export function missingFileHint(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || !CODES.includes(error.code)) return;
  if (!("url" in error) || typeof error.url !== "string") return;
  if (!error.url.startsWith("file:")) return;
  const missing = fileURLToPath(error.url);
  const found = candidates(missing).find((path) => existsSync(path) && statSync(path).isFile());
  if (found === undefined) return;
  const importer = / imported from (.+)$/m.exec(error.message)?.[1];
  return `Did you mean "${importer === undefined ? found : specifier(importer, found)}"?`;
}

function candidates(path: string): readonly string[] {
  const bare = path.replace(/\.[cm]?[jt]s$/, "");
  const named = [path, bare].flatMap((start) => ENDINGS.map((ending) => start + ending));
  return [...named, ...ENDINGS.map((ending) => `${path}/index${ending}`)];
}

function specifier(importer: string, path: string): string {
  const from = importer.startsWith("file:") ? fileURLToPath(importer) : importer;
  const steps = relative(dirname(from), path).split(sep).join("/");
  return steps.startsWith(".") ? steps : `./${steps}`;
}
