// Step 6, deploy: what `perdure dev` and `perdure worker` run.

import { defineConfig } from "../../src/index.ts";
import * as checkout from "./checkout.ts";
import * as order from "./order.ts";
import * as schedule from "./schedule.ts";
import * as services from "./services.ts";
import * as subscriptions from "./subscriptions.ts";

export default defineConfig({
  store: process.env["PERDURE_STORE"] ?? "sqlite:./shop.db",
  register: [checkout, order, schedule, services, subscriptions],
});
