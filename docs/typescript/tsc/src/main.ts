import { Perdure } from "perdure";
import { charge, fulfil, type Order } from "./order.ts";

const order: Order = { id: "order-1", cents: 1_200 };
await using perdure = await Perdure.open("sqlite::memory:", { register: [fulfil, charge] });
const handle = await perdure.client.start(fulfil, order);
console.log(await handle.result());
