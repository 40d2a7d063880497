// node scripts/api-report.ts: writes the API reference (docs/api-reference.md, docs/api/) from the source.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "./api/entry-points.ts";
import { readApi } from "./api/model.ts";
import { API_FOLDER, apiPages } from "./api/pages.ts";

const modules = readApi();
const pages = await apiPages(modules);
rmSync(join(projectRoot, API_FOLDER), { recursive: true, force: true });
mkdirSync(join(projectRoot, API_FOLDER), { recursive: true });
for (const { path, text } of pages) writeFileSync(join(projectRoot, path), text);
const undocumented = modules.flatMap(({ name, items }) =>
  items.filter(({ doc }) => doc === "").map((item) => `${name}: ${item.name} (${item.source})`),
);
for (const line of undocumented) console.log(`missing doc comment: ${line}`);
console.log(`${pages.length} pages written`);
