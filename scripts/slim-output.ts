// node scripts/slim-output.ts: takes comments and wide indentation out of dist/**/*.js, the last step of the build.
// The declaration files keep their comments: editors show them.

import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { slim } from "./package/slim.ts";

const dist = join(import.meta.dirname, "..", "dist");
const files = globSync("**/*.js", { cwd: dist, exclude: ["ui/**", "site/**"] });
let saved = 0;
for (const file of files) {
  const path = join(dist, file);
  const code = readFileSync(path, "utf8");
  const slimmed = slim(code);
  saved += code.length - slimmed.length;
  writeFileSync(path, slimmed);
}
console.log(`${files.length} files slimmed by ${Math.round(saved / 1_000)} kB`);
