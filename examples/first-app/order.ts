// Step 1, a saga: reserve, charge, ship. If a step fails, the steps before it are undone, last one first.

import { orchestration } from "../../src/index.ts";
import { charge, refund, release, reserve, ship, type Order } from "./services.ts";

export const placeOrder = orchestration("placeOrder", async (ctx, order: Order) => {
  const hold = await ctx.run(reserve, order);
  ctx.compensate(() => ctx.run(release, hold));

  const receipt = await ctx.run(charge, order);
  ctx.compensate(() => ctx.run(refund, receipt));

  await ctx.run(ship, order);
  return { shipped: order.id };
});
