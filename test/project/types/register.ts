// `register` accepts definitions and modules, and nothing else.

import {
  activity,
  defineConfig,
  event,
  orchestration,
  Perdure,
  type OrchestrationContext,
} from "perdure";
import { flow } from "perdure/flow";
import { limiter } from "perdure/limiter";
import { schedule } from "perdure/schedule";
import { TestEnvironment } from "perdure/testing";
import * as orders from "../../scenarios/support/modules/orders.ts";
import * as shop from "../../scenarios/support/modules/shop.ts";
import { expectTypeOf } from "../../support/expect-type.ts";

const charge = activity("charge", (cents: number) => cents);
const pay = orchestration("pay", (ctx, cents: number) => ctx.run(charge, cents));
const model = limiter("model", { concurrency: 2 });
const nightly = schedule("nightly", { cron: "0 3 * * *", start: pay, input: 1 });
const built = flow<number>("built").then("charge", charge).build();

const perdure = await Perdure.open("sqlite::memory:", {
  register: [orders, shop, charge, pay, model, nightly, built],
});
// Definitions keep the types of their module.
expectTypeOf((await perdure.client.start(orders.pay, 5)).result()).is<Promise<string>>();
expectTypeOf((await perdure.client.start(shop.default, 5)).result()).is<Promise<string>>();

// Definitions inside the list are inferred.
await Perdure.open("sqlite::memory:", {
  register: [
    orchestration("inline", async (ctx, n: number) => {
      expectTypeOf(ctx).is<OrchestrationContext<number>>();
      return ctx.run(charge, n);
    }),
  ],
});
await TestEnvironment.create({ register: [orders, charge] });
defineConfig({ register: [orders, pay] });

// @ts-expect-error: a list of modules, not a module
await Perdure.open("sqlite::memory:", { register: orders });
// @ts-expect-error: an event is not registered
await Perdure.open("sqlite::memory:", { register: [event("paid")] });
// @ts-expect-error: a function is not registered
await Perdure.open("sqlite::memory:", { register: [async (): Promise<number> => 1] });
// @ts-expect-error: the name of a module is not registered
await Perdure.open("sqlite::memory:", { register: ["./orders.ts"] });
