// Types of context, middleware and services without a declaration. docs/context.md is compiled with one.

import {
  activity,
  orchestration,
  Perdure,
  type Client,
  type ContextValues,
  type Middleware,
  type ServiceValues,
} from "perdure";
import { TestEnvironment } from "perdure/testing";
import { expectTypeOf } from "../../support/expect-type.ts";

declare const client: Client;

const read = activity("read", (_: undefined, ctx) => {
  expectTypeOf(ctx.context).is<ContextValues>();
  expectTypeOf(ctx.services).is<ServiceValues>();
  expectTypeOf(ctx.context["tenant"]).is<unknown>();
  // @ts-expect-error: a context cannot be changed
  ctx.context["tenant"] = "acme";
  return 1;
});
const order = orchestration("order", async (ctx, cents: number) => {
  expectTypeOf(ctx.context["tenant"]).is<unknown>();
  // @ts-expect-error: an orchestration has no services
  ctx.services;
  await ctx.step("look", (s) => [s.context, s.services]);
  await ctx.call(order, cents, { context: { tenant: "acme", locale: undefined } });
  // @ts-expect-error: an activity has the context of its instance
  await ctx.run(read, undefined, { context: { tenant: "acme" } });
  return cents;
});

const handle = await client.start(order, 1, { context: { tenant: "acme" } });
expectTypeOf(await handle.result()).is<number>();
// @ts-expect-error: a context is an object
await client.start(order, 1, { context: "acme" });
await client.enqueue(read, undefined, { context: { tenant: "acme" } });
await client.ask(order, "o", "x", undefined, { start: { input: 1, context: { tenant: "acme" } } });

const middleware: Middleware = {
  start: async (call, next) => {
    expectTypeOf(call.kind).is<"start" | "startMany" | "enqueue" | "enqueueMany">();
    const { ids } = await next({ ...call, context: { tenant: "acme" } });
    expectTypeOf(ids).is<readonly string[]>();
    return { ids };
  },
  raise: (call, next) => next({ ...call, input: 1 }),
  ask: (call, next) => next({ ...call, options: {} }),
  activity: (call, next) => {
    expectTypeOf(call.options.attempt).is<number>();
    expectTypeOf(call.instanceId).is<string>();
    // @ts-expect-error: a call is read-only
    call.input = 1;
    return next();
  },
  step: async (call, next) => {
    expectTypeOf(call.input).is<undefined>();
    return [await next()];
  },
};
// @ts-expect-error: a start must return what next returned
export const wrong: Middleware = { start: async () => undefined };
await Perdure.open("sqlite::memory:", { middleware: [middleware], services: { db: 1 } });
await TestEnvironment.create({ register: [], middleware: [middleware], services: { db: 1 } });
