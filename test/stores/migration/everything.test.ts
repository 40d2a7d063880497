// A whole store moves: a crowd in every state moves from SQLite to PostgreSQL and back, and then finishes.

import { afterAll, expect, onTestFinished, test } from "vitest";
import {
  Client,
  moveStore,
  unmarkStore,
  type MoveResult,
  type Provider,
} from "../../../src/index.ts";
import { SqliteProvider } from "../../../src/sqlite/index.ts";
import { closePool, openOnPool } from "../../support/postgres-stores.ts";
import { dropSchema, freshSchema } from "../../support/postgres.ts";
import { StoreEnvironment } from "../../support/store-environment.ts";
import { Crowd } from "./crowd.ts";
import { everythingIn } from "./everything.ts";

const isFull = process.env["PERDURE_FULL"] === "1";
/** Instances per kind; together with the second instances at least 1,000. */
const SIZE = isFull ? 300 : 53;

afterAll(closePool);

async function inSqlite(environment: StoreEnvironment): Promise<Provider> {
  const provider = await SqliteProvider.open(":memory:", { environment });
  onTestFinished(() => provider.close());
  return environment.watch(provider);
}

async function inPostgres(environment: StoreEnvironment): Promise<Provider> {
  const schema = freshSchema();
  onTestFinished(() => dropSchema(schema));
  const options = { environment, notifications: false, prepare: true };
  const provider = await openOnPool(schema, options);
  onTestFinished(() => provider.close());
  return environment.watch(provider);
}

const rowsOf = ({ tables }: MoveResult) =>
  Object.fromEntries(tables.map(({ table, rows }) => [table, rows]));

async function expectAllEnded(crowd: Crowd, client: Client): Promise<void> {
  for (const kind of [...Crowd.KINDS, ...Object.values(Crowd.SECONDS), "kept"]) {
    const ids = crowd.ids(kind);
    const ends = await Promise.all(ids.map((id) => client.get(id).result().catch(String)));
    expect(ends).toEqual(ids.map((id) => Crowd.result(kind, id)));
  }
  // The last run of the call wrote in the target: a reset, and one settled item.
  for (const id of crowd.ids("retrying").slice(0, 3)) {
    const limits = { from: 0, chunksMax: 100, bytesMax: 1_000_000, settled: true };
    const page = await client.provider.readStream({ id, name: "words", ...limits });
    const settled = { kind: "items", state: "settled", values: [JSON.stringify(`${id}:flaky`)] };
    const reset = { kind: "reset", from: 0 };
    expect(page).toMatchObject({ isOver: true, chunks: [{ state: "void" }, reset, settled] });
  }
  const counted = new Map<string, number>();
  for (const [name, times] of crowd.effects) {
    expect([name, times]).toEqual([name, 1]);
    const kind = name.slice(0, name.indexOf("-"));
    counted.set(kind, (counted.get(kind) ?? 0) + 1);
  }
  const expected = Object.entries(Crowd.EFFECTS).map(([kind, effects]) => [
    kind,
    effects * crowd.ids(kind).length,
  ]);
  expect(Object.fromEntries(counted)).toEqual(Object.fromEntries(expected));
}

test("1,000 instances in every state move to PostgreSQL and back, and then end with the expected results", async () => {
  const environment = new StoreEnvironment();
  const crowd = new Crowd(environment, SIZE);
  const first = await inSqlite(environment);
  await crowd.make(first);
  expect(crowd.total).toBeGreaterThanOrEqual(1_000);

  const second = await inPostgres(environment);
  const there = await moveStore(first, second);
  const counts = rowsOf(there);
  expect(counts["instances"]).toBe(crowd.total);
  expect(Object.entries(counts).filter(([, rows]) => rows === 0)).toEqual([]);
  const before = await everythingIn(first);
  expect(before.instances).toHaveLength(crowd.total);
  expect(await everythingIn(second)).toEqual(before);

  const third = await inSqlite(environment);
  const back = await moveStore(second, third);
  expect({ ...back, from: 0, to: 0 }).toEqual({ ...there, from: 0, to: 0 });
  expect(await everythingIn(third)).toEqual(before);

  // The last store knows the request ids of the first store and the numbers that it assigned.
  const client = new Client(third);
  const [id = ""] = crowd.ids("sleeping");
  const again = await client.start("sleeping", id, { id, requestId: `start ${id}` });
  expect(again.id).toBe(id);
  expect(await client.count({})).toBe(crowd.total);

  await crowd.finish(third);
  await expectAllEnded(crowd, client);
});

test("instances that moved to PostgreSQL end there with the expected results", async () => {
  const environment = new StoreEnvironment();
  const crowd = new Crowd(environment, isFull ? 50 : 5);
  const first = await inSqlite(environment);
  await crowd.make(first);
  const second = await inPostgres(environment);
  await moveStore(first, second);
  await crowd.finish(second);
  await expectAllEnded(crowd, new Client(second));
  // Going back: the source still has all instances and can be used after its mark is removed.
  const old = new Client(first);
  await expect(old.start("later", "x", { id: "new" })).rejects.toMatchObject({
    code: "STORE_MOVED",
  });
  expect(await unmarkStore(first)).toMatchObject({ role: "source", state: "moved" });
  await old.start("later", "x", { id: "new" });
  expect(await old.count({})).toBe(crowd.total + 1);
});

test.each([
  ["SQLite", inSqlite],
  ["PostgreSQL", inPostgres],
] as const)(
  "a store moves from %s to another store of the same kind, and its instances end there",
  async (_, open) => {
    const environment = new StoreEnvironment();
    const crowd = new Crowd(environment, isFull ? 50 : 5);
    const first = await open(environment);
    await crowd.make(first);
    const second = await open(environment);
    await moveStore(first, second);
    expect(await everythingIn(second)).toEqual(await everythingIn(first));
    await crowd.finish(second);
    await expectAllEnded(crowd, new Client(second));
  },
);
