// A module as users write one: definitions among other exports.

import { activity, event, orchestration } from "../../../../src/index.ts";

export const TAX = 0.2;
export const paid = event<{ cents: number }>("paid");
export const charge = activity("charge", (cents: number) => `r-${cents}`);
export const pay = orchestration("pay", (ctx, cents: number) => ctx.run(charge, cents));

export function withTax(cents: number): number {
  return cents * (1 + TAX);
}
