// Order processing: stock is reserved, money taken, and then the invoice and the parcel are made side by side. If
// anything fails behind the reservation, the reservation is undone.

import { activity, flow, NonRetryableError } from "../../src/index.ts";

export interface Order {
  readonly id: string;
  readonly cents: number;
  readonly lines: readonly string[];
}

const CARD_LIMIT = 100_000;

/** The warehouse's book: what is reserved at the moment. A real one is a service. */
export const reserved = new Set<string>();

export const charge = activity(
  "charge",
  async (order: Order) => {
    if (order.cents > CARD_LIMIT) throw new NonRetryableError(`${order.id}: the card is declined`);
    return { order, receipt: `r-${order.id}` };
  },
  { retry: 5, timeout: "30s" },
);

export const processing = flow<Order>("processing")
  .then("reserve", (order) => {
    reserved.add(order.id);
    return order;
  })
  .defer(({ input }) => {
    reserved.delete(input.id);
  })
  .then(charge)
  .fork({
    invoice: (f) => f.then("invoice", ({ receipt }) => `invoice ${receipt}`),
    parcel: (f) =>
      f.map(
        "lines",
        ({ order }) => order.lines,
        (g) => g.then("pack", (line) => line.toUpperCase(), { retry: 3 }),
      ),
  })
  .then("done", ({ invoice, parcel }) => ({ invoice, parcel }))
  .build();
