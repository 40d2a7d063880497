// Debounce: one run after a burst of changes, with the latest input. docs/cookbook/debounce.md shows this file.

import { job, type Client } from "../../src/index.ts";

interface Page {
  readonly id: string;
  readonly text: string;
}

export const index = job(
  "index",
  async (page: Page, { signal }) => {
    const url = `https://search.example/pages/${page.id}`;
    const response = await fetch(url, { method: "PUT", body: page.text, signal });
    if (!response.ok) throw new Error(`search answered ${response.status}`);
  },
  { attempts: 5, timeout: "10s" },
);

/** Call it at every change. The page is indexed after 5 quiet seconds, and at least once per minute. */
export function pageChanged(client: Client, page: Page) {
  return client.enqueue(index, page, { debounce: { key: page.id, wait: "5s", max: "1m" } });
}
