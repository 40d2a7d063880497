import { fulfil, type Order } from "@shop/definitions";
import { Perdure } from "perdure";

const order: Order = { id: "order-1", cents: 1_200 };
await using perdure = await Perdure.open(process.env["PERDURE_STORE"] ?? "sqlite:./shop.db", {
  autoStart: false,
});
const handle = await perdure.client.start(fulfil, order);
console.log(await handle.result());
