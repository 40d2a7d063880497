// A real Chromium, and pages that record everything that should not happen.

import chromiumPack from "@sparticuz/chromium";
import { exclusively } from "./exclusively.ts";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";

/** The flags that Chromium needs on a server; web security stays on. */
const ARGS = [
  "--no-sandbox",
  "--no-zygote",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--font-render-hinting=none",
];

/** Long, because the machine may be busy; no test waits for it to pass. */
const TIMEOUT_MS = 30_000;

export async function openBrowser(): Promise<Browser> {
  // Chromium is unpacked into the temporary folder on first use.
  const executablePath = await exclusively("chromium", () => chromiumPack.executablePath());
  return chromium.launch({ args: ARGS, executablePath });
}

/** A string, because it runs in the page: this project's types have no `document`. */
const TELL_VIOLATIONS = `document.addEventListener("securitypolicyviolation", (event) =>
  console.error("violation of " + event.violatedDirective + ": " + event.blockedURI));`;

export interface Watched {
  readonly page: Page;
  /** Errors of the page and its console, violations of its security policy, dialogs, requests to other hosts. */
  readonly troubles: string[];
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openPage(
  browser: Browser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<Watched> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    locale: "en-GB",
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(TIMEOUT_MS);
  const troubles: string[] = [];
  const { host } = new URL(address);
  page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") troubles.push(`console: ${message.text()}`);
  });
  page.on("dialog", (dialog) => {
    troubles.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (new URL(request.url()).host !== host) troubles.push(`request: ${request.url()}`);
  });
  await page.addInitScript({ content: TELL_VIOLATIONS });
  await page.goto(address);
  return { page, troubles, [Symbol.asyncDispose]: () => context.close() };
}
