// The frame of every page: navigation on the left, the page, and its headings on the right. Reading needs no script; a
// small one switches between light and dark.

import { posix } from "node:path";
import type { Section } from "./contents.ts";
import type { Rendered } from "./render.ts";

export interface Frame {
  readonly title: string;
  /** The address of the page, relative to the site's root. */
  readonly url: string;
  readonly sections: readonly NavigationSection[];
  readonly page: Rendered;
}
export interface NavigationSection {
  readonly title: string;
  readonly links: readonly { readonly title: string; readonly url: string }[];
}

/** The contents with the addresses of their pages. */
export function navigation(
  sections: readonly Section[],
  urlOf: (path: string) => string | undefined,
): NavigationSection[] {
  return sections.map(({ title, entries }) => ({
    title,
    links: entries.flatMap(({ title, link }) => {
      const path = posix.join("docs", link).replace(/\/$/, "");
      const url = urlOf(path) ?? urlOf(`${path}/README.md`);
      return url === undefined ? [] : [{ title, url }];
    }),
  }));
}

export function frame({ title, url, sections, page }: Frame): string {
  const root = posix.relative(posix.dirname(url), ".") || ".";
  const at = (target: string): string => `${root}/${target}`;
  const menus = sections.map(({ title, links }) => {
    const items = links.map((link) => {
      const here = link.url === url ? ' aria-current="page"' : "";
      return `<li><a href="${at(link.url)}"${here}>${escape(link.title)}</a></li>`;
    });
    return `<h2>${escape(title)}</h2><ul>${items.join("")}</ul>`;
  });
  const onPage = page.headings
    .filter(({ level }) => level === 2)
    .map(({ text, anchor }) => `<li><a href="#${anchor}">${escape(text)}</a></li>`);
  const aside = onPage.length < 2 ? "" : `<h2>On this page</h2><ul>${onPage.join("")}</ul>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} · Perdure</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${at("style.css")}">
<script src="${at("theme.js")}"></script>
</head>
<body>
<header><a class="name" href="${at("index.html")}">Perdure</a>
<button id="theme" type="button" aria-label="Light or dark">◐</button></header>
<div class="columns">
<nav aria-label="Pages"><details open><summary>Pages</summary>${menus.join("")}</details></nav>
<main>
${page.html}
</main>
<aside aria-label="On this page">${aside}</aside>
</div>
</body>
</html>
`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
