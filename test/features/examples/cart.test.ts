// The cart example prints what its README shows; a payment is made once, and quotes do not wait for it.

import { expect, test } from "vitest";
import { add, cart, checkout, quote, shippingTo, stage } from "../../../examples/cart/cart.ts";
import { activity, NonRetryableError, Perdure } from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { promisedOutput, runExample } from "./example-runs.ts";

test("the program prints what its README shows", async () => {
  const { printed, complaints } = await runExample("cart");
  expect(printed).toBe(promisedOutput("cart"));
  expect(complaints).toBe("");
});

test("a quote is answered while a payment runs, and a click waits for the payment", async () => {
  const { promise: paying, resolve: pay } = Promise.withResolvers<void>();
  const charge = activity("charge", async () => {
    await paying;
    throw new NonRetryableError("no money");
  });
  await using perdure = await Perdure.open("sqlite::memory:", {
    register: [cart, charge, shippingTo],
  });
  const handle = await perdure.client.start(cart, [{ sku: "tea", cents: 450 }]);
  const payment = expect(handle.ask(checkout, { card: "a" })).rejects.toMatchObject({
    kind: "failed",
    message: "no money",
  });
  const click = handle.ask(add, { sku: "cup", cents: 50 });
  expect(await handle.ask(quote, "AT")).toBe("950 cents to AT");
  expect(await handle.read(stage)).toBe("paying");
  pay();
  await payment;
  expect(await click).toBe(500);
  expect(await handle.read(stage)).toBe("open");
});

test("a payment that a shutdown interrupted is made by the next worker, and its asker gets the receipt", async () => {
  const provider = await SqliteProvider.open(":memory:");
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  const hangs = activity("charge", async (_: unknown, { signal }) => {
    reach();
    await new Promise((_, reject) => signal.addEventListener("abort", reject));
  });
  const first = await Perdure.open(provider, { register: [cart, hangs, shippingTo] });
  const handle = await first.client.start(cart, [{ sku: "tea", cents: 450 }], { id: "cart" });
  const leave = new AbortController();
  const options = { requestId: "pay" };
  const interrupted = expect(
    handle.ask(checkout, { card: "a" }, { ...options, signal: leave.signal }),
  ).rejects.toThrow("the customer left");
  await reached;
  leave.abort(new Error("the customer left"));
  await interrupted;
  await first.close({ graceMs: 0 });

  let charged = 0;
  const charge = activity("charge", async () => `receipt ${++charged}`);
  const second = await Perdure.open(provider, { register: [cart, charge, shippingTo] });
  const again = second.client.get(cart, "cart");
  expect(await again.ask(checkout, { card: "a" }, options)).toBe("receipt 1");
  expect(await again.ask(checkout, { card: "a" }, options)).toBe("receipt 1");
  expect(await again.result()).toBe("receipt 1");
  await second.close();
  await provider.close();
});
