// Step 5, tests: days in milliseconds, failures on demand, and a crash after every write.

import { NonRetryableError } from "../../src/index.ts";
import { crashEverywhere, TestEnvironment } from "../../src/testing/index.ts";
import { expect, test } from "vitest";
import * as checkout from "./checkout.ts";
import * as order from "./order.ts";
import * as schedule from "./schedule.ts";
import * as services from "./services.ts";
import * as subscriptions from "./subscriptions.ts";

const register = [checkout, order, schedule, services, subscriptions];
const TEA = { id: "o-1", customer: "ada", sku: "tea", cents: 450 };
const PIANO = { id: "o-2", customer: "ada", sku: "piano", cents: 900_000 };

test("an order that cannot be shipped is refunded and released, in this order", async () => {
  await using kit = await TestEnvironment.create({ register });
  kit.failOnce(services.ship, new NonRetryableError("no truck"));
  const handle = await kit.start(order.placeOrder, TEA);
  await expect(handle.result()).rejects.toThrow("no truck");
  const names = (await kit.history(handle)).flatMap((event) =>
    event.kind === "ActivityScheduled" ? [event.name] : [],
  );
  expect(names).toEqual(["reserve", "charge", "ship", "refund", "release"]);
});

test("a large order waits for the manager, and expires after two days", async () => {
  await using kit = await TestEnvironment.create({ register });
  const approved = await kit.start(checkout.checkout, PIANO);
  kit.raiseAt(approved, checkout.decision, { approved: true }, "47h");
  expect(await approved.result()).toEqual({ shipped: "o-2" });

  const ignored = await kit.start(checkout.checkout, PIANO);
  expect(await ignored.result()).toEqual({ rejected: "no answer" });
});

test("every Monday at seven the subscribers get their tea", async () => {
  await using kit = await TestEnvironment.create({ register });
  await kit.advance("14d"); // from Thursday, 1 January 2026
  const mondays = await kit.client.list({ attributes: { schedule: "mondays" } });
  expect(mondays.items.map(({ id, status }) => [id, status])).toEqual([
    ["mondays/2026-01-12T06:00:00.000Z", "completed"],
    ["mondays/2026-01-05T06:00:00.000Z", "completed"],
  ]);
  expect(kit.calls(services.charge)).toHaveLength(4);
});

test("a crash at any write changes neither the result nor the number of charges", async () => {
  await crashEverywhere(checkout.checkout, PIANO, {
    register,
    scenario: (kit, handle) => kit.raiseAt(handle, checkout.decision, { approved: true }, "1h"),
    check: (kit) => {
      const keys = kit.calls(services.charge).map(({ idempotencyKey }) => idempotencyKey);
      expect(new Set(keys).size).toBe(1); // run once or twice, charged once
    },
  });
});
