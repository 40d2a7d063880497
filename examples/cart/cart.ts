// A cart that answers requests: a loop for what must happen in order, a handler for what may happen meanwhile.

import { activity, NonRetryableError, orchestration, request, value } from "../../src/index.ts";

export interface Line {
  readonly sku: string;
  readonly cents: number;
}

export const add = request<Line, number>("add");
export const remove = request<string, number>("remove");
export const quote = request<string, string>("quote");
export const checkout = request<{ readonly card: string }, string>("checkout");

/** Published with each change: clients read it without a turn of the cart. */
export const total = value<number>("total");
export const stage = value<"open" | "paying" | "paid">("stage", { as: "status" });

export const LINES_MAX = 3;
/** Requests per execution; then the cart begins a new history under the same id. */
const REQUESTS_AN_EXECUTION = 1_000;

export const charge = activity(
  "charge",
  async ({ card, cents }: { card: string; cents: number }, { idempotencyKey }) => {
    if (card === "expired") throw new NonRetryableError("the card has expired");
    console.log(`  charged ${cents} cents`);
    return `receipt-${cents}-${idempotencyKey.slice(-3)}`;
  },
  { attempts: 5 },
);
export const shippingTo = activity("shippingTo", async (country: string) =>
  country === "NZ" ? 2_500 : 500,
);

export const cart = orchestration("cart", async (ctx, lines: readonly Line[]): Promise<string> => {
  let content = [...lines];
  const sum = (): number => content.reduce((cents, line) => cents + line.cents, 0);
  ctx.set(stage, "open");

  // A quote changes nothing, so it need not wait for its turn in the loop.
  void ctx.serve(quote, async (country) => {
    const shipping = await ctx.run(shippingTo, country);
    return `${sum() + shipping} cents to ${country}`;
  });

  let handled = 0;
  for await (const call of ctx.requests(add, remove, checkout)) {
    if (call.is(add)) {
      if (content.length === LINES_MAX) call.refuse(`a cart holds ${LINES_MAX} lines`);
      else {
        content.push(call.input);
        call.answer(sum());
      }
    } else if (call.is(remove)) {
      const sku = call.input;
      content = content.filter((line) => line.sku !== sku);
      call.answer(sum());
    } else if (call.is(checkout)) {
      ctx.set(stage, "paying");
      try {
        const receipt = await ctx.run(charge, { card: call.input.card, cents: sum() });
        ctx.set(stage, "paid");
        call.answer(receipt);
        return receipt;
      } catch (error) {
        ctx.set(stage, "open");
        call.fail(error); // the customer may try another card
      }
    }
    ctx.set(total, sum());
    if (++handled === REQUESTS_AN_EXECUTION) break;
  }
  return ctx.continueAsNew(content);
});
