// Markdown to HTML: headings with GitHub's anchors, highlighted code, diagrams, and links that lead to pages.
//   - A link inside the project leads to a page of the site. A link without a target page is reported with its page.

import { repositoryPath } from "./repository.ts";
import { extname, posix } from "node:path";
import MarkdownIt from "markdown-it";
import { createHighlighter, type Highlighter } from "shiki";
import { drawSequence, isSequenceDiagram } from "./sequence-diagram.ts";
import type { SourcePage } from "./sources.ts";

export interface Heading {
  readonly level: number;
  readonly text: string;
  readonly anchor: string;
}
export interface Rendered {
  readonly html: string;
  readonly headings: readonly Heading[];
}

const LANGUAGES = ["typescript", "javascript", "shellscript", "json", "sql", "html", "yaml"];
const THEMES = { light: "github-light", dark: "github-dark" } as const;
/** The target of a link without a page: it leads nowhere within the site. */
const EXTERNAL = /^[a-z]+:/i;
/** Folders whose files are copied into the site unchanged. */
export const COPIED = ["docs/images", "docs/grafana"];

export class Renderer {
  readonly problems: string[] = [];
  readonly #urls: ReadonlyMap<string, string>;
  readonly #highlighter: Highlighter;

  private constructor(pages: readonly SourcePage[], highlighter: Highlighter) {
    this.#urls = new Map(pages.map(({ path, url }) => [path, url]));
    this.#highlighter = highlighter;
  }

  static async make(pages: readonly SourcePage[]): Promise<Renderer> {
    const themes = Object.values(THEMES);
    return new Renderer(pages, await createHighlighter({ themes, langs: LANGUAGES }));
  }

  render(page: SourcePage): Rendered {
    if (page.kind === "code") {
      const title = `<h1><code>${page.path}</code></h1>`;
      return {
        html: `${title}\n${this.#highlight(page.text, extname(page.path).slice(1))}`,
        headings: [],
      };
    }
    return this.#markdown(page);
  }

  #markdown(page: SourcePage): Rendered {
    const headings: Heading[] = [];
    const slugs = new Slugs();
    const markdown = new MarkdownIt({
      html: true, // for comments that tests read
      highlight: (code, language) => this.#block(page, code, language),
    });
    const { rules } = markdown.renderer;
    rules["heading_open"] = (tokens, index) => {
      const token = tokens[index];
      const text = plainText(tokens[index + 1]?.children ?? []);
      const level = Number(token?.tag.slice(1) ?? 1);
      const anchor = slugs.next(text);
      headings.push({ level, text, anchor });
      return `<h${level} id="${anchor}"><a class="anchor" href="#${anchor}">`;
    };
    rules["heading_close"] = (tokens, index) => `</a></${tokens[index]?.tag ?? "h1"}>\n`;
    rules["link_open"] = (tokens, index, options, _environment, self) => {
      const token = tokens[index];
      const href = token?.attrGet("href");
      if (typeof href === "string") token?.attrSet("href", this.#link(page, href));
      return self.renderToken(tokens, index, options);
    };
    rules["image"] = (tokens, index, options, _environment, self) => {
      const token = tokens[index];
      const source = token?.attrGet("src");
      if (typeof source === "string")
        token?.attrSet("src", copiedAddress(page, localReference(page, source)));
      if (token !== undefined) token.attrSet("alt", plainText(token.children ?? []));
      return self.renderToken(tokens, index, options);
    };
    rules["table_open"] = () => '<div class="table"><table>\n';
    rules["table_close"] = () => "</table></div>\n";
    return { html: markdown.render(page.text), headings };
  }

  #block(page: SourcePage, code: string, info: string): string {
    const language = info.split(/\s+/)[0] ?? "";
    if (language === "mermaid" && isSequenceDiagram(code)) {
      try {
        return `<pre class="diagram">${drawSequence(code)}</pre>`;
      } catch (error) {
        this.problems.push(`${page.path}: ${(error as Error).message}`);
      }
    }
    return this.#highlight(code, language);
  }

  #highlight(code: string, language: string): string {
    const known = this.#highlighter.getLoadedLanguages().includes(language);
    return this.#highlighter.codeToHtml(code.trimEnd(), {
      lang: known ? language : "text",
      themes: THEMES,
      defaultColor: "light-dark()",
    });
  }

  #link(page: SourcePage, address: string): string {
    const href = localReference(page, address);
    if (EXTERNAL.test(href)) return href;
    const [target = "", anchor] = href.split("#");
    const hash = anchor === undefined ? "" : `#${anchor}`;
    if (target === "") return hash;
    if (COPIED.some((folder) => inDocs(page, target).startsWith(`${folder}/`))) {
      return copiedAddress(page, target);
    }
    const path = inDocs(page, target).replace(/\/$/, "");
    const url = this.#urls.get(path) ?? this.#urls.get(`${path}/README.md`);
    // A repository file without a page on the site keeps its address; test/project/package.test.ts checks that it
    // exists.
    if (url === undefined && repositoryPath(address) !== null) return address;
    if (url === undefined) {
      this.problems.push(`${page.path}: ${href} does not lead to a page`);
      return href;
    }
    return `${posix.relative(posix.dirname(page.url), url)}${hash}`;
  }
}

/** An address in the repository becomes a reference relative to the page; anything else stays unchanged. */
function localReference(page: SourcePage, address: string): string {
  const path = repositoryPath(address);
  return path === null ? address : posix.relative(posix.dirname(page.path), path);
}

function inDocs(page: SourcePage, target: string): string {
  return posix.join(posix.dirname(page.path), target);
}

/** From docs/images/ to images/. */
function copiedAddress(page: SourcePage, source: string): string {
  return posix.relative(posix.dirname(page.url), inDocs(page, source).replace(/^docs\//, ""));
}

function plainText(tokens: readonly { readonly type: string; readonly content: string }[]): string {
  return tokens
    .filter(({ type }) => type === "text" || type === "code_inline")
    .map(({ content }) => content)
    .join("");
}

/** GitHub's anchors: lower case, no punctuation, a number for repetitions. */
export class Slugs {
  readonly #seen = new Map<string, number>();

  next(text: string): string {
    const slug = text
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(/\s/g, "-");
    const count = this.#seen.get(slug) ?? 0;
    this.#seen.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  }
}
