// Step 4, a schedule: every Monday morning, the orders of the subscribers.

import { schedule } from "../../src/schedule/index.ts";
import type { Order } from "./services.ts";
import { deliverAll } from "./subscriptions.ts";

export const mondays = schedule("mondays", {
  cron: "0 7 * * MON",
  timezone: "Europe/Berlin",
  start: deliverAll,
  input: (time) => subscribers(time),
});

/** Your database, in a real program. It runs inside an activity, so it may do I/O, and it is retried. */
async function subscribers(time: Date): Promise<readonly Order[]> {
  const week = time.toISOString().slice(0, 10);
  return ["ada", "grace"].map((customer) => ({
    id: `${week}-${customer}`,
    customer,
    sku: "tea",
    cents: 450,
  }));
}
