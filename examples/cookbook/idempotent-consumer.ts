// Idempotent consumer: a broker that delivers twice, and an effect that happens once.
// docs/cookbook/idempotent-consumer.md shows this file.

import { activity, orchestration, type Client } from "../../src/index.ts";

interface Message {
  readonly id: string;
  readonly body: { readonly account: string; readonly cents: number };
}

export const charge = activity("charge", async (body: Message["body"], { idempotencyKey }) => {
  const response = await fetch("https://payments.example/charges", {
    method: "POST",
    headers: { "idempotency-key": idempotencyKey },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`payments answered ${response.status}`);
});

export const settle = orchestration("settle", (ctx, body: Message["body"]) =>
  ctx.run(charge, body, { attempts: 10 }),
);

/** Acknowledge the message when this promise resolves: the work is in the store then. */
export async function onMessage(client: Client, message: Message): Promise<void> {
  const id = `settle:${message.id}`;
  await client.start(settle, message.body, { id, onConflict: "useExisting" });
}
