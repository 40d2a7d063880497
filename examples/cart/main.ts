// node examples/cart/main.ts [FILE]: a customer fills a cart, asks for a quote and pays, and gets every answer.

import { Perdure, RequestError } from "../../src/index.ts";
import {
  add,
  cart,
  charge,
  checkout,
  quote,
  remove,
  shippingTo,
  stage,
  total,
  type Line,
} from "./cart.ts";

await using perdure = await Perdure.open(`sqlite:${process.argv[2] ?? ":memory:"}`, {
  register: [cart, charge, shippingTo],
});
const { client } = perdure;
const handle = client.get(cart, "cart-7");

// The first request starts the cart, in the same commit.
const tea: Line = { sku: "tea", cents: 450 };
const first = await client.ask(cart, handle.id, add, tea, {
  requestId: "click-1",
  start: { input: [] },
});
console.log(`tea: ${first} cents`);

// The answer was lost on the way? The same id gives the same answer, and the tea is in the cart once.
const again = await handle.ask(add, tea, { requestId: "click-1" });
console.log(`tea, sent again: ${again} cents`);

console.log(`pot: ${await handle.ask(add, { sku: "pot", cents: 2_000 })} cents`);
console.log(`cup: ${await handle.ask(add, { sku: "cup", cents: 800 })} cents`);
console.log(`milk: ${await handle.ask(add, { sku: "milk", cents: 90 }).catch(reason)}`);
console.log(`without the cup: ${await handle.ask(remove, "cup")} cents`);
console.log(`quote: ${await handle.ask(quote, "NZ")}`);
console.log(`read: ${await handle.read(total)} cents, ${await handle.read(stage)}`);

console.log(`pay: ${await handle.ask(checkout, { card: "expired" }).catch(reason)}`);
const receipt = await handle.ask(checkout, { card: "valid" });
console.log(`pay: ${receipt.slice(0, 12)}, ${await handle.read(stage)}`);
console.log(`too late: ${await handle.ask(add, tea).catch(reason)}`);

function reason(error: unknown): string {
  if (error instanceof RequestError) return `${error.kind}: ${error.message}`;
  return error instanceof Error ? error.message : String(error);
}
