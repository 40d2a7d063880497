// Activities for threads, with their services and their middleware. The test imports this module too.

import { activity, type Middleware } from "../../../src/index.ts";

export const services = { prefix: "thread" };
export const middleware: readonly Middleware[] = [
  {
    activity: async (call, next) => ({ tenant: call.context["tenant"], result: await next() }),
    start: (call, next) => next({ ...call, context: { by: "thread" } }),
  },
];

export const work = activity("work", async (id: string, ctx) => {
  const handle = await ctx.client.start("told", undefined, { id: `${id}-told` });
  const told = await handle.result();
  return { prefix: ctx.services["prefix"], context: ctx.context, told };
});
export const lacking = activity("lacking", (_: unknown, ctx) => ctx.services["db"], {
  attempts: 1,
});
