// Step 3, a fan-out: the orders of all subscribers, ten at a time. A failed order does not stop the others.

import { orchestration } from "../../src/index.ts";
import { checkout } from "./checkout.ts";
import { mail, type Order } from "./services.ts";

export const deliverAll = orchestration("deliverAll", async (ctx, orders: readonly Order[]) => {
  const left = [...orders];
  const failed: string[] = [];
  const lane = async () => {
    for (let order = left.shift(); order !== undefined; order = left.shift()) {
      const id = `${ctx.info.instanceId}/${order.id}`;
      const [outcome] = await ctx.allSettled([ctx.call(checkout, order, { id })]);
      if (outcome.status === "rejected") failed.push(order.id);
    }
  };
  await ctx.all(Array.from({ length: 10 }, () => lane));

  const text = `${orders.length - failed.length} delivered, ${failed.length} failed`;
  await ctx.run(mail, { to: "manager", text });
  return { text, failed };
});
