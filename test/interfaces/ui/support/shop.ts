// A shop whose work the dashboard shows: one of everything that an instance page draws.

import { setTimeout as pause } from "node:timers/promises";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import {
  activity,
  event,
  job,
  orchestration,
  request,
  RetryAfterError,
} from "../../../../src/index.ts";
import { entity } from "../../../../src/entity/index.ts";
import { limiter } from "../../../../src/limiter/index.ts";
import { schedule } from "../../../../src/schedule/index.ts";
import { callback } from "../../../../src/core/define/callback.ts";
import { flow, again, done } from "../../../../src/flow/index.ts";
import { stream } from "../../../../src/stream/index.ts";

export interface Order {
  readonly id: string;
  readonly customer: string;
  readonly lines: readonly string[];
  /** How often the bank refuses before it accepts. */
  readonly refusals?: number;
}
export interface Approval {
  readonly by: string;
}

export const approval = event<Approval>("approval");
export const go = event<unknown>("go");

export const charge = activity(
  "charge",
  async (order: Order, { attempt }) => {
    await pause(30);
    if (attempt <= (order.refusals ?? 0)) throw new Error("the bank is busy");
    return { receipt: `r-${order.id}`, amount: order.lines.length * 12.5, at: new Date(0) };
  },
  { retry: { maxAttempts: 5, backoff: { kind: "fixed", base: 40 } } },
);
export const ship = activity("ship", async (line: string) => {
  await pause(20 + line.length * 5);
  return `parcel of ${line}`;
});
export const render = activity("render", async (page: string) => page, {
  tags: ["gpu"],
  priority: 1,
});

export const invoice = orchestration("invoice", async (ctx, order: Order) => {
  await ctx.step("number", () => 4711);
  return `invoice of ${order.id}`;
});

/** Charges, waits up to two days for an approval, ships every line, writes an invoice. */
export const fulfil = orchestration("fulfil", async (ctx, order: Order) => {
  ctx.setAttributes({ customer: order.customer });
  ctx.setStatus({ phase: "charging" });
  const receipt = await ctx.run(charge, order);
  ctx.kv.set("receipt", receipt);
  ctx.setStatus({ phase: "waiting for approval", amount: receipt.amount });
  const first = await ctx.race({ approval: ctx.waitFor(approval), late: ctx.sleep("2d") });
  if (first.key === "late") return { status: "expired" as const };
  ctx.setStatus({ phase: "shipping", approvedBy: first.value.by });
  const parcels = await ctx.all(order.lines.map((line) => ctx.run(ship, line)));
  const document = await ctx.call(invoice, order);
  return { status: "shipped" as const, parcels, document };
});

/** Fails four times; then the fifth attempt waits for an hour. */
function refuse(attempt: number): never {
  if (attempt === 4) throw new RetryAfterError("1h", "the bank is closed");
  throw new Error("the bank is busy");
}
const refusedOften = { maxAttempts: 9, backoff: { kind: "fixed", base: 5 } } as const;
export const settle = activity("settle", async (_: string, { attempt }) => refuse(attempt), {
  retry: refusedOften,
});
export const stubborn = orchestration("stubborn", async (ctx, account: string) => {
  const booked = ctx.step("book", ({ attempt }) => refuse(attempt), { retry: refusedOften });
  await ctx.all([ctx.run(settle, account), booked]);
});

/** Charges twice and books, then fails. */
export const refund = orchestration("refund", async (ctx, order: Order) => {
  await ctx.run(charge, order);
  await ctx.run(charge, order);
  await ctx.step("book", () => "booked");
  throw new Error(`order ${order.id} cannot be refunded`);
});

/** The orders that were paid. */
export const charged: string[] = [];
export const truck = { isBroken: false };
export const pay = activity("pay", async (order: Order) => {
  charged.push(order.id);
  await pause(20);
  return { receipt: `r-${order.id}` };
});
/** Fails while the truck is broken. */
export const deliver = activity(
  "deliver",
  async (order: Order) => {
    await pause(20);
    if (truck.isBroken) throw new Error("the truck is broken");
    return `delivered to ${order.customer}`;
  },
  { retry: { maxAttempts: 1 } },
);
export const voucher = activity("voucher", async (customer: string) => `voucher of ${customer}`);
/** Pays and delivers. If the delivery fails, the customer gets a voucher. */
export const sale = orchestration("sale", async (ctx, order: Order) => {
  await ctx.run(pay, order);
  ctx.compensate(() => ctx.run(voucher, order.customer));
  return ctx.run(deliver, order);
});
/** Fails with its sale. */
export const mall = orchestration("mall", (ctx, order: Order) =>
  ctx.call(sale, order, { id: `sale-of-${order.id}` }),
);

/** Fails, with a cause that has a cause. */
export const payout = orchestration("payout", async (_ctx, account: string) => {
  const socket = Object.assign(new Error("connect ECONNREFUSED 10.0.0.7:443"), {
    code: "ECONNREFUSED",
  });
  const bank = new Error("the bank did not answer", { cause: socket });
  throw new Error(`payout to ${account} failed`, { cause: bank });
});

export const mailServer = { isDown: false };
/** Fails while the mail server is down. */
export const mail = job(
  "mail",
  async (to: string) => {
    if (mailServer.isDown) throw new Error("the mail server is down");
    return `sent to ${to}`;
  },
  { limit: { concurrency: 3, perKey: 1, rate: { count: 1_000, per: "1m" } }, fair: true },
);

/** Waits for an activity that no worker registers. */
export const poster = orchestration("poster", async (ctx, page: string) => ctx.run(render, page));

/** Puts its input into its status and its key-values, and waits for an event. */
export const keeper = orchestration("keeper", async (ctx, input: unknown) => {
  ctx.setStatus(input);
  ctx.kv.set("input", input);
  return ctx.waitFor(go);
});

/** Continues as new that many times. */
export const rounds = orchestration("rounds", async (ctx, left: number): Promise<unknown> => {
  await ctx.step("round", () => left);
  return left === 0 ? ctx.waitFor(go) : ctx.continueAsNew(left - 1);
});

export const addLine = request<{ sku: string; count: number }, { lines: number; at: Date }>("add");
export const clear = request<undefined, void>("clear");
export const buy = request<string, number>("buy");

/** Serves requests. A count must be positive, and the third line is refused by a handler that throws. */
export const cart = orchestration("cart", async (ctx) => {
  const skus: string[] = [];
  const validate = ({ count }: { readonly count: number }): void => {
    if (!(count > 0)) throw new RangeError(`count must be positive; got ${count}`);
  };
  const add = async ({ sku }: { readonly sku: string }): Promise<{ lines: number; at: Date }> => {
    if (skus.length === 2) throw new Error("the cart is full");
    return { lines: skus.push(sku), at: new Date(0) };
  };
  void ctx.serve(addLine, add, { validate });
  for await (const call of ctx.requests(clear)) {
    skus.length = 0;
    call.answer(undefined);
  }
});
/** Asks the cart "cart-of-buyer" for every line that it is asked for. */
export const buyer = orchestration("buyer", async (ctx) => {
  for await (const call of ctx.requests(buy)) {
    const added = await ctx.ask("cart-of-buyer", addLine, { sku: call.input, count: 1 });
    call.answer(added.lines);
  }
});

export const reserve = request("reserve", {
  input: toStandardJsonSchema(
    v.object({
      guest: v.pipe(v.string(), v.minLength(2), v.description("The name at the door.")),
      seats: v.pipe(v.number(), v.integer(), v.minValue(1)),
      area: v.picklist(["inside", "garden"]),
      quiet: v.optional(v.boolean()),
      note: v.optional(v.string()),
      contact: v.optional(v.object({ phone: v.pipe(v.string(), v.startsWith("+")) })),
    }),
  ),
});
export const cancelTable = request("cancel table", {
  input: toStandardJsonSchema(v.pipe(v.string(), v.title("Guest"))),
});
/** Answers with its input. */
export const waiter = orchestration("waiter", async (ctx) => {
  for await (const call of ctx.requests(reserve, cancelTable)) call.answer(call.input as never);
});

export const words = stream<{ text: string }>("words");
/** Writes the words; the first attempt fails after them. */
export const dictate = activity(
  "dictate",
  async (texts: readonly string[], { attempt, stream: open, log }) => {
    await using out = open(words);
    log.info(`attempt ${attempt} writes`, { words: texts.length, at: new Date(0) });
    for (const text of texts) await out.write({ text: `${text} ${attempt}` });
    if (attempt === 1) throw new Error("the pen broke");
  },
  { retry: { maxAttempts: 2, backoff: { kind: "fixed", base: 5 } } },
);
/** Writes a title, and after the event dictates; after the next one it writes an end and closes the stream. */
export const author = orchestration("author", async (ctx, texts: readonly string[]) => {
  const out = ctx.stream(words);
  out.write({ text: "title" });
  ctx.log.debug("the paper is ready");
  ctx.log.warn("the ink is low", { drops: 3 });
  await ctx.waitFor(go);
  await ctx.run(dictate, texts);
  await ctx.waitFor(go);
  out.write({ text: "the end" });
  out.close();
  return ctx.waitFor(go);
});
/** Writes that many numbers. */
export const count = activity("count", async (numbers: number, { stream: open }) => {
  await using out = open("numbers");
  for (let i = 0; i < numbers; i++) await out.write(i);
});
export const counter = orchestration("counter", async (ctx, numbers: number) => {
  await ctx.run(count, numbers);
  await ctx.waitFor(go);
  ctx.stream("numbers").write("last");
  return ctx.waitFor(go);
});

/** The tokens of callbacks by their names. */
export const callbackTokens = new Map<string, string>();
/** Its outcome arrives later, from outside. */
export const film = activity(
  "film",
  async (_: undefined, { completeLater }) => {
    callbackTokens.set("film", completeLater().token);
  },
  { timeout: "2h" },
);
const payment = callback("paid", { schema: v.object({ cents: v.number() }) });
/** Waits for a payment, for a call that does not expire, and for an activity that is completed from outside. */
export const cinema = orchestration("cinema", async (ctx) => {
  const paid = ctx.callback(payment, { timeout: "3d" });
  const opened = ctx.callback("opened");
  callbackTokens.set("paid", paid.token).set("opened", opened.token);
  return ctx.all([paid, opened, ctx.run(film, undefined)]);
});

/** Many steps, then two waits. */
export const stepper = orchestration("stepper", async (ctx, steps: number) => {
  for (let n = 1; n <= steps; n++) await ctx.step(n === 41 ? "keep-41" : "keep", () => n);
  return ctx.race({ go: ctx.waitFor(go), late: ctx.sleep("2d") });
});

/** Ends at once. */
export const quick = orchestration("quick", async (_ctx, n: number) => n);

/** Two definitions with one name: the second requests something else than the history of the first. */
export const driftBefore = orchestration("drift", async (ctx, order: Order) => {
  await ctx.waitFor(go);
  return ctx.run(ship, order.id);
});
export const driftAfter = orchestration("drift", async (ctx, order: Order) => {
  await ctx.run(charge, order);
  return ctx.waitFor(go);
});

export const checkout = flow<Order>("checkout")
  .then(charge)
  .fork({
    mail: (f) => f.then("send", async ({ receipt }) => `mail about ${receipt}`),
    stock: (f) =>
      f
        .then("lines", async () => ["chair", "table", "lamp"])
        .map(
          "each",
          (lines) => lines,
          (g) => g.then("reserve", async (line) => line.length),
          { concurrency: 2 },
        ),
  })
  .route("size", ({ stock }) => (stock.length > 2 ? "large" : "small"), {
    large: (f) => f.then("truck", async ({ stock }) => stock.length),
    small: (f) => f.then("bike", async ({ stock }) => stock.length),
  })
  .loop("refine", (f) => f.then("round", async (n) => (n < 5 ? again(n + 1) : done(n))), {
    maxIterations: 10,
    onMax: "exitWithLast",
  })
  .waitFor(approval, { timeout: "2d", onTimeout: "continue" })
  .then("thank", async (answer) => (answer === null ? "no answer" : answer.by))
  .build();

/** Starts a run every night, once a test has applied it. */
export const nightly = schedule("nightly", {
  cron: "0 3 * * *",
  timezone: "Europe/Berlin",
  start: quick,
  apply: false,
  input: (time) => time.getTime(),
});
/** One visitor of a branch at a time. */
export const bank = limiter("bank", { concurrency: 1 });
export const visitor = orchestration("visitor", (ctx, branch: string) =>
  bank.run(ctx, () => ctx.waitFor(go), { key: branch }),
);
export const basket = entity("basket", {
  state: (): { lines: string[] } => ({ lines: [] }),
  handlers: { add: (self, line: string) => self.state.lines.push(line) },
});

export const SHOP = [
  nightly,
  bank,
  visitor,
  basket,
  fulfil,
  payout,
  poster,
  keeper,
  rounds,
  quick,
  stepper,
  invoice,
  checkout,
  charge,
  ship,
  settle,
  stubborn,
  refund,
  pay,
  deliver,
  voucher,
  sale,
  mall,
  cart,
  buyer,
  waiter,
  author,
  dictate,
  counter,
  count,
  cinema,
  film,
  mail,
] as const;
