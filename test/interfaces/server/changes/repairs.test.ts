// Repairs over HTTP: rewind, restart and fork of one instance, and the rewind of many.

import { expect, test } from "vitest";
import { activity, orchestration } from "../../../../src/index.ts";
import { openScene, type Scene } from "../support.ts";

interface Shop {
  readonly scene: Scene;
  /** The idempotency keys of all charges. */
  readonly charges: string[];
  /** Whether shipping works. */
  isRepaired: boolean;
}

/** An order is charged, and its shipping fails until the shop is repaired. */
async function openShop(): Promise<Shop> {
  const charges: string[] = [];
  const shop = { isRepaired: false };
  const charge = activity("charge", async (cents: number, { idempotencyKey }) => {
    charges.push(idempotencyKey);
    return `${cents} charged`;
  });
  const ship = activity("ship", async (order: string) => {
    if (!shop.isRepaired) throw new Error("no truck");
    return `${order} shipped`;
  });
  const placeOrder = orchestration("placeOrder", async (ctx, cents: number) => {
    const charged = await ctx.run(charge, cents);
    return ctx.run(ship, charged);
  });
  const scene = await openScene({}, [placeOrder, charge, ship]);
  return Object.assign(shop, { scene, charges });
}

async function failedOrder({ scene }: Shop, id: string): Promise<void> {
  const handle = await scene.perdure.client.start("placeOrder", 100, { id });
  await expect(handle.result()).rejects.toThrow("no truck");
}

test("a rewind over HTTP previews, goes on at the failed call, and records the caller", async () => {
  const shop = await openShop();
  const handle = shop.scene.as("operator").get("o");
  await failedOrder(shop, "o");
  shop.isRepaired = true;
  const preview = await handle.rewind({ to: "failure", dryRun: true });
  expect(preview).toMatchObject({
    ...{ id: "o", from: 1, execution: 2, dryRun: true, check: { kind: "ok" } },
    kept: [{ kind: "activity", name: "charge" }],
    redone: [{ kind: "activity", name: "ship" }],
    ...{ happened: [], compensated: [], returned: [], others: [] },
  });
  expect((await handle.describe()).status).toBe("failed");
  const report = await handle.rewind({ to: "failure", reason: "new truck", requestId: "k" });
  expect(report).toEqual({ ...preview, dryRun: false });
  expect(await handle.result()).toBe("100 charged shipped");
  expect(await handle.rewind({ to: "failure", reason: "new truck", requestId: "k" })).toEqual(
    report,
  );
  expect((await handle.describe()).repairs).toEqual([
    {
      ...{ kind: "rewind", reason: "new truck", by: "otto", execution: 1, before: report.before },
      at: expect.any(Date),
    },
  ]);
  expect(shop.charges).toHaveLength(1);
});

test("a repeated rewind is answered by another server from the store", async () => {
  const shop = await openShop();
  await failedOrder(shop, "o");
  shop.isRepaired = true;
  const body = { before: { activity: "ship" } };
  const headers = { "Idempotency-Key": "once" };
  const post = () => shop.scene.call("operator", "POST", "/instances/o/rewind", { body, headers });
  const first: unknown = await (await post()).json();
  await shop.scene.perdure.client.get("o").result();
  const handle = shop.scene.as("operator").get("o");
  expect(await handle.rewind({ before: { activity: "ship" }, requestId: "once" })).toEqual(first);
  expect((await handle.executions()).length).toBe(2);
});

test("a replaced outcome and the author of a repair travel over HTTP", async () => {
  const shop = await openShop();
  await failedOrder(shop, "o");
  const handle = shop.scene.as("operator").get("o");
  const replace = [{ sequence: 5, output: "shipped by hand" }];
  await handle.rewind({ to: "failure", replace, by: "anna" });
  expect(await handle.result()).toBe("shipped by hand");
  expect((await handle.describe()).repairs).toMatchObject([
    { by: "anna via otto", replaced: [4], reason: "rewound by request" },
  ]);
  const { events } = await handle.history();
  expect(events[0]?.repairs).toMatchObject([{ by: "anna via otto", at: expect.any(Date) }]);
  expect(events.filter(({ replaced }) => replaced === true)).toMatchObject([{ scheduled: 4 }]);
  const { spans } = await handle.timeline();
  expect(spans.map(({ name, replaced }) => [name, replaced])).toEqual([
    ["charge", undefined],
    ["ship", true],
  ]);
});

test("a restart takes an input, and a fork takes a point, an input and values", async () => {
  const shop = await openShop();
  await failedOrder(shop, "o");
  shop.isRepaired = true;
  const client = shop.scene.as("operator");
  await client.get("o").restart({ input: 250, reason: "wrong price" });
  expect(await client.get("o").result()).toBe("250 charged shipped");
  expect((await client.get("o").describe()).repairs).toMatchObject([
    { kind: "restart", reason: "wrong price", by: "otto" },
  ]);
  const fork = await client.fork("o", {
    before: { activity: "ship" },
    id: "f",
    replace: [{ sequence: 2, output: "0 charged" }],
    reason: "a test",
  });
  expect(await fork.result()).toBe("0 charged shipped");
  expect((await fork.describe()).repairs).toMatchObject([
    { kind: "fork", source: "o", reason: "a test", by: "otto", replaced: [2] },
  ]);
  await expect(client.fork("o", { before: { child: "none" } })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});

test("one request rewinds all failed instances of a filter, page by page", async () => {
  const shop = await openShop();
  const ids = ["o-1", "o-2", "o-3"];
  for (const id of ids) await failedOrder(shop, id);
  shop.isRepaired = true;
  const client = shop.scene.as("operator");
  const filter = { name: "placeOrder" };
  const rewind = { to: "failure", reason: "new truck" } as const;
  await expect(client.bulk("rewind", {}, rewind)).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("must not be empty"),
  });
  await expect(client.bulk("rewind", filter)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(await client.bulk("rewind", filter, { ...rewind, dryRun: true })).toMatchObject({
    ...{ matched: 3, applied: 0, dryRun: true },
  });
  const first = await client.bulk("rewind", filter, { ...rewind, limit: 2 });
  expect(first).toMatchObject({ matched: 3, applied: 2, refusedCount: 0 });
  const { cursor = "" } = first;
  const rest = await client.bulk("rewind", filter, { ...rewind, cursor });
  expect(rest).toMatchObject({ applied: 1 });
  expect(rest.cursor).toBeUndefined();
  for (const id of ids) expect(await client.get(id).result()).toBe("100 charged shipped");
  expect(new Set(shop.charges).size).toBe(3);
  expect(shop.charges).toHaveLength(3);
  expect(shop.scene.audit.at(-1)).toMatchObject({ instances: ["o-3"], count: 1 });
});
