// Requests, typed values and entities: the types of inputs and answers on both sides.

import {
  request,
  value,
  type Client,
  type Handle,
  type OrchestrationContext,
  type StandardSchema,
  type Task,
} from "perdure";
import { entity } from "perdure/entity";
import { expectTypeOf } from "../../support/expect-type.ts";

declare const ctx: OrchestrationContext;
declare const handle: Handle;
declare const client: Client;
declare const day: StandardSchema<string, Date>;

const add = request<{ sku: string }, number>("add");
const close = request("close");
const book = request("book", { input: day, output: day });

expectTypeOf(handle.ask(add, { sku: "a" })).is<Promise<number>>();
expectTypeOf(handle.ask(close)).is<Promise<void>>();
expectTypeOf(handle.ask(book, "2026-01-01")).is<Promise<Date>>();
expectTypeOf(handle.ask("by name", { any: "thing" })).is<Promise<unknown>>();
expectTypeOf(ctx.ask("cart", add, { sku: "a" })).is<Task<number>>();
handle.ask(add, { sku: "a" }, { timeout: "5s", requestId: "r" });
// @ts-expect-error the input is missing
handle.ask(add);
// @ts-expect-error not a text
handle.ask(add, { sku: 1 });
// @ts-expect-error the sender gives the input of the schema, not its output
handle.ask(book, new Date());
// @ts-expect-error no such option
handle.ask(add, { sku: "a" }, { wait: "5s" });

export async function loop(): Promise<void> {
  for await (const call of ctx.requests(add)) {
    expectTypeOf(call.input).is<{ sku: string }>();
    call.answer(1);
    // @ts-expect-error the answer is a number
    call.answer("1");
  }
  for await (const call of ctx.requests(book)) {
    expectTypeOf(call.input).is<Date>();
    call.answer("2026-01-01");
  }
}

ctx.serve(add, async ({ sku }) => sku.length);
ctx.serve(close, async () => undefined);
ctx.serve(add, (_, call) => call.refuse("full"), { serial: true, validate: ({ sku }) => void sku });
// @ts-expect-error the answer is a number
ctx.serve(add, async ({ sku }) => sku);

// Typed values
const total = value<number>("total");
const region = value("region", { as: "attribute" });
ctx.set(total, 1);
ctx.set(total, undefined);
expectTypeOf(ctx.get(total)).is<number | undefined>();
expectTypeOf(handle.read(total)).is<Promise<number | undefined>>();
expectTypeOf(handle.read(region)).is<Promise<string | undefined>>();
// @ts-expect-error a number
ctx.set(total, "1");

// Entities: the state types the handlers and the reads.
const account = entity("account", {
  state: () => ({ cents: 0 }),
  handlers: {
    deposit: async (self, cents: number) => (self.state.cents += cents),
    close: (self) => {
      self.state = { cents: 0 };
    },
  },
  reads: { balance: (state) => state.cents, has: (state, cents: number) => state.cents >= cents },
});
const ada = client.entity(account, "ada");
expectTypeOf(ada.deposit(1)).is<Promise<number>>();
expectTypeOf(ada.close()).is<Promise<void>>();
expectTypeOf(ada.balance()).is<Promise<number>>();
expectTypeOf(ada.has(1)).is<Promise<boolean>>();
expectTypeOf(ctx.entity(account, "ada").deposit(1)).is<Task<number>>();
ada.deposit(1, { requestId: "once" });
// @ts-expect-error the input is missing
ada.deposit();
// @ts-expect-error not a number
ada.deposit("1");
// @ts-expect-error no such handler
ada.empty();
