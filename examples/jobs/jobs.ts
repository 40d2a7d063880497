// Jobs of a small shop: mails, thumbnails with limits per customer, and a search index that is written in batches.

import { job } from "../../src/index.ts";
import { batchJob } from "../../src/batch/index.ts";

/** A mail provider that is down for the first attempt of every mail. */
export const mail = job(
  "mail",
  async (to: string, ctx) => {
    if (ctx.attempt === 1) throw new Error("the mail provider is down");
    return `mail to ${to}, attempt ${ctx.attempt}`;
  },
  {
    retry: { maxAttempts: 5, backoff: { base: "10ms" } },
    keep: { completed: "1h", failed: "30d" },
  },
);

/** At most two thumbnails of one customer at a time, and customers take turns. */
export const thumbnail = job("thumbnail", async (file: string) => `small ${file}`, {
  limit: { concurrency: 10, perKey: 2 },
  fair: true,
});

/** Documents are written to the index together. */
export const index = batchJob(
  "index",
  async (documents: string[]) =>
    documents.map((text) => ({ ok: `${text}: indexed with ${documents.length - 1} others` })),
  { max: 3, wait: "200ms" },
);

/** Prices are synced once, with the latest value, after changes have stopped. */
export const sync = job(
  "sync",
  async (price: { sku: string; cents: number }) => `${price.sku} costs ${price.cents} cents`,
);
