// Types from end to end: every way to pass a value keeps its type without a cast and its value.

import { expect, expectTypeOf, test } from "vitest";
import { activity, event, orchestration } from "../../../src/index.ts";
import { isWaitingFor, newStore, open, state } from "./support.ts";

interface Order {
  readonly id: number;
  readonly at: Date;
}
interface Receipt {
  readonly order: number;
  readonly total: bigint;
}
const ORDER: Order = { id: 7, at: new Date(1_000) };
const RECEIPT: Receipt = { order: 7, total: 10n };
const charge = activity("charge", async (order: Order): Promise<Receipt> => ({
  order: order.id,
  total: BigInt(order.at.getTime()) / 100n,
}));

test("an activity on a session is typed", async () => {
  const main = orchestration("main", async (ctx, order: Order) => {
    const receipt = await ctx.run(charge, order, { session: "s" });
    expectTypeOf(receipt).toEqualTypeOf<Receipt>();
    return receipt;
  });
  const { client } = await open([main, charge]);
  expect(await (await client.start(main, ORDER)).result()).toEqual(RECEIPT);
});

const flaky = activity("flaky", async (order: Order, { attempt }): Promise<Receipt> => {
  if (attempt === 1) throw new Error("again");
  return { order: order.id, total: BigInt(attempt) };
});
const retry = { maxAttempts: 2, backoff: { kind: "none" } } as const;

test("an activity with retries is typed", async () => {
  const main = orchestration("main", (ctx, order: Order) => ctx.run(flaky, order, { retry }));
  const { client } = await open([main, flaky]);
  expect(await (await client.start(main, ORDER)).result()).toEqual({ order: 7, total: 2n });
});

test("an activity with retries on a session is typed", async () => {
  const main = orchestration("main", (ctx, order: Order) =>
    ctx.run(flaky, order, { retry, session: "s" }),
  );
  const { client } = await open([main, flaky]);
  expect(await (await client.start(main, ORDER)).result()).toEqual({ order: 7, total: 2n });
});

const paid = event<Receipt>("paid");

test("an event with since: now is typed", async () => {
  const main = orchestration("main", async (ctx) => {
    const receipt = await ctx.waitFor(paid, { since: "now" });
    expectTypeOf(receipt).toEqualTypeOf<Receipt>();
    return receipt.total + 1n;
  });
  const { client } = await open([main]);
  const handle = await client.start(main);
  await state(handle, isWaitingFor("event"));
  await handle.raise(paid, RECEIPT);
  expect(await handle.result()).toBe(11n);
});

test("an event from the mailbox is typed", async () => {
  const main = orchestration("main", async (ctx) => (await ctx.waitFor(paid)).total);
  const { client } = await open([main]);
  const handle = await client.start(main, undefined, { events: [{ name: "paid", data: RECEIPT }] });
  expect(await handle.result()).toBe(10n);
});

const sell = orchestration("sell", (ctx, order: Order) => ctx.run(charge, order));

test("a child with a chosen id is typed", async () => {
  const main = orchestration("main", async (ctx, order: Order) => {
    const receipt = await ctx.call(sell, order, { id: "the-child" });
    expectTypeOf(receipt).toEqualTypeOf<Receipt>();
    return receipt.total;
  });
  const { client } = await open([main, sell, charge]);
  expect(await (await client.start(main, ORDER)).result()).toBe(10n);
  expect(await client.get(sell, "the-child").result()).toEqual(RECEIPT);
});

test("a detached start is typed", async () => {
  const main = orchestration("main", async (ctx, order: Order) =>
    ctx.startDetached(sell, order, { id: "aside" }),
  );
  const { client } = await open([main, sell, charge]);
  await (await client.start(main, ORDER)).result();
  expect(await client.get(sell, "aside").result()).toEqual(RECEIPT);
});

test("the input of continueAsNew is typed", async () => {
  const main = orchestration("main", async (ctx, order: Order): Promise<Order> =>
    order.id >= 10 ? order : ctx.continueAsNew({ ...order, id: order.id + 1 }),
  );
  const { client } = await open([main]);
  expect(await (await client.start(main, ORDER)).result()).toEqual({ ...ORDER, id: 10 });
});

test("a start and its result are typed", async () => {
  const { client } = await open([sell, charge]);
  const handle = await client.start(sell, ORDER);
  const receipt = await handle.result();
  expectTypeOf(receipt).toEqualTypeOf<Receipt>();
  expect(receipt).toEqual(RECEIPT);
});

test("events that a client raises are typed", async () => {
  const main = orchestration("main", async (ctx) => {
    let sum = 0n;
    for await (const { total } of ctx.events(paid)) {
      sum += total;
      if (sum >= 30n) break;
    }
    return sum;
  });
  const { client } = await open([main]);
  const handle = await client.start(main);
  for (let count = 0; count < 3; count++) await handle.raise(paid, RECEIPT);
  expect(await handle.result()).toBe(30n);
});

test("starts of a named version are typed by definition and untyped by name", async () => {
  const make = <const V extends string>(version: V) =>
    orchestration("versioned", async (_ctx, order: Order) => `${order.id} on ${version}`, {
      version,
    });
  const [one, two] = [make("1.0.0"), make("2.0.0")];
  const { client } = await open([one, two], { store: newStore() });
  expect(await (await client.start(one, ORDER)).result()).toBe("7 on 1.0.0");
  expect(await (await client.start(two, ORDER)).result()).toBe("7 on 2.0.0");
  const byName = await (await client.start("versioned", ORDER, { version: "1.0.0" })).result();
  expectTypeOf(byName).toEqualTypeOf<unknown>();
  expect(byName).toBe("7 on 1.0.0");
});
