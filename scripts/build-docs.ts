// node scripts/build-docs.ts [FOLDER]: builds the documentation into dist/site, and writes llms.txt.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildSite } from "./site/build.ts";
import { llmsText } from "./site/contents.ts";

const root = join(import.meta.dirname, "..");
const folder = process.argv[2] ?? join(root, "dist", "site");
const { pages, contents, problems } = await buildSite(root, folder);
writeFileSync(join(root, "llms.txt"), llmsText(contents));
for (const problem of problems) console.error(problem);
console.log(`${pages.length} pages in ${folder}`);
if (problems.length > 0) process.exitCode = 1;
