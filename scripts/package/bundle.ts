// Which file of the package contains which source: decision 0014. Most folders become one file, which loads many times
// faster than its sources would one by one.
//   - bundle.1: A file lies in the folder of its sources, because these find SQL, threads and their own stack frames by
//        location.
//   - A file loads no package that its source would not load: sources that need a package are separate from sources
//        that need none, and a source loaded by import() is a separate file.
//   - bundle.2: Files do not import each other in a cycle.

import { readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { rolldown, type ChunkingContext, type OutputChunk } from "rolldown";
import { entryPoints, projectRoot } from "../api/entry-points.ts";
import { forOldNode, LOWEST_SYNTAX } from "./old-node.ts";

const SRC = join(projectRoot, "src");
/** Files that are started by their path: the command and the threads. */
const STARTED = [
  "cli/main.ts",
  "activity-thread.ts",
  "sqlite/liveness-thread.ts",
  "postgres/liveness-thread.ts",
];
/** Every entry point imports this check first. */
const ALONE = /\/node-version\.ts$/;
/** Matches a module that locates other files relative to itself. `createRequire` works from any location. */
const ASKS_FOR_ITS_PLACE =
  /new URL\([^)]*import\.meta\.url\)|import\.meta\.dirname|= import\.meta;/;
const COMMENT_OR_SAMPLE = /\/\*[^]*?\*\/|\/\/ .*|`new URL[^`]*`/g;
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
    // Entry points might export more than their sources do; test-package.ts checks that they do not.
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
      includeDependenciesRecursively: false, // they are in separate files
      groups: [{ debugName: "by folder", name: fileOf }],
    },
  });
  const files = output.filter((file) => file.type === "chunk");
  refuseCycles(files);
  refuseLostPlaces(files);
  return files;
}

/** The output file of a source, as a path without its extension; null if it gets its own file, named by the bundler. */
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

/** The folder of the entry point that contains a source, or the first folder below src/. */
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

/** bundle.2 */
function refuseCycles(files: readonly OutputChunk[]): void {
  const imports = new Map(files.map((file) => [file.fileName, file.imports]));
  const visit = (name: string, path: readonly string[]): void => {
    if (path.includes(name)) throw new Error(`import cycle: ${[...path, name].join(" → ")}`);
    for (const other of imports.get(name) ?? []) visit(other, [...path, name]);
  };
  for (const name of imports.keys()) visit(name, []);
}

/** bundle.1 */
function refuseLostPlaces(files: readonly OutputChunk[]): void {
  for (const { fileName, moduleIds } of files) {
    for (const id of moduleIds.filter((path) => path.startsWith(SRC))) {
      if (dirname(stem(id)) === dirname(fileName)) continue;
      const code = readFileSync(id, "utf8").replaceAll(COMMENT_OR_SAMPLE, "");
      if (!ASKS_FOR_ITS_PLACE.test(code)) continue;
      throw new Error(`${basename(id)} depends on its location, but would be in ${fileName}`);
    }
  }
}
