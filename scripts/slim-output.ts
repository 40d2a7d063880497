// node scripts/slim-output.ts: the last step of the build. Takes comments and wide indentation out of dist/**/*.js, and
// removes the declaration files that no entry point leads to. Those that stay keep their comments: editors show them.

import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { entryPoints, projectRoot } from "./api/entry-points.ts";
import { reachableDeclarations } from "./package/declarations.ts";
import { slim } from "./package/slim.ts";

const dist = join(projectRoot, "dist");
const find = (pattern: string): string[] =>
  globSync(pattern, { cwd: dist, exclude: ["ui/**", "site/**"] }).map((path) => join(dist, path));

let saved = 0;
for (const path of find("**/*.js")) {
  const code = readFileSync(path, "utf8");
  const slimmed = slim(code);
  saved += code.length - slimmed.length;
  writeFileSync(path, slimmed);
}

const entries = entryPoints().map(({ source }) =>
  join(dist, source.replace(/^src\//, "").replace(/\.ts$/, ".d.ts")),
);
const reached = reachableDeclarations(entries);
const unreached = find("**/*.d.ts").filter((path) => !reached.has(path));
for (const path of unreached) rmSync(path);
console.log(`dist/ is ${Math.round(saved / 1_000)} kB smaller; ${unreached.length} .d.ts removed`);
