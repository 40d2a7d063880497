// Webhook out: signed deliveries to your customers, retried for a day. docs/cookbook/webhook-out.md shows this file.

import { createHmac } from "node:crypto";
import { job, NonRetryableError, RetryAfterError, type Client } from "../../src/index.ts";

interface Delivery {
  readonly endpoint: string;
  readonly secret: string;
  readonly event: { readonly type: string; readonly data: unknown };
}

export const deliver = job(
  "deliver",
  async ({ endpoint, secret, event }: Delivery, { idempotencyKey, signal }) => {
    const body = JSON.stringify(event);
    const time = String(Math.floor(Date.now() / 1_000));
    const signature = createHmac("sha256", secret)
      .update(`${idempotencyKey}.${time}.${body}`)
      .digest("base64");
    const response = await fetch(endpoint, {
      method: "POST",
      body,
      headers: {
        "content-type": "application/json",
        "webhook-id": idempotencyKey, // the same in all attempts
        "webhook-timestamp": time,
        "webhook-signature": `v1,${signature}`,
      },
      signal,
    });
    if (response.status === 410) throw new NonRetryableError("the endpoint is gone");
    if (response.status === 429) throw new RetryAfterError("1m", "the endpoint asked us to wait");
    if (!response.ok) throw new Error(`the endpoint answered ${response.status}`);
  },
  {
    retry: { maxAttempts: 15, backoff: { base: "5s", factor: 3, max: "4h", jitter: 0.2 } },
    timeout: "10s",
    limit: { perKey: 5 }, // a slow endpoint holds at most five workers' slots
    keep: { completed: "1d", failed: "30d" },
  },
);

export const notify = (client: Client, delivery: Delivery) =>
  client.enqueue(deliver, delivery, { key: new URL(delivery.endpoint).host });
