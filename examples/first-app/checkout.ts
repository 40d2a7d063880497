// Step 2, an approval: a large order waits for a person, for up to two days.

import { event, orchestration } from "../../src/index.ts";
import { placeOrder } from "./order.ts";
import { mail, type Order } from "./services.ts";

export const LARGE_CENTS = 50_000;
export const decision = event<{ readonly approved: boolean }>("decision");

export const checkout = orchestration("checkout", async (ctx, order: Order) => {
  if (order.cents >= LARGE_CENTS) {
    await ctx.run(mail, { to: "manager", text: `approve ${order.id}?` });
    const answer = await ctx.waitFor(decision, { timeout: "2d", details: order });
    if (answer === null) return { rejected: "no answer" };
    if (!answer.approved) return { rejected: "by the manager" };
  }
  return ctx.call(placeOrder, order);
});
