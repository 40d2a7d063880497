// The served orchestration: an order that waits for its approval.

import { activity, event, orchestration } from "../../src/index.ts";

export interface Order {
  readonly item: string;
}

export const approval = event<{ readonly by: string }>("approval");
export const ship = activity("ship", async (order: Order) => `shipped ${order.item}`);

export const fulfil = orchestration("fulfil", async (ctx, order: Order) => {
  const { by } = await ctx.waitFor(approval);
  return `${await ctx.run(ship, order)}, approved by ${by}`;
});
