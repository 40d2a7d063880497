// Declarations for blocks outside orchestrations: an open store and some definitions.
// The package is imported whole, because a block may import the same names itself.

import * as library from "perdure";

interface Order {
  readonly id: string;
  readonly cents: number;
}

const charge = library.activity("charge", async (order: Order) => ({ chargeId: order.id }));
const approval = library.event<{ readonly by: string }>("approval");
const fulfil = library.orchestration("fulfil", async (ctx, order: Order) => {
  const receipt = await ctx.run(charge, order);
  await ctx.waitFor(approval);
  return receipt;
});

declare const perdure: library.Perdure;
declare const client: library.Client;
declare const handle: library.Handle<{ readonly chargeId: string }>;
declare const order: Order;
