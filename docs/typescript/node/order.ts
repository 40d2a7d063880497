import { activity, orchestration } from "perdure";

export interface Order {
  readonly id: string;
  readonly cents: number;
}

export const charge = activity("charge", async (order: Order) => {
  return `charged ${order.cents} for ${order.id}`;
});

export const fulfil = orchestration("fulfil", async (ctx, order: Order) => {
  return ctx.run(charge, order);
});
