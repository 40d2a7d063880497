// Webhook in: one instance for each event of a payment service. docs/cookbook/webhook-in.md shows this file.

import { activity, orchestration, type Client } from "../../src/index.ts";
import { callbacks, stripe, webhook } from "../../src/callback/index.ts";

interface StripeEvent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly object: { readonly customer: string; readonly amount: number } };
}

export const credit = activity("credit", async (payment: { customer: string; amount: number }) => {
  return `${payment.customer} + ${payment.amount}`; // your database, in a real program
});

export const onPayment = orchestration("onPayment", async (ctx, event: StripeEvent) => {
  if (event.type !== "charge.succeeded") return "ignored";
  return ctx.run(credit, event.data.object, { attempts: 10 });
});

/** A Hono app. Mount it at /callbacks; the service then calls /callbacks/webhook/stripe. */
export function receiver(client: Client, secret: string) {
  const onStripe = webhook("stripe", {
    verify: stripe(secret),
    start: onPayment,
    id: (event) => event.id,
  });
  return callbacks(client, { webhooks: [onStripe] });
}
