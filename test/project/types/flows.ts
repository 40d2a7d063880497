// Flows: types are inferred through every combinator, and a type mismatch is an error at its step.

import {
  activity,
  event,
  orchestration,
  type Client,
  type EventDef,
  type Failure,
  type Handle,
  type OrchestrationContext,
} from "perdure";
import {
  again,
  done,
  flow,
  runFlow,
  type Again,
  type Caught,
  type Done,
  type Flow,
  type FlowTypes,
  type Settled,
  type Undo,
} from "perdure/flow";
import { expectTypeOf } from "../../support/expect-type.ts";
import { schema } from "./schema.ts";

interface Order {
  readonly id: string;
  readonly kind: "card" | "bank";
  readonly lines: readonly { readonly sku: string }[];
}
interface Receipt {
  readonly chargeId: string;
}
const charge = activity("charge", async (order: Order): Promise<Receipt> => ({
  chargeId: order.id,
}));
const mail = activity("mail", (receipt: Receipt) => receipt.chargeId.length);
const refund = activity("refund", (_: Undo<Order, Receipt>) => true);
const linesOf = activity("lines of", (order: Order) => [...order.lines]);
const kindOf = activity("kind of", (order: Order) => order.kind);
const approval = event<{ readonly by: string }>("approval");
const audit = orchestration("audit", async (_, receipt: Receipt) => receipt.chargeId);

/** The types of a flow. */
declare function typesOf<F extends Flow<never, unknown, unknown, unknown>>(flow: F): FlowTypes<F>;

// A flow has the types of its input, its output, its signals and its nodes.
const simple = flow<Order>("simple")
  .then(charge)
  .then("length", (receipt) => receipt.chargeId.length)
  .build();
expectTypeOf(typesOf(simple)).is<{
  readonly input: Order;
  readonly output: number;
  readonly signals: never;
  readonly nodes: { readonly charge: Receipt; readonly length: number };
}>();
// A step's input is the output of the previous step.
flow<Order>("order").then("a", (order) => {
  expectTypeOf(order).is<Order>();
});
flow<Order>("order")
  .then("a", async (order, { signal, info }) => {
    expectTypeOf(signal).is<AbortSignal>();
    expectTypeOf(info.flow?.node).is<string | undefined>();
    return order.lines.length;
  })
  .then("b", (count) => {
    expectTypeOf(count).is<number>();
  });
// @ts-expect-error mail takes a receipt, not an order
flow<Order>("order").then(mail);
// @ts-expect-error the same with an explicit id
flow<Order>("order").then("send", mail);
// @ts-expect-error no such member
flow<Order>("order").then("a", (order) => order.missing);
// @ts-expect-error no such option
flow<Order>("order").then("a", (order) => order, { retries: 3 });
flow<Order>("order").then("a", (order) => order, {
  attempts: 3,
  timeout: "1s",
  priority: 1,
  tags: "gpu",
});
// @ts-expect-error an activity defines its own schemas
flow<Order>("order").then(charge, { input: schema<Order, Order>() });

// A schema converts the input of a step before its function receives it.
flow<string>("parsed").then("parse", (n) => expectTypeOf(n).is<number>(), {
  input: schema<string, number>(),
});
const takesText = { input: schema<string, number>() };
// @ts-expect-error an order is not an input of this schema
flow<Order>("parsed").then("parse", (n: number) => n, takesText);
const checked = flow("checked", { input: schema<string, number>() })
  .then("n", (n) => {
    expectTypeOf(n).is<number>();
    return n;
  })
  .catch((f) => f.then("why", ({ input }) => expectTypeOf(input).is<number>()))
  .build();
expectTypeOf(typesOf(checked).input).is<string>();

// The value of a fork has the values of its branches by key; branches are flows of any shape.
const forked = flow<Order>("forked")
  .fork({
    pay: (f) => f.then(charge).then(mail),
    stock: (f) => f.then("reserve", (order) => order.lines.length > 0).delay("pause", "1m"),
  })
  .then("merge", ({ pay, stock }) => {
    expectTypeOf(pay).is<number>();
    expectTypeOf(stock).is<boolean>();
    return { pay, stock };
  })
  .build();
expectTypeOf(typesOf(forked).nodes["fork.pay/charge"]).is<Receipt>();
expectTypeOf(typesOf(forked).nodes["fork.stock/pause"]).is<boolean>();
expectTypeOf(typesOf(forked).nodes.fork).is<{ pay: number; stock: boolean }>();
// @ts-expect-error no such node
void typesOf(forked).nodes["fork.pay/reserve"];
flow<Order>("collected")
  .fork(
    "both",
    { pay: (f) => f.then(charge), wait: (f) => f.waitFor(approval) },
    { onError: "settle" },
  )
  .then("look", ({ pay, wait }) => {
    expectTypeOf(pay).is<Settled<Receipt>>();
    expectTypeOf(wait).is<Settled<{ readonly by: string }>>();
    if (!pay.ok) expectTypeOf(pay.failure).is<Failure>();
  });
// @ts-expect-error a branch must return its builder
flow<Order>("order").fork({ a: () => 1 });
// @ts-expect-error a type mismatch inside a branch
flow<Order>("order").fork({ a: (f) => f.then(mail) });

// The value of a map is a list of the values of its body.
const mapped = flow<Order>("mapped")
  .map(
    "each",
    (order) => order.lines,
    (f) => f.then("ship", (line) => line.sku.length),
    { concurrency: 10 },
  )
  .build();
expectTypeOf(typesOf(mapped).output).is<number[]>();
expectTypeOf(typesOf(mapped).nodes["each/ship"]).is<number>();
flow<Order>("mapped by an activity").map("each", linesOf, (f) =>
  f.then("ship", ({ sku }) => expectTypeOf(sku).is<string>()),
);
flow<Order>("collected")
  .map(
    "each",
    async (order) => order.lines,
    (f) => f.then("ship", () => 1),
    { onError: "settle" },
  )
  .then("look", (outcomes) => expectTypeOf(outcomes).is<Settled<number>[]>());
flow<Order>("order").map(
  "each",
  // @ts-expect-error not a list
  (order) => order.id.length,
  (f) => f.then("a", () => 1),
);

// A route must have a case for every key, or `otherwise`.
const routed = flow<Order>("routed")
  .route("kind", (order) => order.kind, {
    card: (f) => f.then("card", () => 1),
    bank: (f) => f.then("bank", () => "two").waitFor("agreed", approval),
  })
  .build();
expectTypeOf(typesOf(routed).output).is<number | { readonly by: string }>();
expectTypeOf(typesOf(routed).signals).is<
  EventDef<{ readonly by: string }, { readonly by: string }>
>();
expectTypeOf(typesOf(routed).nodes["kind.bank/agreed"]).is<{ readonly by: string }>();
flow<Order>("routed").route("kind", kindOf, {
  card: (f) => f.then("card", () => 1),
  bank: (f) => f,
});
// @ts-expect-error bank has no case
flow<Order>("routed").route("kind", (order) => order.kind, {
  card: (f) => f.then("card", () => 1),
});
flow<Order>("routed").route("kind", (order) => order.kind, {
  card: (f) => f,
  bank: (f) => f,
  // @ts-expect-error cash is not a key
  cash: (f) => f,
});
// @ts-expect-error any string is a key, so otherwise is required
flow<Order>("routed").route("id", (order) => order.id, { a: (f) => f.then("a", () => 1) });
const open = flow<Order>("open")
  .route(
    "id",
    (order) => order.id,
    { a: (f) => f.then("a", () => 1) },
    { otherwise: (f) => f.then("b", () => "two") },
  )
  .build();
expectTypeOf(typesOf(open).output).is<number | string>();
expectTypeOf(typesOf(open).nodes["id.otherwise/b"]).is<string>();
flow<boolean>("yes or no")
  .route("answer", (yes) => yes, {
    true: (f) => f.then("a", () => 1),
    false: (f) => f.then("b", () => 2),
  })
  .then("c", (n) => expectTypeOf(n).is<number>());
flow<Order>("envelope")
  .route(
    "kind",
    (order) => order.kind,
    { card: (f) => f.then("a", () => 1), bank: (f) => f.then("b", () => "two") },
    { envelope: true },
  )
  .then("look", (chosen) => {
    if (chosen.branch === "card") expectTypeOf(chosen.result).is<number>();
    else expectTypeOf(chosen.result).is<string>();
  });

// The body of a loop must end in again or done.
const looped = flow<number>("looped")
  .loop("count", (f) => f.then("step", (n) => (n < 3 ? again(n + 1) : done(`${n}`))))
  .build();
expectTypeOf(typesOf(looped).output).is<string>();
expectTypeOf(typesOf(looped).nodes["count/step"]).is<Again<number> | Done<string>>();
const last = flow<number>("last")
  .loop("count", (f) => f.then("step", (n) => (n < 3 ? again(n + 1) : done(`${n}`))), {
    maxIterations: 5,
    onMax: "exitWithLast",
  })
  .build();
expectTypeOf(typesOf(last).output).is<string | number>();
// @ts-expect-error the body ends in a number
flow<number>("looped").loop("count", (f) => f.then("step", (n) => n + 1));
flow<number>("looped").loop("count", (f) =>
  // @ts-expect-error the next round would begin with a string
  f.then("step", (n) => (n < 3 ? again(`${n}`) : done(n))),
);

// A delay passes its input on; a wait returns the payload; a timeout with "continue" gives null.
flow<Order>("waits")
  .delay("cool-down", "5m")
  .then("a", (order) => {
    expectTypeOf(order).is<Order>();
  })
  .waitFor(approval, { timeout: "2d", onTimeout: "continue" })
  .then("b", (answer) => expectTypeOf(answer).is<{ readonly by: string } | null>());
flow<Order>("waits")
  .waitFor(approval, { timeout: "2d", onTimeout: "fail" })
  .then("b", ({ by }) => expectTypeOf(by).is<string>());
// @ts-expect-error no such unit
flow<Order>("waits").delay("cool-down", "5 minutes");
// @ts-expect-error no such policy
flow<Order>("waits").waitFor(approval, { timeout: "2d", onTimeout: "ignore" });

// `call` inlines the nodes and signals of another flow; `child` does not.
// @ts-expect-error the flow returns a number, audit takes a receipt
flow<Order>("called").call("paid", simple).child("audited", audit);
const outer = flow<Order>("outer").call("sub", routed).build();
expectTypeOf(typesOf(outer).nodes["sub/kind.bank/agreed"]).is<{ readonly by: string }>();
expectTypeOf(typesOf(outer).signals).is<
  EventDef<{ readonly by: string }, { readonly by: string }>
>();
expectTypeOf(typesOf(flow<Receipt>("parent").child(audit).build()).output).is<string>();
expectTypeOf(typesOf(flow<Order>("parent").child("sub", simple).build()).output).is<number>();
expectTypeOf(typesOf(flow<Order>("parent").child("sub", "by name").build()).output).is<unknown>();
// @ts-expect-error simple takes an order
flow<number>("parent").call(simple);
// @ts-expect-error audit takes a receipt
flow<Order>("parent").child(audit);

// A catch has the type of the input; a compensation has the input and output types of its step.
flow<Order>("caught")
  .then(charge)
  .catch((f) =>
    f.then("handle", (caught) => {
      expectTypeOf(caught).is<Caught<Order>>();
      return "handled" as const;
    }),
  )
  .then("after", (value) => expectTypeOf(value).is<Receipt | "handled">());
flow<Order>("undone")
  .then(charge)
  .compensate(({ input, output }) => {
    expectTypeOf(input).is<Order>();
    expectTypeOf(output).is<Receipt>();
  })
  .then(mail);
flow<Order>("undone").then(charge).compensate(refund);
flow<Order>("undone")
  .then("other", () => 1)
  // @ts-expect-error the compensation of a different step
  .compensate(refund);
flow<Order>("undone")
  .delay("a", 1)
  // @ts-expect-error a delay has nothing to undo
  .compensate(() => 1);

// For callers a flow is an orchestration that also has typed nodes.
declare const client: Client;
declare const ctx: OrchestrationContext;
const handle = await client.start(forked, { id: "1", kind: "card", lines: [] });
expectTypeOf(await handle.result()).is<{ pay: number; stock: boolean }>();
expectTypeOf(await handle.node("fork.pay/charge").result()).is<Receipt>();
expectTypeOf(await handle.node("fork").result()).is<{ pay: number; stock: boolean }>();
expectTypeOf(await handle.node("each#3/ship").result()).is<unknown>();
expectTypeOf(await client.get(looped, "id").node("count/step").result()).is<
  Again<number> | Done<string>
>();
expectTypeOf(await client.get("id").node("anything").result()).is<unknown>();
const plain: Handle<{ pay: number; stock: boolean }> = handle;
void plain;
// @ts-expect-error not an order
client.start(forked, { id: "1" });
expectTypeOf(await ctx.call(looped, 1)).is<string>();
ctx.startDetached(looped, 1, { id: "detached" });
// @ts-expect-error not a number
ctx.call(looped, "1");
expectTypeOf(await runFlow(looped, 1)).is<string>();
// @ts-expect-error not a number
runFlow(looped, "1");
expectTypeOf(
  await runFlow(
    flow("no input")
      .then("a", () => 1)
      .build(),
  ),
).is<number>();
const { Perdure } = await import("perdure");
void Perdure.open("sqlite::memory:", { register: [forked, looped, audit, charge] });
