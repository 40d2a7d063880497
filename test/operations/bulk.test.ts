// Bulk calls of a client: a filter that is not empty, pages, a cursor, and a report that lists what was refused.

import { expect, onTestFinished, test } from "vitest";
import {
  activity,
  type BulkReport,
  Client,
  orchestration,
  Perdure,
  type Provider,
  type Registrable,
} from "../../src/index.ts";
import { newPlace, sizeOn } from "../support/test-store.ts";

interface Shop {
  readonly client: Client;
  /** A client of another process, without the code. */
  readonly outside: Client;
  readonly seen: { isDown: boolean; isChanged: boolean; keys: string[] };
}

const charge = (keys: string[]) =>
  activity("charge", async (_: number, { idempotencyKey }) => {
    keys.push(idempotencyKey);
    return "paid";
  });
const waits = orchestration("waits", (ctx) => ctx.waitFor<string>("go"));

async function openShop(): Promise<Shop> {
  const seen = { isDown: true, isChanged: false, keys: [] as string[] };
  const charges = charge(seen.keys);
  const ship = activity("ship", async (order: number) => {
    if (seen.isDown) throw new Error("no carrier");
    return `shipped ${order}`;
  });
  const order = orchestration("order", async (ctx, number: number) => {
    if (seen.isChanged) await ctx.sleep(1); // a deploy that does not fit the past
    await ctx.run(charges, number);
    return ctx.run(ship, number);
  });
  const bundle = orchestration("bundle", (ctx) => ctx.call(order, 7));
  const place = newPlace("file");
  onTestFinished(() => place.remove());
  const [store, elsewhere] = [await opened(place), await opened(place)];
  const { client } = await worker(store, [charges, ship, order, bundle, waits]);
  return { client, outside: new Client(elsewhere), seen };
}

async function opened(place: { open(): Promise<Provider> }): Promise<Provider> {
  const provider = await place.open();
  onTestFinished(() => provider.close());
  return provider;
}

async function worker(store: Provider, register: readonly Registrable[]): Promise<Perdure> {
  const perdure = await Perdure.open(store, { register, runtime: { log: () => undefined } });
  onTestFinished(() => perdure.close({ graceMs: 0 }));
  return perdure;
}

/** Starts orders whose shipping fails, and waits until all have failed. */
async function failedOrders(client: Client, count: number): Promise<readonly string[]> {
  const items = Array.from({ length: count }, (_, n) => ({ input: n, id: `o-${n}` }));
  const ids = await client.startMany("order", items);
  await Promise.all(
    ids.map((id) =>
      client
        .get(id)
        .result()
        .catch(() => undefined),
    ),
  );
  return ids;
}

test("an empty filter is refused, and { all: true } selects everything", async () => {
  const { client } = await openShop();
  await client.start(waits, undefined, { id: "w" });
  for (const call of [
    () => client.cancelMany({}),
    () => client.pauseMany({}),
    () => client.resumeMany({}),
    () => client.raiseMany({}, "go"),
    () => client.restartMany({}),
    () => client.rewindMany({}, { to: "failure" }),
    () => client.deleteMany({}),
    () => client.pruneMany({ name: undefined } as never),
    () => client.cancelMany({ all: true, name: "waits" }),
    () => client.cancelMany({ all: false } as never),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  }
  expect(await client.pauseMany({ all: true }, { dryRun: true })).toEqual({
    ...{ matched: 1, done: 0, refused: [], cursor: undefined },
  });
  expect((await client.get("w").describe()).status).not.toBe("paused");
  expect(await client.pauseMany({ all: true }, { reason: "night", by: "ada" })).toMatchObject({
    done: 1,
  });
  expect((await client.get("w").describe()).paused).toMatchObject({ reason: "night", by: "ada" });
  expect(await client.resumeMany({ name: "waits" })).toMatchObject({ matched: 1, done: 1 });
  expect(await client.raiseMany({ ids: ["w"] }, "go", "on")).toMatchObject({ done: 1 });
  expect(await client.get("w").result()).toBe("on");
  expect(await client.restartMany({ ids: ["w"] }, { reason: "again" })).toMatchObject({ done: 1 });
  expect(await client.cancelMany({ name: "waits" }, { reason: "no" })).toMatchObject({ done: 1 });
  await expect(client.get("w").result()).rejects.toMatchObject({ kind: "cancelled" });
  expect(await client.deleteMany({ name: "waits" })).toMatchObject({ done: 1, instances: 1 });
});

test("rewindMany repairs the failed instances of a filter, and goes on from a cursor", async () => {
  const { client, seen } = await openShop();
  const ids = await failedOrders(client, 7);
  seen.isDown = false;
  await client.start("order", 99, { id: "fine" }).then((handle) => handle.result());
  const options = { to: "failure", reason: "carrier is back", by: "ada" } as const;
  expect(await client.rewindMany({ name: "order" }, { ...options, dryRun: true })).toEqual({
    ...{ matched: 7, done: 0, refused: [], cursor: undefined },
  });
  const first = await client.rewindMany({ name: "order" }, { ...options, limit: 3 });
  expect(first).toMatchObject({ matched: 7, done: 3, refused: [] });
  const { cursor = "" } = first;
  const rest = await client.rewindMany({ name: "order" }, { ...options, cursor });
  expect(rest).toMatchObject({ done: 4, refused: [], cursor: undefined });
  for (const [number, id] of ids.entries()) {
    expect(await client.get(id).result()).toBe(`shipped ${number}`);
  }
  expect(seen.keys).toHaveLength(8); // each card was charged once
  expect((await client.get("o-0").describe()).repairs).toMatchObject([
    { kind: "rewind", reason: "carrier is back", by: "ada" },
  ]);
});

test("a refused instance is listed and does not stop the others", async () => {
  const { client, seen } = await openShop();
  const parent = await client.start("bundle", undefined, { id: "b" });
  await expect(parent.result()).rejects.toThrow("no carrier");
  await failedOrders(client, 2);
  seen.isDown = false;
  const report = await client.rewindMany({ name: "order" }, { to: "failure" });
  expect(report).toMatchObject({ matched: 3, done: 2 });
  expect(report.refused).toMatchObject([{ code: "PARENT_INFORMED" }]);
  const both = await client.rewindMany(
    { status: "failed", text: "b" },
    { to: "failure", tree: true },
  );
  expect(both).toMatchObject({ matched: 2, done: 2, refused: [] });
  expect(await parent.result()).toBe("shipped 7");
});

test("a dry run returns what would be refused, by state and by code, and changes nothing", async () => {
  const { client, outside, seen } = await openShop();
  const parent = await client.start("bundle", undefined, { id: "b" });
  await expect(parent.result()).rejects.toThrow("no carrier");
  const [first = "", second = ""] = await failedOrders(client, 2);
  const { items } = await client.list({ parent: "b" });
  const child = items[0]?.id ?? "";
  const point = { to: "failure", dryRun: true } as const;
  const codes = async (call: Promise<BulkReport>) => {
    const { refused, cursor, ...counts } = await call;
    return { ...counts, refused: refused.map(({ id, code }) => [id, code]), cursor };
  };
  const some = { matched: 3, done: 0, refused: [[child, "PARENT_INFORMED"]], cursor: undefined };
  for (const each of [client, outside]) {
    expect(await codes(each.rewindMany({ name: "order" }, point))).toEqual(some);
  }
  const page = await codes(client.rewindMany({ name: "order" }, { ...point, limit: 1 }));
  expect(page).toMatchObject({ matched: 3, refused: [[child, "PARENT_INFORMED"]] });
  const rest = { ...point, cursor: page.cursor ?? "" };
  expect(await codes(client.rewindMany({ name: "order" }, rest))).toMatchObject({ refused: [] });
  seen.isChanged = true;
  for (const each of [client, outside]) {
    const changed = each.rewindMany({ ids: [first, second], status: "failed" }, point);
    expect((await codes(changed)).refused.toSorted()).toEqual([
      [first, "NONDETERMINISM"],
      [second, "NONDETERMINISM"],
    ]);
  }
  const restart = { dryRun: true, version: "9.9.9" } as const;
  expect(await codes(client.restartMany({ ids: [first] }, restart))).toMatchObject({
    refused: [[first, "NOT_REGISTERED"]],
  });
  expect(await codes(client.restartMany({ ids: [first] }, { dryRun: true }))).toMatchObject({
    refused: [],
  });
  const dryRun = { dryRun: true };
  expect(await codes(client.deleteMany({ name: "order" }, dryRun))).toMatchObject({
    refused: [[child, "INVALID_ARGUMENT"]],
  });
  expect(await codes(client.deleteMany({ all: true }, dryRun))).toMatchObject({
    ...{ matched: 4, done: 0, refused: [] }, // the child is deleted with its parent
  });
  expect(await client.count({ status: "failed" })).toBe(4);
  expect((await client.get(first).describe()).execution).toBe(1);
});

test("a client without the code rewinds many through a worker, a page at a time", async () => {
  const { client, outside, seen } = await openShop();
  const size = sizeOn({ sqlite: 120, postgres: 40 });
  const ids = await failedOrders(client, size);
  seen.isDown = false;
  const report = await outside.rewindMany({ name: "order" }, { to: "failure", by: "ada" });
  expect(report).toMatchObject({ matched: size, done: size, refused: [], cursor: undefined });
  await Promise.all(ids.map((id) => outside.get(id).result()));
  expect(seen.keys).toHaveLength(size);
  expect(await outside.count()).toBe(size); // the calls themselves are gone
});

test("without a worker that has the code, every instance is refused", async () => {
  const place = newPlace("file");
  onTestFinished(() => place.remove());
  const client = new Client(await opened(place));
  const [id = ""] = await client.startMany("order", [{ input: 1 }]);
  await client.get(id).terminate();
  const point = { before: 2 } as const;
  const refused = await client.rewindMany({ status: "terminated" }, point);
  expect(refused).toMatchObject({ matched: 1, done: 0, refused: [{ id }] });
});

test("startMany checks all items before it starts the first, and a repeated call starts none twice", async () => {
  const { client, seen } = await openShop();
  seen.isDown = false;
  const bad = [
    { input: 1, id: "a" },
    { input: 2, id: "a b\n" },
  ];
  await expect(client.startMany("order", bad)).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringMatching(/^Item 1: /),
  });
  await expect(client.startMany("order", [7] as never)).rejects.toThrow("Item 0: must be { input");
  await expect(client.startMany("order", [{ input: 1, nth: 2 }] as never)).rejects.toThrow("nth");
  expect(await client.count()).toBe(0);
  const items = [{ input: 1 }, { input: 2, id: "own", attributes: { vip: true } }, { input: 3 }];
  const ids = await client.startMany("order", items, { requestId: "k", priority: 2 });
  expect(await client.startMany("order", items, { requestId: "k", priority: 2 })).toEqual(ids);
  expect(ids[1]).toBe("own");
  expect(await client.count()).toBe(3);
  expect(await Promise.all(ids.map((id) => client.get(id).result()))).toEqual([
    ...["shipped 1", "shipped 2", "shipped 3"],
  ]);
  expect(await client.get("own").describe()).toMatchObject({
    priority: 2,
    attributes: { vip: true },
  });
  await expect(client.startMany("order", [{ input: 1, id: "own" }])).rejects.toMatchObject({
    code: "INSTANCE_EXISTS",
  });
});
