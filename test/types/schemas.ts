// Schemas: callers pass what the schema takes, functions receive what it makes of it.

import {
  activity,
  orchestration,
  type Activity,
  type Client,
  type Orchestration,
  type OrchestrationContext,
} from "perdure";
import { expectTypeOf } from "../support/expect-type.ts";
import { schema } from "./schema.ts";

declare const ctx: OrchestrationContext;
declare const client: Client;

const price = schema<string, number>();
const options = schema<{ currency?: string } | undefined, { currency: string }>();

const charge = activity(
  "charge",
  (amount, { log }) => {
    expectTypeOf(amount).is<number>();
    log.info("charging");
    return amount * 100;
  },
  { input: price },
);
expectTypeOf(charge).is<Activity<string, number, "charge">>();
expectTypeOf(await ctx.run(charge, "12.50")).is<number>();
// @ts-expect-error callers give what the schema takes
ctx.run(charge, 12.5);
// @ts-expect-error the input is missing
ctx.run(charge);

const configured = activity("configured", ({ currency }) => currency, { input: options, retry: 3 });
expectTypeOf(await ctx.run(configured)).is<string>();
expectTypeOf(await ctx.run(configured, { currency: "EUR" })).is<string>();

const order = orchestration(
  "order",
  async (context, amount) => {
    expectTypeOf(amount).is<number>();
    expectTypeOf(context).is<OrchestrationContext<string>>();
    // A next execution is started like any other: from outside the schema.
    if (amount > 1_000) return context.continueAsNew("999");
    return context.run(charge, `${amount}`);
  },
  { input: price, version: "2.0.0" },
);
expectTypeOf(order).is<Orchestration<string, number>>();
expectTypeOf(await ctx.call(order, "1")).is<number>();
expectTypeOf(await (await client.start(order, "1")).result()).is<number>();
// @ts-expect-error callers give what the schema takes
client.start(order, 1);
// @ts-expect-error what the function annotates must be what the schema makes
activity("annotated", (amount: string) => amount, { input: price });

// An output schema does not get in the way of inference.
const listed = activity("listed", (n: number) => [n], { output: schema<number[]>() });
expectTypeOf(await ctx.run(listed, 1)).is<number[]>();
