// The pages for people: the page that a link in a mail opens, and the result of its button.
//   - page.1: Opening a link changes nothing, because mail programs and link scanners open links too. The page has a
//        button, which sends the form.
//   - The parameters of the link become hidden fields of the form. The page shows them, so that the reader sees what
//        the button sends. Every text is escaped.
//   - No script, no image, no request to another address; the style is inline, and the policy names its hash.

import { hash } from "node:crypto";

/** The texts of the page that a link opens. */
export interface PageTexts {
  /** The language of the texts. Default "en". */
  readonly lang?: string;
  readonly title: string;
  /** A paragraph below the title. */
  readonly text?: string;
  /** The label of the button. */
  readonly button: string;
}

export interface Form {
  /** Shown and sent, in this order. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly texts: PageTexts;
  /** When the callback expires. */
  readonly expiresAt?: Date;
}

const STYLE = [
  "body{font:1.125rem/1.5 system-ui,sans-serif;margin:0;color:#1a1a1a;background:#fff}",
  "main{max-width:36rem;margin:10vh auto;padding:0 1.5rem;overflow-wrap:anywhere}",
  "h1{font-size:1.5rem;line-height:1.25}dt{font-weight:600}dd{margin:0 0 .5rem}",
  "button{font:inherit;font-weight:600;padding:.75rem 1.5rem;border:0;border-radius:.375rem;",
  "color:#fff;background:#0b57d0;cursor:pointer}",
  "button:focus-visible{outline:3px solid #1a1a1a;outline-offset:3px}",
  "@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}",
  "button{color:#0a1a33;background:#a8c7fa}button:focus-visible{outline-color:#eee}}",
].join("");

/** For `style-src`: only this style applies. */
export const STYLE_SOURCE = `'sha256-${hash("sha256", STYLE, "base64")}'`;

/** The page with the button. The form goes to the page's own path, wherever the application is mounted. */
export function formPage({ fields, texts, expiresAt }: Form): string {
  const hidden = fields.map(
    ([name, value]) =>
      `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  );
  const shown = fields.map(
    ([name, value]) => `<dt>${escapeHtml(name)}</dt><dd>${escapeHtml(value)}</dd>`,
  );
  const expiry =
    expiresAt === undefined ? "" : `<p>Valid until ${timeElement(expiresAt.toISOString())}.</p>`;
  const content =
    `${shown.length === 0 ? "" : `<dl>${shown.join("")}</dl>`}` +
    `<form method="post" action="?">${hidden.join("")}` +
    `<button type="submit">${escapeHtml(texts.button)}</button></form>${expiry}`;
  return document(texts, content);
}

/** A page without a form: the result of the button, or why there is none. */
export function messagePage(title: string, text: string): string {
  return document({ title, text }, "");
}

function document(
  { lang = "en", title, text }: Omit<PageTexts, "button">,
  content: string,
): string {
  const shownTitle = escapeHtml(title);
  const paragraph = text === undefined || text === "" ? "" : `<p>${escapeHtml(text)}</p>`;
  return (
    `<!doctype html><html lang="${escapeHtml(lang)}"><head><meta charset="utf-8">` +
    `<meta name="viewport" content="width=device-width, initial-scale=1">` +
    `<meta name="robots" content="noindex, nofollow"><title>${shownTitle}</title>` +
    `<style>${STYLE}</style></head><body><main><h1>${shownTitle}</h1>${paragraph}${content}` +
    `</main></body></html>`
  );
}

function timeElement(iso: string): string {
  return `<time datetime="${iso}">${iso.slice(0, 16).replace("T", " ")} UTC</time>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
