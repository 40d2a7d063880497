// Writes a code block of a page to a file, as a reader who runs the block would.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { entryPoints } from "../../scripts/api/entry-points.ts";
import { findBlocks } from "../support/doc-blocks.ts";
import { projectRoot } from "../support/source-files.ts";

/** Writes the first block of the page that contains the text to a file; imports of the package lead to the source. */
export function writeBlock(page: string, containing: string, file: string): void {
  const text = readFileSync(join(projectRoot, page), "utf8");
  const block = findBlocks({ path: page, text }).find(({ code }) => code.includes(containing));
  if (block === undefined) throw new Error(`${page} has no block with ${containing}`);
  let { code } = block;
  for (const { name, source } of entryPoints()) {
    code = code.replaceAll(`"${name}"`, `"${pathToFileURL(join(projectRoot, source)).href}"`);
  }
  writeFileSync(file, code);
}
