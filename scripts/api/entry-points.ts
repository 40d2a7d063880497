// The entry points of the package: each subpath of package.json and its source file.

import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

export const projectRoot = join(import.meta.dirname, "../..");

export interface EntryPoint {
  /** The import specifier: `perdure/sqlite`. */
  readonly name: string;
  /** Relative to the project's root: `src/sqlite/index.ts`. */
  readonly source: string;
}

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
}

export function entryPoints(): EntryPoint[] {
  const manifest = readFileSync(join(projectRoot, "package.json"), "utf8");
  const { exports } = JSON.parse(manifest) as Manifest;
  return Object.entries(exports).flatMap(([subpath, target]) => {
    if (typeof target === "string") return []; // package.json itself
    const source = target.types.replace(/^\.\/dist\//, "src/").replace(/\.d\.ts$/, ".ts");
    if (!existsSync(join(projectRoot, source))) return [];
    return [{ name: posix.join("perdure", subpath), source }];
  });
}
