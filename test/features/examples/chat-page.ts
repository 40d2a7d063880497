// The chat example as real processes on one store, and its page in a real browser.

import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { tokens } from "../../../examples/chat/chat.ts";
import type { ReadStreamOptions, StreamEntry, StreamValue } from "../../../src/stream/index.ts";
import { fileStore, temporaryFolder } from "../../faults/trouble/support.ts";
import { openPage } from "../../interfaces/ui/support/browser.ts";
import { projectRoot } from "../../support/source-files.ts";
import { ExampleProcess } from "./example-process.ts";

const PROGRAM = join(projectRoot, "examples/chat/main.ts");

export class ChatFolder {
  readonly #file = join(temporaryFolder(), "chat.db");
  readonly #seconds: number;
  #port = 0;

  private constructor(seconds: number) {
    this.#seconds = seconds;
  }
  /** `seconds`: how long the model takes for an answer. */
  static make({ seconds }: { readonly seconds: number }): ChatFolder {
    return new ChatFolder(seconds);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Starts the server on a free port; after that, always on the same port. */
  async startServer(): Promise<ExampleProcess> {
    const server = this.#spawn("server", "--port", String(this.#port));
    await server.prints("Chat at");
    this.#port = Number(/:(?<port>\d+)\//.exec(server.output)?.groups?.["port"]);
    return server;
  }
  startWorker(): ExampleProcess {
    return this.#spawn("worker", "--seconds", String(this.#seconds));
  }
  #spawn(...args: readonly string[]): ExampleProcess {
    return ExampleProcess.spawn([PROGRAM, ...args, "--file", this.#file]);
  }

  /** Opens a new chat. The page must never show anything but the beginning of this answer. */
  async openPage(browser: Browser, answer: string): Promise<ChatPage> {
    const { page, troubles, ...opened } = await openPage(browser, `${this.url}/`);
    onTestFinished(() => opened[Symbol.asyncDispose]());
    await page.addInitScript({ content: observer(answer) });
    await page.reload();
    return new ChatPage(page, troubles);
  }

  /** Everything that the stream of the only message holds. */
  async entries(
    options: ReadStreamOptions = {},
  ): Promise<readonly StreamEntry<StreamValue<typeof tokens>>[]> {
    const { client } = await fileStore(this.#file);
    const [id = ""] = await Array.fromAsync(client.ids());
    return Array.fromAsync(client.get(id).stream(tokens, options));
  }
}

/** How far an answer is: how many tokens are shown, and how often the page has discarded some. */
export interface Progress {
  readonly tokens: number;
  readonly takenBack: number;
}

export class ChatPage {
  readonly #page: Page;
  /** Errors of the page, and every text that is not the beginning of the answer. */
  readonly troubles: readonly string[];

  constructor(page: Page, troubles: readonly string[]) {
    this.#page = page;
    this.troubles = troubles;
  }

  async ask(question: string): Promise<void> {
    await this.#page.getByLabel("Question").fill(question);
    await this.#page.getByRole("button", { name: "Send" }).click();
  }
  readonly reload = async (): Promise<void> => void (await this.#page.reload());

  /** Waits until the page shows at least this many tokens of this attempt. */
  async shows({ tokens: least, takenBack }: Progress): Promise<void> {
    await this.#page.waitForFunction(
      `seen.takenBack > ${takenBack} || (seen.takenBack === ${takenBack} && seen.text.split(" ").length > ${least})`,
    );
    expect(await this.#page.evaluate("seen.takenBack")).toBe(takenBack);
  }
  /** Whether the page waits for more tokens. */
  async isGrowing(): Promise<boolean> {
    return (await this.#page.locator("article[aria-busy=true]").count()) === 1;
  }
  async isComplete(): Promise<void> {
    await this.#page.locator("article[aria-busy=false]").waitFor();
  }

  async messages(): Promise<readonly { readonly question: string; readonly answer: string }[]> {
    const articles = await this.#page.locator("article").all();
    const text = async (article: (typeof articles)[number], role: string): Promise<string> =>
      (await article.locator(`.${role}`).textContent()) ?? "";
    return Promise.all(
      articles.map(async (each) => ({
        question: await text(each, "user"),
        answer: await text(each, "assistant"),
      })),
    );
  }
  /** How many items the page has received since it was loaded. */
  async itemsReceived(): Promise<unknown> {
    return this.#page.evaluate("seen.items");
  }
}

/**
 * Runs in the page, after every change of it, and so after every event of a stream. It reports each text that is not
 * the beginning of the answer as an error, and counts in `seen` what the page receives and discards.
 */
function observer(answer: string): string {
  return `
    const seen = (globalThis.seen = { text: "", takenBack: 0, items: 0 });
    new MutationObserver((changes) => {
      const text = document.querySelector(".assistant")?.textContent ?? "";
      if (!${JSON.stringify(answer)}.startsWith(text)) console.error("the page shows " + text);
      if (text.length < seen.text.length) seen.takenBack++;
      seen.text = text;
      for (const { target, addedNodes } of changes) {
        if (target.nodeName === "P") seen.items += addedNodes.length;
      }
    }).observe(document, { childList: true, subtree: true });
  `;
}
