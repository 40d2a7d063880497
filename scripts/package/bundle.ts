// Which file of the package holds which source: decision 0014. Most folders become one file, which loads many times
// faster than its sources would one by one.
//   BU1. A file lies in the folder of its sources, for these find SQL, threads and their own frames beside them.
//   BU2. Nobody loads a package that its source would not have loaded: what needs one is apart from what needs none,
//        and what is loaded by import() is a file of its own.
//   BU3. Files do not import each other in a circle.

import { readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { rolldown, type ChunkingContext, type OutputChunk } from "rolldown";
import { entryPoints, projectRoot } from "../api/entry-points.ts";
import { forOldNode, LOWEST_SYNTAX } from "./old-node.ts";

const SRC = join(projectRoot, "src");
/** What is started by its path: the command and the threads. */
const STARTED = [
  "cli/main.ts",
  "activity-thread.ts",
  "sqlite/heart-thread.ts",
  "postgres/heart-thread.ts",
];
/** Every entry point imports this check first. */
const ALONE = /\/node-version\.ts$/;
const PACKAGE = /^(?![./\0]|node:)/;

const entries = [
  ...entryPoints().map(({ source }) => join(projectRoot, source)),
  ...STARTED.map((path) => join(SRC, path)),
];
const homes = new Set(entries.map((path) => dirname(path)));

/** Writes the JavaScript of the package to `folder`. */
export async function bundle(folder: string): Promise<OutputChunk[]> {
  const build = await rolldown({
    input: Object.fromEntries(entries.map((path) => [stem(path), path])),
    external: /^(?!@oxc-project\/runtime)[^./\0]/, // the helpers of compiled syntax are bundled
    platform: "node",
    transform: { target: LOWEST_SYNTAX },
    plugins: [forOldNode()],
    // Entry points may show more than their sources do; test-package.ts sees to it that they do not.
    preserveEntrySignatures: "allow-extension",
    treeshake: { moduleSideEffects: (id) => id.startsWith(SRC) },
  });
  const { output } = await build.write({
    dir: folder,
    format: "esm",
    comments: false,
    minifyInternalExports: false,
    entryFileNames: "[name].js",
    chunkFileNames: ({ isDynamicEntry, moduleIds: [id] }) =>
      isDynamicEntry && id !== undefined ? `${stem(id)}.js` : "[name].js",
    codeSplitting: {
      includeDependenciesRecursively: false, // they have files of their own
      groups: [{ debugName: "by folder", name: fileOf }],
    },
  });
  const files = output.filter((file) => file.type === "chunk");
  refuseCircles(files);
  refuseLostPlaces(files);
  return files;
}

/** The file that a source goes to, as a path without its ending; null: its own, which the bundler names. */
function fileOf(id: string, context: ChunkingContext): string | null {
  const facts = context.getModuleInfo(id);
  if (facts === null || !id.startsWith(SRC)) return null;
  const home = homeOf(id);
  const isLazy = facts.dynamicImporters.some((importer) => homeOf(importer) === home);
  const isFirst = facts.isEntry && facts.importers.length === 0;
  if (isLazy || isFirst) return null;
  if (ALONE.test(id)) return stem(id);
  const name = needsPackage(id, context, new Set()) ? "bundle-with-packages" : "bundle";
  return relative(SRC, join(home, name));
}

/** The folder of an entry point that a source is in, or the first below src/. */
function homeOf(id: string): string {
  let home = dirname(id);
  while (!homes.has(home) && dirname(home) !== SRC) home = dirname(home);
  return home;
}

function needsPackage(id: string, context: ChunkingContext, seen: Set<string>): boolean {
  if (PACKAGE.test(id)) return true;
  if (seen.has(id)) return false;
  seen.add(id);
  const imported = context.getModuleInfo(id)?.importedIds ?? [];
  return imported.some((other) => needsPackage(other, context, seen));
}

function stem(path: string): string {
  return relative(SRC, path).replace(/\.ts$/, "");
}

/** BU3 */
function refuseCircles(files: readonly OutputChunk[]): void {
  const imports = new Map(files.map((file) => [file.fileName, file.imports]));
  const visit = (name: string, path: readonly string[]): void => {
    if (path.includes(name)) throw new Error(`a circle: ${[...path, name].join(" → ")}`);
    for (const other of imports.get(name) ?? []) visit(other, [...path, name]);
  };
  for (const name of imports.keys()) visit(name, []);
}

/** BU1 */
function refuseLostPlaces(files: readonly OutputChunk[]): void {
  for (const { fileName, moduleIds } of files) {
    for (const id of moduleIds.filter((path) => path.startsWith(SRC))) {
      if (dirname(stem(id)) === dirname(fileName)) continue;
      if (!readFileSync(id, "utf8").includes("import.meta")) continue;
      throw new Error(`${basename(id)} asks where it lies, and would lie in ${fileName}`);
    }
  }
}
