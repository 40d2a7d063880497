// node scripts/fold-changes.ts VERSION DATE: folds .changes/*.md into CHANGELOG.md and deletes them.

import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { foldChanges } from "./changes/fold.ts";

const root = join(import.meta.dirname, "..");
const [version = "", date = new Date().toISOString().slice(0, 10)] = process.argv.slice(2);
const files = globSync(".changes/*.md", { cwd: root, exclude: [".changes/README.md"] })
  .sort()
  .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") }));

const changelog = join(root, "CHANGELOG.md");
writeFileSync(changelog, foldChanges(readFileSync(changelog, "utf8"), files, { version, date }));
for (const { path } of files) rmSync(join(root, path));
console.log(`${files.length} change files folded into CHANGELOG.md under ${version}`);
