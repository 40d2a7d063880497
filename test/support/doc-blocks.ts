// The TypeScript blocks of a Markdown page, as files that the compiler can check.
//   - doc-blocks.1: A block is compiled alone. Declarations that it needs and does not show come from a prelude, named in a
//       comment directly before it: `<!-- prelude: shop -->` inserts test/project/docs-preludes/shop.ts before the block.
//   - doc-blocks.2: A block may be ignored only with a reason: `<!-- ignore: shows a syntax error -->` before ` ```ts ignore`.
//   - doc-blocks.3: A problem names its line of the page or of the prelude.
//   - doc-blocks.4: A block that shows a file of examples/ names it: `<!-- file: examples/cookbook/batch.ts -->`. It must
//       consist of consecutive lines of that file, which imports the source where the block imports the package. The
//       compiler checks the file, so the block is not compiled again.

import { entryPoints } from "../../scripts/api/entry-points.ts";
import type { SourceText } from "./source-scan.ts";
import { typeCheck } from "./type-check.ts";

export const PRELUDES = "test/project/docs-preludes";

export interface DocBlock {
  readonly page: string;
  /** The line of the page on which the code begins. */
  readonly line: number;
  readonly code: string;
  readonly preludes: readonly string[];
  readonly ignored: boolean;
  /** The file that the block shows, if given. */
  readonly file: string | undefined;
  /** The reason why the block is ignored, if given. */
  readonly reason: string | undefined;
}

const FENCE = /^(?<indent>\s*)(?<fence>`{3,}|~{3,})(?<info>[^`]*)$/;
const COMMENT = /^\s*<!--\s*(?<key>prelude|ignore|file):\s*(?<value>.*?)\s*-->\s*$/;

/** The blocks marked `ts` or `typescript`, in order. */
export function findBlocks({ path, text }: SourceText): DocBlock[] {
  const lines = text.split("\n");
  const blocks: DocBlock[] = [];
  let notes = new Map<string, string>();

  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    const comment = COMMENT.exec(line)?.groups;
    if (comment !== undefined) notes.set(comment["key"] ?? "", comment["value"] ?? "");

    const open = FENCE.exec(line)?.groups;
    if (open !== undefined) {
      const { indent = "", fence = "", info = "" } = open;
      const first = at + 1;
      for (at = first; at < lines.length && !closes(lines[at] ?? "", fence); at += 1);
      const [language, ...flags] = info.trim().split(/\s+/);
      if (language === "ts" || language === "typescript") {
        blocks.push({
          page: path,
          line: first + 1,
          code: lines
            .slice(first, at)
            .map((code) => (code.startsWith(indent) ? code.slice(indent.length) : code))
            .join("\n"),
          preludes: (notes.get("prelude") ?? "").split(/[\s,]+/).filter((name) => name !== ""),
          ignored: flags.includes("ignore"),
          file: notes.get("file"),
          reason: notes.get("ignore") || undefined,
        });
      }
    }
    // A comment applies to the next block; only empty lines may be in between.
    if (comment === undefined && line.trim() !== "") notes = new Map();
  }
  return blocks;
}

/** The problems of the blocks of all pages, as `page:line message`, from one run of the compiler. */
export function docProblems(
  pages: readonly SourceText[],
  preludes: readonly SourceText[],
  examples: readonly SourceText[] = [],
): string[] {
  const preludeTexts = new Map(
    preludes.map(({ path, text }) => [path.replace(`${PRELUDES}/`, "").replace(/\.ts$/, ""), text]),
  );
  const problems: string[] = [];
  const units = new Map<string, Unit>();
  for (const block of pages.flatMap(findBlocks)) {
    const place = `${block.page}:${block.line}`;
    if (block.ignored) {
      if (block.reason === undefined) problems.push(`${place} is ignored without a reason`);
      continue;
    }
    if (block.file !== undefined) {
      const shown = examples.find(({ path }) => path === block.file);
      if (shown === undefined) problems.push(`${place} shows an unknown file: ${block.file}`);
      else if (!isExcerpt(block.code, asPackageUser(shown.text))) {
        problems.push(`${place} differs from ${block.file}`);
      }
      continue;
    }
    for (const name of block.preludes) {
      if (!preludeTexts.has(name)) problems.push(`${place} uses an unknown prelude: ${name}`);
    }
    units.set(`${block.page}.${block.line}.ts`, unitOf(block, preludeTexts));
  }

  const files = [...units].map(([path, { text }]) => ({ path, text }));
  for (const { path, line, message } of typeCheck(files)) {
    const place = units.get(path)?.places[line - 1] ?? `${path}:${line}`;
    problems.push(`${place} ${message}`);
  }
  return problems;
}

/** The text of an example as a user of the package writes it: imports name the package. */
export function asPackageUser(text: string): string {
  const names = new Map(entryPoints().map(({ name, source }) => [source, name]));
  return text.replaceAll(
    /"(?:\.\.\/)+(src\/[^"]+)"/g,
    (path, source: string) => `"${names.get(source) ?? path}"`,
  );
}

function isExcerpt(code: string, text: string): boolean {
  return `\n${text}`.includes(`\n${code.trimEnd()}\n`);
}

/** A block after its preludes, with the source position of each line (doc-blocks.3). */
interface Unit {
  readonly text: string;
  readonly places: readonly string[];
}

function unitOf(block: DocBlock, preludeTexts: ReadonlyMap<string, string>): Unit {
  const lines: string[] = [];
  const places: string[] = [];
  const add = (text: string, path: string, firstLine: number): void => {
    for (const [index, line] of text.split("\n").entries()) {
      lines.push(line);
      places.push(`${path}:${firstLine + index}`);
    }
  };
  for (const name of block.preludes) {
    add(preludeTexts.get(name) ?? "", `${PRELUDES}/${name}.ts`, 1);
  }
  add(block.code, block.page, block.line);
  return { text: lines.join("\n"), places };
}

function closes(line: string, fence: string): boolean {
  const text = line.trim();
  return text.startsWith(fence) && text.replaceAll(fence.charAt(0), "") === "";
}
