// The table of contents, read from docs/README.md: sections, and a line for each page. The site's navigation and
// llms.txt are generated from it, so that there is only one list to maintain.

import { posix } from "node:path";
import { repositoryPath } from "./repository.ts";

export interface Entry {
  /** Relative to docs/. */
  readonly link: string;
  /** The link as written: relative to docs/, or an address if the page is not in the package. */
  readonly href: string;
  readonly title: string;
  readonly about: string;
}
export interface Section {
  readonly title: string;
  readonly entries: readonly Entry[];
}

const ROW = /^\|\s*\[(?<title>[^\]]+)\]\((?<href>[^)]+)\)\s*\|\s*(?<about>.+?)\s*\|$/;

export function readContents(page: string): Section[] {
  const sections: { title: string; entries: Entry[] }[] = [];
  for (const line of page.split("\n")) {
    const heading = /^## (?<title>.+)$/.exec(line)?.groups?.["title"];
    if (heading !== undefined) sections.push({ title: heading, entries: [] });
    const { title, href, about } = ROW.exec(line)?.groups ?? {};
    if (title === undefined || href === undefined || about === undefined) continue;
    const path = repositoryPath(href);
    const link = path === null ? href : posix.relative("docs", path);
    sections.at(-1)?.entries.push({ title, link, href, about });
  }
  return sections.filter(({ entries }) => entries.length > 0);
}

/** llms.txt: the list of pages, for programs. Links lead into the package, otherwise to the repository. */
export function llmsText(sections: readonly Section[]): string {
  const parts = sections.map(({ title, entries }) => {
    const rows = entries.map(({ title, link, href, about }) => {
      const target = link === href ? posix.join("docs", link) : href;
      return `- [${title}](${target}): ${about}`;
    });
    return `## ${title}\n\n${rows.join("\n")}\n`;
  });
  const about =
    "> Durable execution for TypeScript: ordinary async functions that survive crashes, restarts and deploys. " +
    "A library on an embedded SQLite file or PostgreSQL; no server to operate.";
  return `# Perdure\n\n${about}\n\n${parts.join("\n")}`;
}
