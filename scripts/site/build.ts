// Builds the documentation into a folder of plain files: HTML, one style sheet, one small script, images.

import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { readContents, type Section } from "./contents.ts";
import { COPIED, Renderer } from "./render.ts";
import { readPages, titleOf, type SourcePage } from "./sources.ts";
import { frame, navigation } from "./template.ts";

export interface BuiltSite {
  /** Addresses of the pages, relative to the site's root. */
  readonly pages: readonly string[];
  readonly contents: readonly Section[];
  /** Broken links, and pages that no list names. Empty if there is no problem. */
  readonly problems: readonly string[];
}

const ASSETS = ["style.css", "theme.js"];

export async function buildSite(root: string, folder: string): Promise<BuiltSite> {
  const pages = readPages(root);
  const byPath = new Map(pages.map((page) => [page.path, page]));
  const contents = readContents(byPath.get("docs/README.md")?.text ?? "");
  const sections = navigation(contents, (path) => byPath.get(path)?.url);
  const renderer = await Renderer.make(pages);

  rmSync(folder, { recursive: true, force: true });
  for (const page of pages) {
    const title = page.kind === "code" ? page.path : titleOf(page.text);
    const html = frame({ title, url: page.url, sections, page: renderer.render(page) });
    write(join(folder, page.url), html);
  }
  for (const asset of ASSETS) copyFileSync(join(import.meta.dirname, asset), join(folder, asset));
  for (const path of COPIED.filter((each) => existsSync(join(root, each)))) {
    cpSync(join(root, path), join(folder, posix.basename(path)), { recursive: true });
  }
  return {
    pages: pages.map(({ url }) => url),
    contents,
    problems: [...renderer.problems, ...unlisted(pages, contents)],
  };
}

/** Each page directly in docs/ must be listed in the contents once. */
function unlisted(pages: readonly SourcePage[], contents: readonly Section[]): string[] {
  const listed = contents.flatMap(({ entries }) => entries.map(({ link }) => `docs/${link}`));
  const twice = listed.filter((path, index) => listed.indexOf(path) !== index);
  return [
    ...pages
      .filter(({ path }) => /^docs\/[^/]+\.md$/.test(path) && path !== "docs/README.md")
      .filter(({ path }) => !listed.includes(path))
      .map(({ path }) => `docs/README.md: does not list ${path}`),
    ...twice.map((path) => `docs/README.md: lists ${path} twice`),
  ];
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
