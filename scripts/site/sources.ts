// The files of the project that are pages of the site, and their addresses.
//   - Every Markdown file that a page links to is a page; so are the programs of examples, as highlighted code.
//   - Addresses are relative, so that the site works from any folder, and from a disk.

import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

export interface SourcePage {
  /** Relative to the project's root. */
  readonly path: string;
  /** Relative to the site's root. */
  readonly url: string;
  readonly kind: "markdown" | "code";
  readonly text: string;
}

const MARKDOWN = [
  ".changes/README.md",
  "README.md",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  "CODE_OF_CONDUCT.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "bench/README.md",
  "docs/**/*.md",
  "examples/**/*.md",
];
const CODE = ["LICENSE", "examples/**/*.ts"];

export function readPages(root: string): SourcePage[] {
  const read = (patterns: string[], kind: SourcePage["kind"]) =>
    globSync(patterns, { cwd: root, exclude: ["**/node_modules"] })
      .map((path) => path.replaceAll("\\", "/"))
      .sort()
      .map((path) => ({
        path,
        url: urlOf(path),
        kind,
        text: readFileSync(join(root, path), "utf8"),
      }));
  const pages = [...read(MARKDOWN, "markdown"), ...read(CODE, "code")];
  return [...pages, decisions(pages)];
}

/** `docs/a.md` becomes `a.html`: the docs are at the top level, everything else is below it. */
function urlOf(path: string): string {
  if (path === "README.md") return "index.html";
  if (path === "docs/README.md") return "contents.html";
  const place = path.replace(/^docs\//, "").replace(/\/README\.md$/, "/index.md");
  return place.endsWith(".ts")
    ? `${place}.html`
    : `${place.replace(/\.md$/, "").toLowerCase()}.html`;
}

/** docs/decisions/ has no index page in the repository, where the folder listing is enough. */
function decisions(pages: readonly SourcePage[]): SourcePage {
  const rows = pages
    .filter(({ path }) => path.startsWith("docs/decisions/"))
    .map(({ path, text }) => `- [${titleOf(text)}](${posix.basename(path)})`);
  return {
    path: "docs/decisions/README.md",
    url: "decisions/index.html",
    kind: "markdown",
    text: `# Decisions\n\nWhat we discussed, and what we decided.\n\n${rows.join("\n")}\n`,
  };
}

export function titleOf(markdown: string): string {
  return /^# (.+)$/m.exec(markdown)?.[1]?.replaceAll("`", "") ?? "Perdure";
}
