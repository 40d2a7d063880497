// A search over local Markdown files: returns the line of prose that contains most of the words.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

export interface Found {
  readonly file: string;
  readonly line: number;
  readonly text: string;
}

/** Null if no line contains any of the words. The same files and words always find the same line. */
export function searchDocs(folder: string, words: string): Found | null {
  const wanted = words.toLowerCase().split(/\W+/).filter(Boolean);
  let best: (Found & { readonly score: number }) | null = null;
  for (const file of globSync("*.md", { cwd: folder }).sort()) {
    const lines = readFileSync(join(folder, file), "utf8").split("\n");
    let isCode = false;
    for (const [index, text] of lines.entries()) {
      if (text.startsWith("```")) isCode = !isCode;
      if (isCode) continue;
      const lower = text.toLowerCase();
      const score = wanted.filter((word) => lower.includes(word)).length;
      if (score > (best?.score ?? 0)) best = { file, line: index + 1, text: text.trim(), score };
    }
  }
  return best === null ? null : { file: best.file, line: best.line, text: best.text };
}
