// Batch: one request for many items that arrive one by one. docs/cookbook/batch.md shows this file.

import { batchJob } from "../../src/batch/index.ts";
import { NonRetryableError, type Client } from "../../src/index.ts";

interface View {
  readonly page: string;
  readonly user: string;
}

export const record = batchJob(
  "record",
  async (views: View[], { items, signal }) => {
    const rows = views.map((view, n) => ({ ...view, key: items[n]?.idempotencyKey }));
    const response = await fetch("https://warehouse.example/views", {
      method: "POST",
      body: JSON.stringify(rows),
      signal,
    });
    if (!response.ok) throw new Error(`the warehouse answered ${response.status}`);
    const refused = new Set((await response.json()) as number[]); // positions of bad rows
    return views.map((_, n) =>
      refused.has(n) ? { error: new NonRetryableError("refused") } : { ok: undefined },
    );
  },
  { max: 100, wait: "2s", attempts: 5, timeout: "30s" },
);

export const pageViewed = (client: Client, view: View) => client.enqueue(record, view);
