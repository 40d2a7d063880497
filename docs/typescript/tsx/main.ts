import { charge, Currency, fulfil, type Order } from "@/order";
import { Perdure } from "perdure";

const order: Order = { id: "order-1", cents: 1_200, currency: Currency.Euro };
await using perdure = await Perdure.open("sqlite::memory:", { register: [fulfil, charge] });
const handle = await perdure.client.start(fulfil, order);
console.log(await handle.result());
