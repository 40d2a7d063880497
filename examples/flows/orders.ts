// Order processing: stock is reserved, the card is charged, and then the invoice and the parcel are made in parallel.
// If a step after the reservation fails, the reservation is undone.

import { activity, NonRetryableError } from "../../src/index.ts";
import { flow } from "../../src/flow/index.ts";

export interface Order {
  readonly id: string;
  readonly cents: number;
  readonly lines: readonly string[];
}

const CARD_LIMIT = 100_000;

/** The current reservations of the warehouse. A real warehouse is a service. */
export const reserved = new Set<string>();

export const charge = activity(
  "charge",
  async (order: Order) => {
    if (order.cents > CARD_LIMIT) throw new NonRetryableError(`${order.id}: the card is declined`);
    return { order, receipt: `r-${order.id}` };
  },
  { attempts: 5, timeout: "30s" },
);

export const processing = flow<Order>("processing")
  .then("reserve", (order) => {
    reserved.add(order.id);
    return order;
  })
  .compensate(({ input }) => {
    reserved.delete(input.id);
  })
  .then(charge)
  .fork({
    invoice: (f) => f.then("invoice", ({ receipt }) => `invoice ${receipt}`),
    parcel: (f) =>
      f.map(
        "lines",
        ({ order }) => order.lines,
        (g) => g.then("pack", (line) => line.toUpperCase(), { attempts: 3 }),
      ),
  })
  .then("done", ({ invoice, parcel }) => ({ invoice, parcel }))
  .build();
