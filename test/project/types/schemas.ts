// Schemas: callers pass the input type of a schema, functions receive its output type.

import {
  activity,
  orchestration,
  type Activity,
  type Client,
  type Orchestration,
  type OrchestrationContext,
} from "perdure";
import { expectTypeOf } from "../../support/expect-type.ts";
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
// @ts-expect-error callers pass the input type of the schema
ctx.run(charge, 12.5);
// @ts-expect-error the input is missing
ctx.run(charge);

const configured = activity("configured", ({ currency }) => currency, {
  input: options,
  attempts: 3,
});
expectTypeOf(await ctx.run(configured)).is<string>();
expectTypeOf(await ctx.run(configured, { currency: "EUR" })).is<string>();

const order = orchestration(
  "order",
  async (context, amount) => {
    expectTypeOf(amount).is<number>();
    expectTypeOf(context).is<OrchestrationContext<string>>();
    // The next execution is started with the input type of the schema.
    if (amount > 1_000) return context.continueAsNew("999");
    return context.run(charge, `${amount}`);
  },
  { input: price, version: "2.0.0" },
);
expectTypeOf(order).is<Orchestration<string, number>>();
expectTypeOf(await ctx.call(order, "1")).is<number>();
expectTypeOf(await (await client.start(order, "1")).result()).is<number>();
// @ts-expect-error callers pass the input type of the schema
client.start(order, 1);
// @ts-expect-error the annotation must be the output type of the schema
activity("annotated", (amount: string) => amount, { input: price });

// An output schema does not prevent inference.
const listed = activity("listed", (n: number) => [n], { output: schema<number[]>() });
expectTypeOf(await ctx.run(listed, 1)).is<number[]>();
