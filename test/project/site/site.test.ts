// The documentation site builds from the repository, and every link in it resolves.

import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { afterAll, expect, test } from "vitest";
import { repositoryPath } from "../../../scripts/site/repository.ts";
import { buildSite } from "../../../scripts/site/build.ts";
import { llmsText } from "../../../scripts/site/contents.ts";
import { projectRoot } from "../../support/source-files.ts";

const folder = mkdtempSync(join(tmpdir(), "perdure-site-"));
afterAll(() => rmSync(folder, { recursive: true }));
const site = await buildSite(projectRoot, folder);

const texts = new Map(site.pages.map((url) => [url, readFileSync(join(folder, url), "utf8")]));
const anchors = new Map(
  [...texts].map(([url, text]) => [
    url,
    new Set([...text.matchAll(/\sid="([^"]+)"/g)].map(second)),
  ]),
);

test("every page of docs/ is listed once, and every link between files leads to a page", () => {
  expect(site.problems).toEqual([]);
});

test("every internal link and anchor of the built pages resolves", () => {
  const broken: string[] = [];
  for (const [url, text] of texts) {
    for (const target of addressesIn(text)) {
      const [path = "", anchor] = target.split("#");
      const page = path === "" ? url : posix.join(posix.dirname(url), path);
      const isThere = anchors.has(page) || existsSync(join(folder, page));
      const hasAnchor = anchor === undefined || anchors.get(page)?.has(decodeURIComponent(anchor));
      if (!isThere || !hasAnchor) broken.push(`${url}: ${target}`);
    }
  }
  expect(broken).toEqual([]);
});

test("nothing is loaded from another host", () => {
  const foreign = [...texts].flatMap(([url, text]) =>
    [...text.matchAll(/<(?:script|link|img|iframe)[^>]*(?:src|href)="(https?:|\/\/)[^"]*"/g)].map(
      ([tag]) => `${url}: ${tag}`,
    ),
  );
  expect(foreign).toEqual([]);
  const styles = globSync("*.{css,js}", { cwd: folder }).map((file) =>
    readFileSync(join(folder, file), "utf8"),
  );
  expect(styles.join("\n")).not.toMatch(/url\(|https?:/);
});

test("pages have a title, a navigation that marks the current page, and highlighted code", () => {
  const page = texts.get("quick-start.html") ?? "";
  expect(page).toContain("<title>Quick start · Perdure</title>");
  expect(page).toMatch(/href="\.\/quick-start\.html" aria-current="page"/);
  expect(page).toContain('<pre class="shiki');
  expect(texts.get("api/perdure.html") ?? "").toContain('href="../quick-start.html"');
});

test("sequence diagrams are drawn", () => {
  const page = texts.get("how-it-works.html") ?? "";
  expect(page.match(/<svg class="sequence"/g)).toHaveLength(3);
  expect(page).not.toContain("sequenceDiagram");
});

test("llms.txt matches the table of contents; `npm run docs:build` writes it", () => {
  const text = readFileSync(join(projectRoot, "llms.txt"), "utf8");
  expect(text).toBe(llmsText(site.contents));
  for (const [, path = ""] of text.matchAll(/\]\(([^)]+)\)/g)) {
    expect(existsSync(join(projectRoot, repositoryPath(path) ?? path)), path).toBe(true);
  }
});

/** Addresses within the site, from attributes. */
function addressesIn(html: string): string[] {
  return [...html.matchAll(/\s(?:href|src)="([^"]*)"/g)]
    .map(second)
    .map((address) => address.replaceAll("&amp;", "&"))
    .filter((address) => !/^[a-z]+:/i.test(address));
}

function second(match: RegExpExecArray): string {
  return match[1] ?? "";
}
