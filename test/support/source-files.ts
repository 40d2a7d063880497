// Reads source files of the project, for the tests that check them.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SourceText } from "./source-scan.ts";

export const projectRoot = join(import.meta.dirname, "../..");

/** The matching files, with paths relative to the project's root, sorted by path. */
export function readSources(...patterns: string[]): SourceText[] {
  return globSync(patterns, { cwd: projectRoot, exclude: ["**/node_modules/**"] })
    .map((path) => path.replaceAll("\\", "/"))
    .sort()
    .map((path) => ({ path, text: readFileSync(join(projectRoot, path), "utf8") }));
}
