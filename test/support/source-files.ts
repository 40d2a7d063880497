// The project's own source files, read once for the tests that judge them.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SourceText } from "./source-scan.ts";

export const projectRoot = join(import.meta.dirname, "../..");

/** The files that match, with paths relative to the project's root, in order of path. */
export function readSources(...patterns: string[]): SourceText[] {
  return globSync(patterns, { cwd: projectRoot, exclude: ["**/node_modules/**"] })
    .map((path) => path.replaceAll("\\", "/"))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(projectRoot, path), "utf8") }));
}
