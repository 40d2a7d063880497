// What the shop uses: a warehouse, a payment service, a mail service. Each call is an activity. Here the activities
// print lines; in a real program they call your services and pass on the idempotency key.

import { activity, NonRetryableError } from "../../src/index.ts";

export interface Order {
  readonly id: string;
  readonly customer: string;
  readonly sku: string;
  readonly cents: number;
}

const retried = { attempts: 5, timeout: "10s" } as const;

export const reserve = activity(
  "reserve",
  async ({ id, sku }: Order) => {
    console.log(`  ${id}: reserve ${sku}`);
    return { id, sku };
  },
  retried,
);
export const release = activity(
  "release",
  async (hold: { id: string; sku: string }) => console.log(`  ${hold.id}: release ${hold.sku}`),
  retried,
);
export const charge = activity(
  "charge",
  async ({ id, customer, cents }: Order, { idempotencyKey }) => {
    if (customer === "mallory") throw new NonRetryableError("the card is declined");
    console.log(`  ${id}: charge ${cents} cents`);
    return { id, key: idempotencyKey }; // a payment service charges once per key
  },
  retried,
);
export const refund = activity(
  "refund",
  async (receipt: { id: string; key: string }) => console.log(`  ${receipt.id}: refund`),
  retried,
);
export const ship = activity(
  "ship",
  async ({ id, sku }: Order) => {
    if (sku === "lost") throw new NonRetryableError("the parcel service refuses it");
    console.log(`  ${id}: ship ${sku}`);
  },
  retried,
);
export const mail = activity(
  "mail",
  async ({ to, text }: { to: string; text: string }) => console.log(`  mail to ${to}: ${text}`),
  retried,
);
