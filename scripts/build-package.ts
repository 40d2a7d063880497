// node scripts/build-package.ts: builds dist/ after `tsc` has written the declarations: the JavaScript in few files,
// the files that sources read (SQL, the schema of flow definitions), and only declarations that an entry point needs.
// The declarations keep their comments, which editors show, and spell out types that a schema only implies.

import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { entryPoints, projectRoot } from "./api/entry-points.ts";
import { bundle } from "./package/bundle.ts";
import { reachableDeclarations, shakeDeclarations } from "./package/declarations.ts";
import { slim, withShortNames } from "./package/slim.ts";
import { writeOutInferred } from "./package/written-out.ts";

/**
 * Code that users hardly ever step into: built without indentation, with short names of variables. The core, the runtime,
 * the client and everything else that runs around user code stays as readable as its source.
 */
const FLAT = /\/dist\/(?:cli|eslint-plugin|move|postgres|server|sql|sqlite|testing)\//;

/** These files infer types from each other, and no entry point may reach them. */
const SCHEMAS = /\/server\/schemas\//;

const src = join(projectRoot, "src");
const dist = join(projectRoot, "dist");

for (const path of built("**/*.js")) rmSync(path);
const files = await bundle(dist);
for (const path of built("**/*.js")) {
  const isFlat = FLAT.test(path);
  const code = readFileSync(path, "utf8");
  writeFileSync(path, slim(isFlat ? withShortNames(code) : code, { isFlat }));
}

const assets = globSync(["**/*.sql", "**/*.schema.json"], { cwd: src });
for (const asset of assets) {
  const text = readFileSync(join(src, asset), "utf8");
  mkdirSync(dirname(join(dist, asset)), { recursive: true });
  writeFileSync(
    join(dist, asset),
    asset.endsWith(".json") ? JSON.stringify(JSON.parse(text)) : text,
  );
}

const entries = entryPoints().map(({ source }) =>
  join(dist, source.replace(/^src\//, "").replace(/\.ts$/, ".d.ts")),
);
writeOutInferred([...reachableDeclarations(entries)].filter((path) => !SCHEMAS.test(path)));
shakeDeclarations(entries);
const reached = reachableDeclarations(entries);
for (const path of built("**/*.d.ts")) {
  if (reached.has(path)) writeFileSync(path, withTabs(readFileSync(path, "utf8")));
  else rmSync(path);
}

const sources = files.reduce((sum, { moduleIds }) => sum + moduleIds.length, 0);
console.log(`${sources} sources in ${files.length} files, ${assets.length} assets, in dist/`);

function withTabs(declarations: string): string {
  return declarations.replaceAll(/^(?: {4})+/gm, (spaces) => "\t".repeat(spaces.length / 4));
}

/** Files written by this script or the compiler: neither the dashboard nor the documentation site. */
function built(pattern: string): string[] {
  const found = globSync(pattern, { cwd: dist, exclude: ["ui/**", "site/**"] });
  return found.map((path) => join(dist, path));
}
