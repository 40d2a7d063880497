// Declarations for the blocks of docs/ask.md: the requests of a cart, its orchestration, and both sides of them.
// The package is imported whole, because a block may import the same names itself.

import * as library from "perdure";

const add = library.request<{ readonly sku: string; readonly cents: number }, number>("add");
const checkout = library.request<undefined, { readonly receipt: string }>("checkout");
const charge = library.activity("charge", async (cents: number) => `r-${cents}`);
const paid = library.event<{ readonly cents: number }>("paid");
const cart = library.orchestration("cart", async (ctx, currency: string) => {
  for await (const call of ctx.requests(checkout)) {
    call.answer({ receipt: currency });
    break;
  }
});

declare const client: library.Client;
declare const handle: library.Handle;
declare const ctx: library.OrchestrationContext<string>;
