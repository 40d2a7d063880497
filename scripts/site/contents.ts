// The table of contents, read from docs/README.md: sections, and a line for each page. The site's navigation and
// llms.txt are made from it, so that there is one list to keep.

export interface Entry {
  /** Relative to docs/, as it is linked there. */
  readonly link: string;
  readonly title: string;
  readonly about: string;
}
export interface Section {
  readonly title: string;
  readonly entries: readonly Entry[];
}

const ROW = /^\|\s*\[(?<title>[^\]]+)\]\((?<link>[^)]+)\)\s*\|\s*(?<about>.+?)\s*\|$/;

export function readContents(page: string): Section[] {
  const sections: { title: string; entries: Entry[] }[] = [];
  for (const line of page.split("\n")) {
    const heading = /^## (?<title>.+)$/.exec(line)?.groups?.["title"];
    if (heading !== undefined) sections.push({ title: heading, entries: [] });
    const { title, link, about } = ROW.exec(line)?.groups ?? {};
    if (title === undefined || link === undefined || about === undefined) continue;
    sections.at(-1)?.entries.push({ title, link, about });
  }
  return sections.filter(({ entries }) => entries.length > 0);
}

/** llms.txt: what there is to read, for programs that read. Links lead into the published package. */
export function llmsText(sections: readonly Section[]): string {
  const parts = sections.map(({ title, entries }) => {
    const rows = entries.map(({ title, link, about }) => {
      const path = new URL(link, "file:///docs/").pathname.slice(1);
      return `- [${title}](${path}): ${about}`;
    });
    return `## ${title}\n\n${rows.join("\n")}\n`;
  });
  const about =
    "> Durable execution for TypeScript: ordinary async functions that survive crashes, restarts and deploys. " +
    "A library on an embedded SQLite file or PostgreSQL; no server to operate.";
  return `# Perdure\n\n${about}\n\n${parts.join("\n")}`;
}
