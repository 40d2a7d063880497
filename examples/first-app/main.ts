// node examples/first-app/main.ts: three orders and a delivery to the subscribers, in memory.

import { Perdure } from "../../src/index.ts";
import * as checkout from "./checkout.ts";
import * as order from "./order.ts";
import * as services from "./services.ts";
import * as subscriptions from "./subscriptions.ts";

await using perdure = await Perdure.open("sqlite::memory:", {
  register: [checkout, order, services, subscriptions],
  runtime: { log: () => undefined }, // the failures below are intended
});
const { client } = perdure;
const tea: services.Order = { id: "o-1", customer: "ada", sku: "tea", cents: 450 };

console.log("A small order:");
console.log(await (await client.start(checkout.checkout, tea)).result());

console.log("An order that cannot be shipped:");
const lost = await client.start(checkout.checkout, { ...tea, id: "o-2", sku: "lost" });
await lost.result().catch((error: Error) => console.log(error.message));

console.log("A large order:");
const piano = { id: "o-3", customer: "ada", sku: "piano", cents: 900_000 };
const large = await client.start(checkout.checkout, piano);
await large.raise(checkout.decision, { approved: true });
console.log(await large.result());

console.log("All subscribers:");
const orders = [{ ...tea, id: "o-4" }];
console.log(
  await (await client.start(subscriptions.deliverAll, orders, { id: "week-1" })).result(),
);
