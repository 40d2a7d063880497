// npm run figures: writes the published figures of bench/results/ into the pages. `-- --check` only compares.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fill, readPages } from "./figures/pages.ts";
import { Published } from "./figures/published.ts";

const root = join(import.meta.dirname, "..");
const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
const published = Published.read(root);
const missing: string[] = [];
const problems: string[] = [];
let changed = 0;
for (const before of readPages(root)) {
  const { page, ...found } = await fill(root, before, published);
  missing.push(...found.missing);
  problems.push(...found.problems);
  if (page.text === before.text) continue;
  changed++;
  if (values.check) problems.push(`${page.path}: does not show the figures of bench/results/`);
  else writeFileSync(join(root, page.path), page.text);
}
for (const line of missing) console.log(`not measured, left out: ${line}`);
for (const problem of problems) console.error(problem);
console.log(values.check ? `${changed} pages differ` : `${changed} pages written`);
process.exitCode = problems.length === 0 ? 0 : 1;
