// Declarations for blocks inside an orchestration: its context, its input, its definitions.
// The package is imported whole, because a block may import the same names itself.

import * as library from "perdure";

interface Line {
  readonly sku: string;
  readonly quantity: number;
}
interface Order {
  readonly id: string;
  readonly cents: number;
  readonly lines: readonly Line[];
}
interface Receipt {
  readonly chargeId: string;
}

const charge = library.activity("charge", async (order: Order) => ({ chargeId: order.id }));
const refund = library.activity("refund", async (receipt: Receipt) => receipt.chargeId);
const ship = library.activity("ship", async (line: Line) => `shipped ${line.sku}`);
const quote = library.activity("quote", async (supplier: string) => supplier.length);
const audit = library.orchestration("audit", async (ctx, order: Order) => {
  await ctx.sleep("1d");
  return order.cents;
});
const approval = library.event<{ readonly by: string }>("approval");

declare const ctx: library.OrchestrationContext<Order>;
declare const order: Order;
declare const database: { count(table: string, signal: AbortSignal): Promise<number> };
