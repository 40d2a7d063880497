// Declarations for blocks about flows: the order example, a client, and the names of the package.

import { activity, event, type Client } from "perdure";
import { again, done, Flow, flow, runFlow } from "perdure/flow";

interface Order {
  readonly id: string;
  readonly kind: "card" | "bank";
  readonly lines: readonly string[];
}

const charge = activity("charge", async (order: Order) => ({ order, receipt: `r-${order.id}` }));
const approval = event<{ readonly by: string }>("approval");
const order = flow<Order>("order")
  .then(charge)
  .fork({
    mail: (f) => f.then("send", ({ order: { id } }) => `mail to ${id}`),
    stock: (f) =>
      f.map(
        "each",
        ({ order: { lines } }) => lines,
        (g) => g.then("ship", (line) => `shipped ${line}`),
      ),
  })
  .build();
declare const client: Client;
