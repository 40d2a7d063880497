// The declaration files that a user's compiler reaches: those of the entry points, and the files that they reference.

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";

/** Paths of declaration files, including the entries themselves. */
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
