// The API reference as Markdown: one page per subpath, and one that lists them.
//   Each name has its doc comment and its declaration. The pages are checked in, so that every change of the API shows
//   up in a diff.

import { join } from "node:path";
import { repositoryAddress } from "../site/repository.ts";
import { projectRoot } from "./entry-points.ts";
import prettier from "prettier";
import type { ApiItem, ApiKind, ApiModule } from "./model.ts";

export interface ApiPage {
  /** Relative to the project's root. */
  readonly path: string;
  readonly text: string;
}

export const API_INDEX = "docs/api-reference.md";
export const API_FOLDER = "docs/api";
const NOTE =
  "<!-- Made by `npm run api:update` from the source: change the doc comments there. -->";
const CONTRACT = "src/core/provider/";
const RULE =
  "`perdure` exports what every program needs: definitions, `Perdure`, the runtime and the client with their types, errors, values, the storage contract and the functions that move a store. A feature that a program may do without has a subpath: a store, flows, limiters, schedules, encryption, the server, telemetry, tests, the ESLint plugin. Each function and class is exported from one place.";

const SECTIONS: Readonly<Record<ApiKind, string>> = {
  function: "Functions",
  class: "Classes",
  constant: "Constants",
  type: "Types",
};

export async function apiPages(modules: readonly ApiModule[]): Promise<ApiPage[]> {
  const pages = modules.map((module) => ({ path: pathOf(module), text: modulePage(module) }));
  pages.push({ path: API_INDEX, text: indexPage(modules) });
  return Promise.all(
    pages.map(async ({ path, text }) => {
      const options = await prettier.resolveConfig(join(projectRoot, path));
      const formatted = await prettier.format(text, { ...options, parser: "markdown" });
      return { path, text: formatted };
    }),
  );
}

function pathOf({ name }: ApiModule): string {
  return `${API_FOLDER}/${name.replaceAll("/", "-")}.md`;
}

function indexPage(modules: readonly ApiModule[]): string {
  const rows = modules.map((module) => {
    const link = repositoryAddress(pathOf(module)); // these pages are not in the package
    return `| [\`${module.name}\`](${link}) | ${firstSentence(module.doc)} | ${module.items.length} |`;
  });
  return [
    NOTE,
    "# API reference",
    "Every exported name, with its type. The other pages say how they are used; this one is made from the source.",
    RULE,
    ["| import from | what it is | names |", "| --- | --- | --- |", ...rows].join("\n"),
  ].join("\n\n");
}

function modulePage(module: ApiModule): string {
  const parts = [NOTE, `# \`${module.name}\``, firstSentence(module.doc)];
  const own = module.items.filter(({ source }) => !source.startsWith(CONTRACT));
  for (const [kind, title] of Object.entries(SECTIONS)) {
    const items = own.filter((item) => item.kind === kind);
    if (items.length > 0) parts.push(`## ${title}`, ...items.map(itemPart));
  }
  const contract = module.items.filter(({ source }) => source.startsWith(CONTRACT));
  if (contract.length > 0) {
    const what = "Only authors of a [provider](../providers.md) need these.";
    parts.push("## The storage contract", what, ...contract.map(itemPart));
  }
  return parts.join("\n\n");
}

function itemPart({ name, doc, signature }: ApiItem): string {
  const reason = "<!-- ignore: a declaration, made from the source -->";
  return [`### \`${name}\``, escaped(doc), reason, `\`\`\`ts ignore\n${signature}\n\`\`\``].join(
    "\n\n",
  );
}

/** A doc comment is Markdown, but an angle bracket in it is literal. */
function escaped(doc: string): string {
  return doc.replaceAll(/`[^`]*`|</g, (found) => (found === "<" ? "&lt;" : found));
}

/** The description of the entry file, without its name and without notes for contributors. */
function firstSentence(doc: string): string {
  const [sentence = ""] = /^.*?\.(?=\s|$)/.exec(doc.replace(/^perdure\/\S+: /, "")) ?? [];
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
