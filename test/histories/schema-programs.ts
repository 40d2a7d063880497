// Programs whose services record the JSON Schemas of their inputs. The rules of programs.ts apply.

import { activity, orchestration, request, type StandardSchema } from "../../src/index.ts";
import type { Program } from "./programs.ts";

/** Accepts amounts up to a limit. The schemas are written by hand: those of a library may change with its version. */
function amountUpTo(limit: number): StandardSchema<number, number> {
  const json = { type: "integer", maximum: limit };
  return {
    "~standard": {
      version: 1,
      vendor: "test",
      validate: (value) =>
        typeof value === "number" && value <= limit
          ? { value }
          : { issues: [{ message: `more than ${limit}` }] },
      jsonSchema: { input: () => json },
    },
  };
}

const pay = request<StandardSchema<number>, number>("pay", { input: amountUpTo(1_000) });
const refund = request<StandardSchema<number>, number>("refund", { input: amountUpTo(100) });
const close = request("close");
const book = activity("book", async (cents: number) => cents);

/** A loop with two names of which one has a schema, beside a handler with a schema. */
const till = orchestration("till", async (ctx) => {
  let cents = 0;
  const refunds = ctx.serve(refund, async (amount) => (cents -= await ctx.run(book, amount)));
  for await (const call of ctx.requests(pay, close)) {
    if (call.is(pay)) call.answer((cents += call.input));
    if (!call.is(close)) continue;
    call.answer();
    break;
  }
  refunds.cancel("closed");
  return ctx.run(book, cents);
});
const customer = orchestration("customer", async (ctx) => {
  const paid = await ctx.ask("till", pay, 500);
  const left = await ctx.ask("till", refund, 20);
  await ctx.ask("till", close);
  return [paid, left];
});

export const SCHEMA_PROGRAMS: readonly Program[] = [
  {
    name: "schemas",
    register: [till, customer, book],
    async run(t) {
      const handle = await t.client.start(till, undefined, { id: "till" });
      await (await t.start(customer, undefined, { id: "customer" })).result();
      return handle.result();
    },
  },
];
