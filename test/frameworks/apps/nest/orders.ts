// The order of the other applications; its activity `charge` is a method of a provider.

import { orchestration } from "perdure";
import { declareActivity } from "perdure/nest";
import { reserve, ship, type Payment } from "../shared/orders.ts";

export { reserve, ship };
export const charge = declareActivity<Payment, string>("charge", { attempts: 3 });
export const order = orchestration("order", async (ctx, input: { cents: number }) => [
  await ctx.run(reserve, ctx.info.instanceId),
  await ctx.run(charge, { id: ctx.info.instanceId, cents: input.cents }),
  await ctx.run(ship, ctx.info.instanceId),
]);
