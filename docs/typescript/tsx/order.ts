import { activity, orchestration } from "perdure";

export enum Currency {
  Euro = "EUR",
  Franc = "CHF",
}

export interface Order {
  readonly id: string;
  readonly cents: number;
  readonly currency: Currency;
}

export const charge = activity("charge", async ({ id, cents, currency }: Order) => {
  return `charged ${cents} ${currency} for ${id}`;
});

export const fulfil = orchestration("fulfil", async (ctx, order: Order) => {
  return ctx.run(charge, order);
});
